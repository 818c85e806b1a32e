"""Names and places of programs, and what the desktop brings."""

from __future__ import annotations

import sys
from typing import Final

_IS_WINDOWS: Final = sys.platform.startswith("win32")
_IS_MACOS: Final = sys.platform.startswith("darwin")

HAS_UI_FONT: Final = _IS_WINDOWS or _IS_MACOS
"""Whether the desktop has one font for all programs, which is fit for tables of figures."""

HAS_DESKTOP_ENTRIES: Final = sys.platform.startswith("linux")
"""Whether desktops find programs by files that the specification of freedesktop.org describes."""

BROWSERS: Final = (
    (
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    )
    if _IS_MACOS
    else ()
)
"""Where browsers are installed outside the ``PATH``."""


def executable(name: str, *, is_windows: bool = _IS_WINDOWS) -> str:
    """File name of a program."""
    return f"{name}.exe" if is_windows else name
