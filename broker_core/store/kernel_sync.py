"""Syncs that the kernel does by itself (Linux AIO): their starter goes on, and hears of the end through a descriptor.

A thread that syncs must get the interpreter back when its sync is over, for which it waits up to 5 ms while another thread is
busy; here nobody waits. One sync of one file is under way at a time. Knows no event loop: whoever has one watches `descriptor`.

    struct iocb                                         struct io_event
      aio_data u64 | aio_key u32 | aio_rw_flags u32       data u64 | obj u64 | res i64 | res2 i64
      aio_lio_opcode u16 | aio_reqprio i16
      aio_fildes u32 | aio_buf u64 | aio_nbytes u64
      aio_offset i64 | aio_reserved2 u64
      aio_flags u32 | aio_resfd u32

Source: io_setup(2), io_submit(2), io_getevents(2); IOCB_CMD_FDSYNC is served since Linux 4.18.
"""

from __future__ import annotations

import errno
import os
import select
import struct
import sys
from typing import NamedTuple

_IOCB = struct.Struct("=QIIHhIQQqQII")
_EVENT = struct.Struct("=QQqq")
assert _IOCB.size == 64
assert _EVENT.size == 32

_FDSYNC = 3
_FLAG_RESFD = 1
_REQUESTS = 1


class _Numbers(NamedTuple):
    setup: int
    destroy: int
    submit: int
    getevents: int


_SYSTEM_CALLS = {"x86_64": _Numbers(206, 207, 209, 208), "aarch64": _Numbers(0, 1, 2, 4)}


class KernelSync:
    """Starts syncs and tells of their end. For one thread at a time.

    Attributes:
        descriptor: Readable when a sync has ended, until `ended` was called.
        is_under_way: A sync was started whose end `ended` has not told yet.

    Raises:
        OSError: This system has none of it (ENOSYS, EPERM and others).
    """

    def __init__(self) -> None:
        is_known = sys.platform == "linux" and sys.maxsize > 1 << 32 and hasattr(os, "eventfd")
        numbers = _SYSTEM_CALLS.get(os.uname().machine) if is_known else None
        try:
            # Imported here, as it takes some milliseconds that only stores need which sync each put.
            import ctypes  # noqa: PLC0415
        except ImportError:
            numbers = None
        if numbers is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        self._ctypes = ctypes
        self._numbers = numbers
        # `PyDLL` keeps the interpreter during a call: these do not block, and to get it back could take 5 ms.
        self._system_call = ctypes.PyDLL(None, use_errno=True).syscall
        self._system_call.restype = ctypes.c_long
        self._system_call.argtypes = [ctypes.c_long] * 6
        context = ctypes.c_ulong(0)
        self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        try:
            self._call(numbers.setup, _REQUESTS, ctypes.addressof(context))
        except OSError:
            os.close(self.descriptor)
            raise
        self._context = context.value
        self._request = ctypes.create_string_buffer(_IOCB.size)
        self._requests = (ctypes.c_void_p * 1)(ctypes.addressof(self._request))
        self._event = ctypes.create_string_buffer(_EVENT.size)
        self.is_under_way = False

    def _call(self, number: int, *arguments: int) -> int:
        result: int = self._system_call(number, *arguments, *(0,) * (5 - len(arguments)))
        if result < 0:
            code = self._ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result

    def start(self, descriptor: int) -> None:
        """Start a sync of a file's bytes, mapped ones too; none may be under way.

        Raises:
            OSError: The system refuses to start one (EINVAL on Linux before 4.18, EAGAIN); it says nothing about the file.
        """
        assert not self.is_under_way
        _IOCB.pack_into(self._request, 0, 0, 0, 0, _FDSYNC, 0, descriptor, 0, 0, 0, 0, _FLAG_RESFD, self.descriptor)
        self._call(self._numbers.submit, self._context, 1, self._ctypes.addressof(self._requests))
        self.is_under_way = True

    def ended(self) -> bool:
        """Whether the sync that was under way has ended; does not wait.

        Raises:
            OSError: It has ended, and failed.
        """
        if not self.is_under_way:
            return False
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return False
        # The kernel adds the event before it tells of it.
        count = self._call(self._numbers.getevents, self._context, 1, 1, self._ctypes.addressof(self._event))
        assert count == 1
        self.is_under_way = False
        result = _EVENT.unpack(self._event)[2]
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return True

    def close(self) -> bool:
        """Wait for a sync that is under way, whose outcome is lost, and let go of everything; False if that was done."""
        if not self._context:
            return False
        if self.is_under_way:
            ending = select.poll()  # before the call below, which would keep the interpreter meanwhile
            ending.register(self.descriptor, select.POLLIN)
            ending.poll()
        self._call(self._numbers.destroy, self._context)
        self._context = 0
        self.is_under_way = False
        os.close(self.descriptor)
        return True
