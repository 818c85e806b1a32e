"""Every error that Orbit raises on purpose, as one tree.

    OrbitError                     any error raised on purpose
    ├── BugError                   our own fault: an invariant does not hold
    ├── UsageError                 a wrong argument or setting
    │   ├── FilterError            a message filter that cannot be read
    │   ├── UnclearTimeError       a local time that comes twice, or never
    │   ├── ReadOnlyConnectionError  a change over a read-only connection
    │   └── SecretError            the place where secrets of connections are kept
    ├── MissingPartError           a part of Orbit that is not installed
    ├── StoreError                 the store directory or its files
    │   ├── StoreLockedError       another process owns the directory
    │   ├── ForeignStoreError      the directory is not a RocketMQ store
    │   ├── StorePermissionError   it cannot be read or written
    │   ├── StoreFullError         the disk is full
    │   ├── StoreReadOnlyError     writes are refused (opened so, or after a failed sync)
    │   └── CorruptStoreError      bytes that no RocketMQ broker writes
    ├── CodecError                 bytes that are not the format they should be
    │   ├── FrameError             a broken remoting frame
    │   ├── RecordError            a broken commit log record
    │   └── FilterSyntaxError      a filter expression that is no SQL92
    ├── NetworkError               an address, a port, a connection
    │   ├── PortInUseError
    │   └── ConnectionLostError
    ├── WorkerError                the worker process
    │   └── WorkerLostError        it ended, or never started
    ├── CancelledByUserError       the user cancelled
    ├── RemoteError                a peer answered with an error code (keeps the number)
    │   ├── AccountRefusedError    it refuses the account, or this request of it
    │   └── RequestRefusedError    the error code that we answer a peer's request with
    └── ReportError                a Spark report
        ├── UnknownReportError
        └── JavaError              no JVM, or it ran out of memory

An error of the world says in its message what happened, where, with figures, and what to do. Over the worker channel
an error travels as ``(kind, message, context)`` and becomes the same class again (`error_from_wire`).
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

ContextValue = str | int | float | bool | None


class OrbitError(Exception):
    """Base of all errors raised on purpose; ``context`` has figures and names for details views."""

    kinds: ClassVar[dict[str, type[OrbitError]]] = {}
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, **context: ContextValue) -> None:
        super().__init__(message)
        self.message = message
        self.context: dict[str, ContextValue] = dict(context)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        OrbitError.kinds[cls.__name__] = cls

    @property
    def kind(self) -> str:
        """Name of the class, as it travels over the worker channel."""
        return type(self).__name__


def error_from_wire(kind: str, message: str, context: Mapping[str, ContextValue]) -> OrbitError:
    """Rebuild an error received over the worker channel; an unknown kind becomes an `OrbitError`."""
    return OrbitError.kinds.get(kind, OrbitError)(message, **context)


class BugError(OrbitError):
    """An invariant of our own does not hold."""

    exit_code = 70


class UsageError(OrbitError):
    """An argument or a setting cannot be used."""

    exit_code = 2


class FilterError(UsageError):
    """A message filter cannot be read; ``context`` has ``position`` and ``length`` of the place, in characters."""


class UnclearTimeError(UsageError):
    """A local time comes twice, or never, because the clock changes.

    ``context`` has ``time``, and the two times with offset, ``first`` and ``second``, or ``begin`` and ``end`` of the gap.
    """


class ReadOnlyConnectionError(UsageError):
    """A change was requested over a read-only connection."""


class SecretError(UsageError):
    """The place where secrets of connections are kept cannot be used; no message quotes a secret."""


class MissingPartError(OrbitError):
    """A part of Orbit is not installed, and what was asked for needs it."""


class StoreError(OrbitError):
    """The store directory or one of its files cannot be used."""

    exit_code = 3


class StoreLockedError(StoreError):
    """Another process owns the store; ``context["pid"]`` is its process id where known."""


class ForeignStoreError(StoreError):
    """The directory holds something that is not a RocketMQ store."""


class StorePermissionError(StoreError):
    """The directory cannot be read or written by this user."""


class StoreFullError(StoreError):
    """The disk has no room for a write."""


class StoreReadOnlyError(StoreError):
    """Writes are refused: opened read-only, or a sync failed."""


class CorruptStoreError(StoreError):
    """A file holds bytes that no RocketMQ broker writes; ``context`` names file and position."""


class CodecError(OrbitError):
    """Bytes are not in the format they should be in."""


class FrameError(CodecError):
    """A remoting frame is broken; its connection cannot go on."""


class RecordError(CodecError):
    """A commit log record is broken."""


class FilterSyntaxError(CodecError):
    """A filter expression cannot be read; ``context["position"]`` is the character it went wrong at, from 0."""


class NetworkError(OrbitError):
    """An address cannot be used or reached."""

    exit_code = 4


class PortInUseError(NetworkError):
    """A port is taken by another program; ``context["port"]`` names it."""


class ConnectionLostError(NetworkError):
    """A connection ended before the answer arrived."""


class WorkerError(OrbitError):
    """The worker process cannot do a request."""

    exit_code = 5


class WorkerLostError(WorkerError):
    """The worker process ended or did not start."""


class CancelledByUserError(OrbitError):
    exit_code = 130


class RemoteError(OrbitError):
    """A peer answered with an error; ``context["code"]`` keeps the response code, known or not."""

    exit_code = 6


class AccountRefusedError(RemoteError):
    """A peer refuses the account or its request; the message says what to do and quotes the peer."""


class RequestRefusedError(RemoteError):
    """A request of a client is answered with an error; ``context["code"]`` is the response code, the message its remark."""

    def __init__(self, message: str, *, code: int = 1, **context: ContextValue) -> None:
        super().__init__(message, code=code, **context)
        self.code = code


class ReportError(OrbitError):
    """A report cannot be made."""

    exit_code = 7


class UnknownReportError(ReportError):
    exit_code = 2


class JavaError(ReportError):
    """The Java machine is missing, did not start, or ran out of memory."""

    exit_code = 8


def fault_remark(error: Exception) -> str:
    """The text of an exception and the place it came from (Source: docs/spec/remoting.md §1.10)."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f", {Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
