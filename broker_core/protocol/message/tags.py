"""Tags and their hash, by which the consume queue filters (Source: docs/spec/store.md §0 (``jhash``), §4.2)."""

from __future__ import annotations

from functools import lru_cache

_HASH_CACHE_ENTRIES = 8192


def java_string_hash(text: str) -> int:
    """Java's ``String.hashCode``: over UTF-16 code units, signed 32-bit."""
    result = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        result = (31 * result + unit) & 0xFFFFFFFF
    return result - (1 << 32) if result >> 31 else result


@lru_cache(maxsize=_HASH_CACHE_ENTRIES)
def tags_code(tag: str | bytes | None) -> int:
    """Tags code of a TAGS value (text, or its UTF-8 bytes as stored); 0 without one.

    Cached: a producer uses few tags, and the hash in Python costs about 1 µs for ten characters.
    """
    if not tag:
        return 0
    return java_string_hash(tag.decode("utf-8", "replace") if isinstance(tag, bytes) else tag)
