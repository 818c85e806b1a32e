"""What reports say in sentences, in the language of the window. Reports themselves are written in English."""

from __future__ import annotations

from gui.text import KnownTexts

_TEXTS = KnownTexts(
    "{part} of {total} messages ({share}) are in {topic}.",
    "{topic} takes the most room: {share} of the stored bytes.",
    "The most frequent tag is {tag} of {topic} with {count} messages.",
    "The busiest minute was {minute} with {count} messages, {times} times the mean of the {minutes} minutes that have any.",
    "in {topics} topics, {pairs} topics and tags",
    "{share} are message bodies",
    "{count} messages at {minute}",
    "the largest has {size} bytes, in {topic}",
)


def report_text(text: str) -> str:
    """A finding or a note of a report."""
    return _TEXTS.text(text)
