"""Orbit's own packages as one archive, for the Python workers of a cluster without Orbit."""

from __future__ import annotations

import zipfile
from pathlib import Path

PACKAGES = ("spark_reports", "monitoring", "broker_core", "resources")
_ROOT = Path(__file__).resolve().parent.parent


def packages_zip(folder: Path) -> Path:
    """Write the archive into a folder; it has Python files only."""
    target = folder / "orbit-packages.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for path in sorted((_ROOT / package).rglob("*.py")):
                archive.write(path, path.relative_to(_ROOT))
    return target
