"""The parts that Orbit is installed in, and which packages show that a part is there.

The core runs the broker, the name server, the client library, search, replay, copy and doctor. The window and the reports need
packages of their own, which `pyproject.toml` lists under the names here.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from broker_core.errors import MissingPartError


@dataclass(frozen=True, slots=True)
class Part:
    """A part beside the core.

    Attributes:
        name: As in ``pip install '.[NAME]'``.
        user: What needs it, as the subject of a sentence.
        modules: Modules that are there when the part is installed.
    """

    name: str
    user: str
    modules: tuple[str, ...]


WINDOW: Final = Part("window", "the window", ("PySide6", "pyqtgraph", "keyring"))
REPORTS: Final = Part("reports", "reports", ("pyspark", "pyarrow", "pandas", "numba", "plotly", "jinja2", "xlsxwriter"))
SAVED: Final = Part("window", "saved connections", ("PySide6", "keyring"))
SCHEMAS: Final = Part("window", "bodies of a .proto schema", ("grpc_tools",))
HISTORY: Final = Part("window", "the history", ("numpy",))
TUNNELS: Final = Part("window", "SSH tunnels", ("asyncssh",))
PARQUET: Final = Part("reports", "Parquet files", ("pyarrow",))
BUNDLE_NOTE: Final = "lib/orbit-bundle"
"""File of a bundle, from its folder, by which a bundle is known (`packaging/bundle.py`)."""


def lacks(part: Part) -> list[str]:
    """Modules of the part that are not installed; none is imported."""
    return [name for name in part.modules if importlib.util.find_spec(name) is None]


def require(part: Part) -> None:
    """Return if the part is installed.

    Raises:
        MissingPartError: It is not, or not as a whole; the message says how to install it.
    """
    if missing := lacks(part):
        raise MissingPartError(install_text(part, missing))


def install_text(part: Part, missing: list[str]) -> str:
    """What is missing and how to install it, as a sentence."""
    return (
        f"{part.user} need{'s' if part.user.startswith('the ') else ''} packages that are not installed: {', '.join(missing)}. "
        + _way_to_install(part)
    )


def _way_to_install(part: Part) -> str:
    if Path(sys.prefix, BUNDLE_NOTE).is_file():  # has no installer
        return f"This bundle of Orbit was made without its part “{part.name}”: take the bundle with all parts"
    return (
        f"Install Orbit again with its part “{part.name}”: pip install 'ORBIT[{part.name}]', where ORBIT is the folder or the "
        "wheel that it was installed from"
    )
