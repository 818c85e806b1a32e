"""Spelling of IP addresses: one in memory and on screen, every other accepted.

An IPv6 address has many spellings: Java writes all eight groups, an operating system abbreviates zeros, users write either.
Texts from outside go through `host_text` or `address_text` before they are compared or shown.

Source: RFC 5952, sections 4 (shortest form, small letters), 5 (IPv4-mapped addresses) and 6 (brackets before a port); RFC 4007,
section 11 (zones).
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

_CACHED_MAX = 4_096
_PORT_DIGITS_MAX = 5
_V6_PART = frozenset("0123456789abcdefABCDEF:.[]")


@lru_cache(maxsize=_CACHED_MAX)
def ip_text(ip: bytes) -> str:
    """The address of 4 or 16 bytes in network order; raises `ValueError` for another number of bytes."""
    return _spelled(ipaddress.ip_address(ip))


def address_of(host: str, port: int | str) -> str:
    """``host:port``, with brackets around an IPv6 address."""
    name = host_text(host)
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def split_address(address: str) -> tuple[str, str]:
    """Host and port of ``host:port``, where an IPv6 host may be in brackets; the host is spelled as `host_text` does.

    Either is empty where it is missing.
    """
    host, _colon, port = address.strip().rpartition(":")
    return host_text(host), port


@lru_cache(maxsize=_CACHED_MAX)
def host_text(host: str) -> str:
    """An IP address as RFC 5952 spells it, without brackets; a name is returned unchanged."""
    if ":" not in host:
        return host
    inner = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return _spelled(ipaddress.ip_address(inner))
    except ValueError:
        return host


@lru_cache(maxsize=_CACHED_MAX)
def address_text(address: str) -> str:
    """``host:port`` with an IPv6 host as RFC 5952 spells it, in brackets; any other text is returned unchanged."""
    host, port = split_address(address)
    return f"[{host}]:{port}" if is_v6(host) and _is_port(port) else address


def addresses_text(addresses: str) -> str:
    """Several addresses with ``;`` between them, each as `address_text` spells it."""
    return ";".join(map(address_text, addresses.split(";"))) if ":" in addresses else addresses


def same_addresses(one: str, other: str) -> bool:
    """Whether two texts of several addresses are equal, however their IPv6 hosts are spelled."""
    return addresses_text(one) == addresses_text(other)


def host_of(address: str) -> str:
    """The host of ``host:port``, without brackets; the whole text where it has no port."""
    host, port = split_address(address)
    return host if host and _is_port(port) else host_text(address)


def is_v6(host: str) -> bool:
    """Whether a host without brackets is an IPv6 address."""
    try:
        return ":" in host and ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


def compared_text(text: str) -> str:
    """A text that is compared with addresses or hosts, spelled as they are.

    A whole address is spelled as RFC 5952 does, with or without its port. Of a part of an IPv6 address only the letters become
    small, because its zeros may stand for any groups.
    """
    host = host_text(text)
    if is_v6(host):
        return host
    address = address_text(text)
    return text.lower() if address == text and ":" in text and _V6_PART.issuperset(text) else address


def _spelled(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None and ip.scope_id is None:
        return f"::ffff:{ip.ipv4_mapped}"
    return ip.compressed


def _is_port(port: str) -> bool:
    return port.isascii() and port.isdigit() and len(port) <= _PORT_DIGITS_MAX
