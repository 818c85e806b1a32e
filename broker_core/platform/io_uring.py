"""Asynchronous syncs by the kernel (Linux io_uring), whose end is reported through a descriptor.

A thread that syncs must get the interpreter back afterwards, and waits up to 5 ms for it while another thread is busy; the
kernel's own threads do not need it. (Its older AIO syncs on the processor of the starter, and waits while that is busy.)
One sync of one file runs at a time. The owner of an event loop watches `descriptor`.

    struct io_uring_params                              struct io_uring_sqe, as far as it is used
      sq_entries u32 | cq_entries u32 | flags u32         opcode u8 | flags u8 | ioprio u16 | fd i32
      sq_thread_cpu u32 | sq_thread_idle u32              off u64 | addr u64 | len u32 | fsync_flags u32
      features u32 | wq_fd u32 | resv 3 × u32             user_data u64 | 24 bytes
      sq_off: head tail ring_mask ring_entries
        flags dropped array resv1 u32 | user_addr u64   struct io_uring_cqe
      cq_off: head tail ring_mask ring_entries            user_data u64 | res i32 | flags u32
        overflow cqes flags resv1 u32 | user_addr u64

Source: io_uring(7), io_uring_setup(2), io_uring_enter(2), io_uring_register(2); one mapping for both rings since Linux 5.4.
"""

from __future__ import annotations

import errno
import mmap
import os
import select
import struct
import sys

assert sys.platform == "linux"

_PARAMS = struct.Struct("=2I3I2I12x8IQ8IQ")
_SQE = struct.Struct("=BBHiQQIIQ24x")
_CQE = struct.Struct("=QiI")
_U32 = struct.Struct("=I")
assert _PARAMS.size == 120
assert _SQE.size == 64
assert _CQE.size == 16

_SETUP, _ENTER, _REGISTER = 425, 426, 427
"""Numbers of the system calls, equal on all processors."""
_SINGLE_MMAP = 1
_SQES_OFFSET = 0x10000000
_REGISTER_EVENTFD = 4
_FSYNC = 3
_DATASYNC = 1
_ENTRIES = 1


class KernelSync:
    """Starts syncs and reports their end. For one thread at a time.

    Attributes:
        descriptor: Readable when a sync has ended, until `ended` is called.
        is_under_way: A sync was started whose end `ended` has not reported yet.

    Raises:
        OSError: The system has no io_uring, or does not allow it (ENOSYS, EPERM and others).
    """

    def __init__(self) -> None:
        if not hasattr(os, "eventfd"):
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        try:
            import ctypes
        except ImportError as error:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from error
        self._ctypes = ctypes
        # `PyDLL` keeps the interpreter during a call: these calls do not block, and getting it back could take 5 ms.
        self._system_call = ctypes.PyDLL(None, use_errno=True).syscall
        self._system_call.restype = ctypes.c_long
        self._system_call.argtypes = [ctypes.c_long] * 7
        self._params = ctypes.create_string_buffer(_PARAMS.size)
        self._ring = self._call(_SETUP, _ENTRIES, ctypes.addressof(self._params))
        self.is_under_way = False
        try:
            self.descriptor = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        except OSError:
            os.close(self._ring)
            raise
        try:
            self._map()
            wanted = ctypes.c_int(self.descriptor)
            self._call(_REGISTER, self._ring, _REGISTER_EVENTFD, ctypes.addressof(wanted), 1)
        except OSError:
            os.close(self.descriptor)
            os.close(self._ring)
            raise

    def _map(self) -> None:
        fields = _PARAMS.unpack(self._params)
        entries, completions, features = fields[0], fields[1], fields[5]
        _, self._tail_at, mask_at, _, _, _, array_at, _, _ = fields[7:16]
        self._done_head_at, _, done_mask_at, _, _, self._done_at, _, _, _ = fields[16:]
        if not features & _SINGLE_MMAP:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        size = max(array_at + entries * _U32.size, self._done_at + completions * _CQE.size)
        self._rings = mmap.mmap(self._ring, size, flags=mmap.MAP_SHARED)
        self._requests = mmap.mmap(self._ring, entries * _SQE.size, flags=mmap.MAP_SHARED, offset=_SQES_OFFSET)
        self._array_at = array_at
        (self._mask,) = _U32.unpack_from(self._rings, mask_at)
        (self._done_mask,) = _U32.unpack_from(self._rings, done_mask_at)

    def _call(self, number: int, *arguments: int) -> int:
        result: int = self._system_call(number, *arguments, *(0,) * (6 - len(arguments)))
        if result < 0:
            code = self._ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result

    def start(self, descriptor: int) -> None:
        """Start a sync of a file's bytes, mapped ones too; no other may run.

        Raises:
            OSError: The system refuses to start one; this says nothing about the file.
        """
        assert not self.is_under_way
        (tail,) = _U32.unpack_from(self._rings, self._tail_at)
        index = tail & self._mask
        _SQE.pack_into(self._requests, index * _SQE.size, _FSYNC, 0, 0, descriptor, 0, 0, 0, _DATASYNC, 0)
        _U32.pack_into(self._rings, self._array_at + index * _U32.size, index)
        _U32.pack_into(self._rings, self._tail_at, (tail + 1) & 0xFFFFFFFF)
        # The kernel reads the bytes written above within this call, so no further order of writes is needed.
        self._call(_ENTER, self._ring, 1)
        self.is_under_way = True

    def ended(self) -> bool:
        """Whether the running sync has ended; does not wait.

        Raises:
            OSError: The sync has failed.
        """
        if not self.is_under_way:
            return False
        try:
            os.eventfd_read(self.descriptor)
        except BlockingIOError:
            return False
        # The kernel writes the result before it reports the end.
        (head,) = _U32.unpack_from(self._rings, self._done_head_at)
        _, result, _ = _CQE.unpack_from(self._rings, self._done_at + (head & self._done_mask) * _CQE.size)
        _U32.pack_into(self._rings, self._done_head_at, (head + 1) & 0xFFFFFFFF)
        self.is_under_way = False
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return True

    def close(self) -> bool:
        """Wait for a running sync, whose result is lost, and close everything; False if closed already."""
        if self._rings.closed:
            return False
        if self.is_under_way:
            ending = select.poll()
            ending.register(self.descriptor, select.POLLIN)
            ending.poll()
        self.is_under_way = False
        self._rings.close()
        self._requests.close()
        os.close(self._ring)
        os.close(self.descriptor)
        return True
