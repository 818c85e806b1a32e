"""`orbit desktop`: an entry in the menu of a Linux desktop, which also opens ``orbit://`` links.

Sources: Desktop Entry Specification 1.1 and 1.5, "The Exec key" and "Recognized desktop entry keys"; Icon Theme
Specification 0.13, "Directory Layout"; XDG Base Directory Specification 0.8.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from broker_core.children import environment, program_command
from broker_core.errors import OrbitError, UsageError
from broker_core.kept_file import replace_file
from broker_core.platform import programs

DESCRIPTION = (
    "Install Orbit in the menu of this user's desktop (Linux), with its icon, and as the program that opens orbit:// links: "
    "orbit://PAGE, orbit://topic/NAME, orbit://group/NAME, orbit://message/ID and orbit://connection/NAME."
)
ENTRY_NAME = "orbit.desktop"
ICON_NAME = "orbit.svg"
_QUOTED = str.maketrans({character: f"\\{character}" for character in '"`$\\'})
_REFRESH_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True)
class DesktopFiles:
    """The files of the entry in a user's data folder."""

    data_folder: Path

    @property
    def entry(self) -> Path:
        return self.data_folder / "applications" / ENTRY_NAME

    @property
    def icon(self) -> Path:
        """The icon that the entry names."""
        return self.data_folder / "icons" / "hicolor" / "scalable" / "apps" / ICON_NAME

    def install(self, command: Sequence[str], icon: bytes) -> None:
        """Write both files; files of before are replaced."""
        for path, data in ((self.icon, icon), (self.entry, entry_text(command).encode())):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)

    def remove(self) -> list[Path]:
        """Delete the files; returns those that were there."""
        there = [path for path in (self.entry, self.icon) if path.exists()]
        for path in there:
            path.unlink()
        return there


def main(argv: Sequence[str], icon: Callable[[], bytes]) -> int:
    """Run the command line; ``icon`` reads the picture to install. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="orbit desktop", description=DESCRIPTION)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--install", action="store_true", help="write the entry and the icon; files of before are replaced")
    action.add_argument("--remove", action="store_true", help="delete them")
    arguments = parser.parse_args(argv)
    if not programs.HAS_DESKTOP_ENTRIES:
        raise UsageError("orbit desktop writes entries of Linux desktops; on this system make a shortcut to the program")
    files = DesktopFiles(user_data_folder())
    try:
        done = _install(files, icon()) if arguments.install else files.remove()
    except OSError as error:
        raise OrbitError(f"{error.filename}: {error.strerror}") from error
    _refresh(files)
    for path in done:
        sys.stdout.write(f"{'installed' if arguments.install else 'removed'} {path}\n")
    if not done:
        sys.stdout.write("nothing was installed\n")
    return 0


def _install(files: DesktopFiles, icon: bytes) -> list[Path]:
    files.install(program_command(), icon)
    return [files.entry, files.icon]


def user_data_folder() -> Path:
    """``XDG_DATA_HOME``, or its default; a relative one is not used, as the specification asks."""
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    return named if named.is_absolute() else Path.home() / ".local" / "share"


def entry_text(command: Sequence[str]) -> str:
    """The entry that starts a command with the link that it opens, if there is one."""
    return "\n".join((
        "[Desktop Entry]",
        "Type=Application",
        "Version=1.1",
        "Name=Orbit",
        "GenericName=RocketMQ console",
        "GenericName[zh_CN]=RocketMQ 控制台",
        "Comment=See and manage RocketMQ topics, groups and messages",
        "Comment[zh_CN]=查看和管理 RocketMQ 的主题、消费组和消息",
        f"Exec={' '.join(map(exec_word, command))} %u",
        "Icon=orbit",
        "Terminal=false",
        "StartupNotify=true",
        "StartupWMClass=orbit",
        "Categories=Development;",
        "Keywords=RocketMQ;broker;messages;",
        "MimeType=x-scheme-handler/orbit;",
        "",
    ))  # fmt: skip


def exec_word(word: str) -> str:
    """A word of ``Exec``: in quotes, with the escapes of the command and then those of a string of the file.

    Raises:
        UsageError: It has a line end, which an entry cannot hold.
    """
    if "\n" in word or "\r" in word:
        raise UsageError(f"a desktop entry cannot start a program whose path has a line end: {word!r}")
    return f'"{word.translate(_QUOTED)}"'.replace("\\", "\\\\").replace("%", "%%")


def _refresh(files: DesktopFiles) -> None:
    """Tell the desktop, where its tool is there; without it most desktops look for themselves."""
    tool = shutil.which("update-desktop-database")
    if tool is not None and files.entry.parent.is_dir():
        command = [tool, "-q", str(files.entry.parent)]
        subprocess.run(command, env=environment(), check=False, capture_output=True, timeout=_REFRESH_TIMEOUT_S)
