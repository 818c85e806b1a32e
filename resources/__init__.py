"""Files that ship with the program: icons, themes, translations, templates of reports."""

from __future__ import annotations

from pathlib import Path
from typing import Final

RESOURCE_FOLDER: Final = Path(__file__).resolve().parent
"""Where they are; nothing is read."""
