"""The kernels in Python with a check of every access: each place that they read or write lies within its buffer.

Slices of Python end silently where a buffer does, and negative places count from its end; machine code does neither.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from broker_core.native import (
    access,
    calls,
    checks,
    heads,
    items,
    keys,
    lanes,
    pull_frames,
    pulls,
    records,
    send_frames,
    send_properties,
    sends,
    sums,
)

_KERNELS = (records, heads, checks, keys, items, sums)
_SERVING = (lanes, send_frames, send_properties, sends, pull_frames, pulls)
_BYTES = {"u8": 1, "u16": 2, "i32": 4, "i64": 8, "put8": 1, "put32": 4, "put64": 8}


class CheckedView:
    """A view whose items are read and written within its bounds only."""

    def __init__(self, buffer: Any) -> None:
        self.view = memoryview(buffer)

    def __len__(self) -> int:
        return len(self.view)

    def __getitem__(self, place: int | slice) -> Any:
        self._check(place)
        return self.view[place]

    def __setitem__(self, place: int | slice, value: Any) -> None:
        self._check(place)
        self.view[place] = value

    def _check(self, place: int | slice) -> None:
        if isinstance(place, slice):
            assert 0 <= place.start <= place.stop <= len(self.view), place
        else:
            assert 0 <= place < len(self.view), place


def check_range(data: Any, at: int, count: int) -> None:
    assert at >= 0, at
    assert count >= 0, count
    assert at + count <= len(data), (at, count, len(data))


def _fixed(name: str, count: int) -> Any:
    def checked(data: Any, at: int, *value: int) -> Any:
        check_range(data, at, count)
        return getattr(access, name)(getattr(data, "view", data), at, *value)

    return checked


def _copy(target: Any, to: int, source: Any, at: int, count: int) -> None:
    check_range(target, to, count)
    check_range(source, at, count)
    access.copy(target, to, source, at, count)


def _same(one: Any, at: int, other: Any, to: int, count: int) -> bool:
    check_range(one, at, count)
    check_range(other, to, count)
    return access.same(one, at, other, to, count)


def _body_crc(data: Any, at: int, count: int) -> int:
    check_range(data, at, count)
    return access.body_crc(data, at, count)


def _mix(seed: int, data: Any, at: int, count: int) -> int:
    check_range(data, at, count)
    return access.mix(seed, data, at, count)


def _find(name: str) -> Any:
    def checked(data: Any, at: int, end: int, limit: int, what: int) -> int:
        assert at >= 0, at
        assert end <= limit <= len(data), (end, limit, len(data))
        return int(getattr(access, name)(data, at, end, limit, what))

    return checked


CHECKED = {
    **{name: _fixed(name, count) for name, count in _BYTES.items()},
    "copy": _copy, "same": _same, "body_crc": _body_crc, "mix": _mix, "find1": _find("find1"), "find3": _find("find3"),
}  # fmt: skip


def check_every_access(patch: pytest.MonkeyPatch) -> None:
    """Make the kernels in Python check their places, until the patch is undone."""
    used = {name for kernel in _KERNELS for name, value in vars(kernel).items() if getattr(access, name, None) is value}
    assert {name for name in used if callable(getattr(access, name)) and not name[0].isupper()} <= CHECKED.keys() | {"fetch"}
    for kernel in _KERNELS:
        for name in used & CHECKED.keys() & vars(kernel).keys():
            patch.setattr(kernel, name, CHECKED[name])
    patch.setattr(calls, "memoryview", CheckedView, raising=False)


def kernel_modules() -> tuple[ModuleType, ...]:
    return _KERNELS + _SERVING
