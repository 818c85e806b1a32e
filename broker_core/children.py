"""How Orbit starts other processes: their commands, and their environment, which is put together and not inherited.

A shell holds settings of other programs: paths of other packages, options of every Java, another Spark. Python, Java and Spark
read them at their start, and would fail with messages about something else. The folder where the user stands may hold modules
with the names of Python's own, so no child searches it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

_MAIN = Path(__file__).resolve().parents[1] / "main.py"
"""Beside the packages, in a checkout and where they are installed."""

_PYTHON: Final = ("-X", "utf8")
"""Texts are UTF-8 in each process of Orbit, whatever the locale."""

_KEPT: Final = frozenset((
    # the user, and where programs and files are
    "HOME", "USER", "LOGNAME", "SHELL", "PATH", "PWD", "TMPDIR", "TEMP", "TMP", "TZ", "TZDIR", "HOSTNAME",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "OMP_NUM_THREADS",
    # language and terminal
    "LANG", "LANGUAGE", "LOCPATH", "TERM", "COLORTERM", "NO_COLOR",
    # the desktop
    "DISPLAY", "XAUTHORITY", "ICEAUTHORITY", "SESSION_MANAGER", "DESKTOP_SESSION", "XMODIFIERS", "BROWSER",
    "FONTCONFIG_FILE", "FONTCONFIG_PATH", "PYTHON_KEYRING_BACKEND",
    # the way to a cluster
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_AUTH_SOCK", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_USER_NAME", "KUBECONFIG",
    "KRB5_CONFIG", "KRB5CCNAME",
    # Windows
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "USERPROFILE",
    "USERNAME", "HOMEDRIVE", "HOMEPATH",
))  # fmt: skip
_KEPT_BEGINNINGS: Final = (
    "ORBIT_", "LC_", "XDG_", "QT_", "QSG_", "WAYLAND_", "DBUS_", "GTK_", "GDK_", "KDE_", "GNOME_", "AT_SPI_", "XCURSOR_",
    "LIBGL_", "MESA_", "AWS_",
)  # fmt: skip

_OF_PYTHON: Final = ("PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONPLATLIBDIR")
_OF_JAVA: Final = ("_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "CLASSPATH")
_OF_PACKAGES: Final = ("SPARK_", "PYSPARK_", "NUMBA_")


def main_command(*words: str) -> list[str]:
    """The command that runs ``main.py`` with these arguments by this Python, which reads no variables of its own."""
    return [sys.executable, "-E", "-s", *_PYTHON, str(_MAIN), *words]


def program_command() -> list[str]:
    """The command that a user starts Orbit by: the script of a checkout, the installed command, or else this Python."""
    for path in (_MAIN.with_name("orbit"), Path(sys.executable).with_name("orbit")):
        if path.is_file():
            return [str(path)]
    return main_command()


def program_name() -> str:
    """The first word of a command for a terminal."""
    return "./orbit" if _MAIN.with_name("orbit").is_file() else "orbit"


def reads_no_variables() -> bool:
    """Whether this Python was started as `main_command` starts one."""
    return bool(sys.flags.ignore_environment and sys.flags.no_user_site and sys.flags.utf8_mode)


def module_command(module: str, *words: str) -> list[str]:
    """The command that runs an installed module by this Python; it is not searched in the folder where the user stands."""
    return [sys.executable, "-I", *_PYTHON, "-m", module, *words]


def is_kept(name: str) -> bool:
    """Whether children get this variable of the environment."""
    return name in _KEPT or name.startswith(_KEPT_BEGINNINGS)


def environment(whole: Mapping[str, str] = os.environ) -> dict[str, str]:
    return {name: text for name, text in whole.items() if is_kept(name)}


def disown(whole: MutableMapping[str, str] = os.environ, *, ignores_python: bool | None = None) -> list[str]:
    """Take away what Python, Java, Spark or numba would read in the environment of this process; returns the names, sorted.

    Libraries in this process read it too. Where this Python read no variables (``ignores_python``, by default whether it runs
    so), those of Python go as well, because Spark starts a Python that reads them; the names are those by which one finds other
    files or works otherwise.
    """
    ignores = bool(sys.flags.ignore_environment) if ignores_python is None else ignores_python
    named = (*_OF_JAVA, *_OF_PYTHON) if ignores else _OF_JAVA
    found = sorted(name for name, text in whole.items() if text and (name in named or name.startswith(_OF_PACKAGES)))
    of_python = [name for name in whole if ignores and name.startswith("PYTHON") and not is_kept(name)]
    for name in {*found, *of_python}:
        del whole[name]
    return found
