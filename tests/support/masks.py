"""Masks for models that are tried without rules."""

from __future__ import annotations

from monitoring.payload.listed import NO_MASK, ListMask


def nothing_masked(_topic: str) -> ListMask:
    """The mask of any topic without rules."""
    return NO_MASK
