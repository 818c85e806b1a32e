"""Stacks of the threads of this process, in the form of Java clients (Source: docs/spec/remoting.md §4.8, ``jstack``)."""

from __future__ import annotations

import sys
import threading
import traceback

FRAMES_MAX = 100


def stacks_text() -> str:
    """A block for each thread: ``name TID: 42 STATE: RUNNABLE``, then its frames, innermost first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    blocks = []
    for identity, frame in sys._current_frames().items():  # noqa: SLF001  the only way to the frames of other threads
        name = names.get(identity, "thread")
        frames = reversed(traceback.extract_stack(frame)[-FRAMES_MAX:])
        lines = [f"{name:<40} {one.name}({one.filename.rpartition('/')[2]}:{one.lineno})" for one in frames]
        blocks.append("\n".join([f"{name:<40} TID: {identity} STATE: RUNNABLE", *lines]))
    return "\n\n".join(sorted(blocks)) + "\n"
