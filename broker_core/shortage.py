"""What a process has no more of, in words: Python says only that something failed."""

from __future__ import annotations

import errno

from broker_core.platform import machine


def shortage_text(error: BaseException) -> str:
    """Why memory, addresses or a thread were refused, and what to do; empty for an error of another kind."""
    lacks_thread = isinstance(error, RuntimeError) and "start new thread" in str(error)
    lacks_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if not (lacks_thread or lacks_memory):
        return ""
    limit_bytes = machine.address_bytes()
    if limit_bytes is not None:
        return (
            f"the limit of this shell of {limit_bytes >> 20:,} MiB of addresses is reached. Raise it (ulimit -v unlimited) and "
            "start again"
        )
    if lacks_thread:
        return "no more threads can be started. Raise the limit of processes (ulimit -u, or pids of the container)"
    return "the system refuses more memory. End other programs, or give the container more"
