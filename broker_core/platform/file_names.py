r"""Names of files and folders that are made of names from outside, such as topics.

    need           own way (Linux, macOS)              plain way (Windows)
    is_reserved    a name may have any character       ``< > : " / \ | ? *``, a dot or blank at the end, names of devices
    ignores_case   two spellings of a name are tried   true: a folder in which nothing can be tried counts as ignoring it
    wide           paths may be long                   an absolute path begins with ``\\?\``, so that it may have more
                                                       than 260 characters

A character that a name must not have is written as ``~`` and the hexadecimal digits of its UTF-8 bytes. No name of RocketMQ
has a ``~``, so `decoded` finds the name again on every system.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from typing import Final

from broker_core.platform.ways import PLAIN

MARK: Final = "~"
_RESERVED: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]\Z')
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?=\Z|\.)", re.IGNORECASE)
_ENCODED: Final = re.compile("(?:~[0-9A-F]{2})+")
_WIDE_BEGINNING: Final = "\\\\?\\"


def plain_is_reserved(name: str) -> bool:
    """Whether no file may have this name."""
    return bool(_RESERVED.search(name) or _DEVICE.match(name))


def plain_ignores_case(known: Path) -> bool:
    """Whether a folder takes names for one that differ by case only; ``known`` is a file in it whose name has letters."""
    return True


def plain_wide(path: Path) -> Path:
    """The absolute path, which may have any length."""
    return Path(wide_text(str(path.absolute())))


def wide_text(path: str) -> str:
    """The same for the text of a path of Windows."""
    found = PureWindowsPath(path)
    if not found.is_absolute() or path.startswith(_WIDE_BEGINNING):
        return path
    if found.drive.startswith("\\\\"):
        return f"{_WIDE_BEGINNING}UNC\\{str(found)[2:]}"
    return f"{_WIDE_BEGINNING}{found}"


def wide_path(text: str) -> Path:
    """The `wide` path that a user has given, for parsers of arguments."""
    return wide(Path(text))


def encoded(name: str, letters: int = 0) -> str:
    """The name that a file gets for a name from outside.

    Args:
        name: Any text without a NUL.
        letters: How many letters are encoded besides, from the first on, so that it differs from a name in another case.
    """
    made = ""
    for place, character in enumerate(name):
        is_letter = character.isalpha()
        is_last = place == len(name) - 1
        is_bad = is_reserved(character) and (is_last or character not in ". ")
        if character == MARK or is_bad or (is_letter and letters > 0):
            made += "".join(f"{MARK}{byte:02X}" for byte in character.encode())
            letters -= is_letter
        else:
            made += character
    return encoded(name, 1) if is_reserved(made) and not letters else made


def decoded(name: str) -> str:
    """The name from outside for which a file has this name; the name itself where it was not encoded."""
    try:
        return _ENCODED.sub(lambda found: bytes.fromhex(found[0].replace(MARK, "")).decode(), name)
    except UnicodeDecodeError:
        return name


is_reserved: Callable[[str], bool] = plain_is_reserved
ignores_case: Callable[[Path], bool] = plain_ignores_case
wide: Callable[[Path], Path] = plain_wide

if sys.platform != "win32" and not PLAIN:

    def _is_reserved(name: str) -> bool:
        return "/" in name

    def _wide(path: Path) -> Path:
        return path

    is_reserved, wide = _is_reserved, _wide

if not PLAIN:

    def _ignores_case(known: Path) -> bool:
        try:
            return known.with_name(known.name.swapcase()).samefile(known)
        except OSError:
            return False

    ignores_case = _ignores_case
