"""The pictures that README.md shows: the file of each, its page and its look."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from broker_core.api import UsageError
from gui.gallery.stage import Look
from gui.views.page import PageArguments

REPORT = "throughput"
TOPIC, GROUP = "orders", "payment-settle"
"""Of the demo: the busiest topic, and the group that falls behind."""
DARK, LIGHT, LIGHT_CHINESE = Look("dark", "en"), Look("light", "en"), Look("light", "zh")


def picture_folder() -> Path:
    """The folder of the pictures, in a checkout.

    Raises:
        UsageError: There is none, because Orbit was installed from a wheel.
    """
    folder = Path(__file__).resolve().parents[2] / "docs" / "pictures"
    if not folder.is_dir():
        raise UsageError(f"the pictures of README.md are made in a checkout, and {folder} is not there: give --out DIR")
    return folder


@dataclass(frozen=True, slots=True)
class ReadmePicture:
    """A page of the window as README.md shows it."""

    name: str
    """File name without its suffix."""
    page_id: str
    look: Look
    place: PageArguments = field(default_factory=dict)


PICTURES = (
    ReadmePicture("overview", "overview", DARK),
    ReadmePicture("topics", "topics", DARK, {"topic": TOPIC}),
    ReadmePicture("consumers", "consumers", DARK, {"group": GROUP}),
    ReadmePicture("messages", "messages", LIGHT, {"topic": TOPIC}),
    ReadmePicture("reports", "reports", LIGHT, {"show": "result"}),
    ReadmePicture("overview-zh", "overview", LIGHT_CHINESE),
    ReadmePicture("welcome", "welcome", DARK),
)
"""In the order of taking: neighbours share a look where they can, because restyling the window takes time."""
