"""Patterns of client addresses in access control files (Source: docs/spec/remoting.md §7.2).

*  or *.*.*.*          every address
192.168.0.1, 10.0.0.2  any of a list
192.168.*.*            any number in the last places
192.168.1-5.*          a span of numbers, anywhere but in the first two places
192.168.1.{10,11}      any of a few last places; the same for the last group of an IPv6 address
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Callable
from typing import NoReturn

from broker_core.errors import UsageError

_Place = Callable[[int], bool]

_BRACES = re.compile(r"^(?P<head>.*[.:])\{(?P<choices>[^{}]*)\}$")

_SPAN = {
    10: re.compile(r"(?P<low>[0-9]{1,3})(?:-(?P<high>[0-9]{1,3}))?"),
    16: re.compile(r"(?P<low>[0-9A-Fa-f]{1,4})(?:-(?P<high>[0-9A-Fa-f]{1,4}))?"),
}
"""Base → a number or a span of them; Python's `int` takes more, such as 1_0 and digits of other scripts."""


class AddressPattern:
    """A set of addresses; a blank pattern means none. Raises `UsageError` for any other text."""

    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self._any = False
        self._places: list[tuple[_Place, ...]] = []
        for item in _split(self.text):
            if item == "*.*.*.*" or set(item.split(":")) == {"*"}:
                self._any = True
            else:
                self._places.append(_places(_plain(item), self.text))

    def matches(self, host: str) -> bool:
        """Whether the pattern includes a numeric host address; no other text matches."""
        if self._any:
            return True
        if not self._places:
            return False
        numbers = _numbers(host)
        return any(
            len(places) == len(numbers) and all(fits(number) for fits, number in zip(places, numbers, strict=True))
            for places in self._places
        )


def _split(text: str) -> list[str]:
    items = re.findall(r"(?:[^,{]|\{[^{}]*\})+", text)
    return [item.strip() for item in items if item.strip()]


def _plain(item: str) -> str:
    """An item as `matches` compares it: without brackets, and an IPv4 address that is written as IPv6 as what it is."""
    if item.startswith("[") and item.endswith("]"):
        item = item[1:-1]
    try:
        address = ipaddress.ip_address(item)
    except ValueError:
        return item
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return item if mapped is None else str(mapped)


def _numbers(host: str) -> list[int]:
    try:
        address = ipaddress.ip_address(host.split("%", 1)[0])
    except ValueError:
        return []
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is None:
            return [int(group, 16) for group in address.exploded.split(":")]
        address = mapped
    return list(address.packed)


def _places(item: str, whole: str) -> tuple[_Place, ...]:
    braces = _BRACES.match(item)
    if braces is not None:
        choices = [choice.strip() for choice in braces["choices"].split(",")]
        heads = [_places(braces["head"] + choice, whole) for choice in choices]
        last = [places[-1] for places in heads]
        return (*heads[0][:-1], lambda number: any(fits(number) for fits in last))
    is_v6 = ":" in item
    if is_v6:
        item = _expanded(item)
    parts = item.split(":" if is_v6 else ".")
    if len(parts) != (8 if is_v6 else 4):
        _refuse(whole)
    base, top = (16, 0xFFFF) if is_v6 else (10, 255)
    if any("*" in earlier and "*" not in later for earlier, later in itertools.pairwise(parts)):
        _refuse(whole)
    return tuple(_place(part, base, top, whole) for part in parts)


def _place(part: str, base: int, top: int, whole: str) -> _Place:
    if part == "*":
        return lambda _number: True
    span = _SPAN[base].fullmatch(part)
    if span is None:
        _refuse(whole)
    low = int(span["low"], base)
    high = low if span["high"] is None else int(span["high"], base)
    if not low <= high <= top:
        _refuse(whole)
    return lambda number: low <= number <= high


def _expanded(item: str) -> str:
    """An IPv6 pattern with all eight groups."""
    if "::" not in item:
        return item
    head, _, tail = item.partition("::")
    before = head.split(":") if head else []
    after = tail.split(":") if tail else []
    return ":".join([*before, *["0"] * (8 - len(before) - len(after)), *after])


def _refuse(text: str) -> NoReturn:
    raise UsageError(
        f"“{text}” is no address pattern: write for example 192.168.0.*, 192.168.1-5.*, 192.168.0.{{1,2}} or a comma list",
        pattern=text,
    )
