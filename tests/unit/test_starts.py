"""What a process does not load before it needs it: each start in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60

SECRETS = ("asyncssh", "bcrypt", "cryptography", "ecdsa", "keyring", "python_socks")
"""Few connections need them."""
DATA = ("numpy", "pandas", "pyarrow", "pyspark", "plotly", "numba")
BODIES = ("google.protobuf", "lz4", "regex", "backports.zstd")
ENGINE, CLIENT, TOOLS = "broker_core.engine", "broker_core.client", "broker_core.tools"
STARTS = {
    "main": ("PySide6", "asyncio", "broker_core", *DATA, *BODIES, *SECRETS),
    "gui.app.console": ("pyqtgraph", "msgpack", "asyncio", "hashlib", "ssl", ENGINE, *DATA, *BODIES, *SECRETS),
    "broker_core.worker.process": ("PySide6", "uvloop", "psutil", ENGINE, CLIENT, TOOLS, *DATA, *BODIES, *SECRETS),
    "broker_core.worker.commands.broker": (
        "PySide6", "psutil", "uvloop", "yaml", "regex", CLIENT, TOOLS, *DATA, *SECRETS,
    ),
    "broker_core.worker.attached.cluster": ("PySide6", "broker_core.engine.broker", "pandas", "pyarrow", "numba", *SECRETS),
    "broker_core.tools.commands.search": ("PySide6", "regex", CLIENT, *DATA, *SECRETS),
    "broker_core.tools.search.scan": ("PySide6", "asyncio", CLIENT, *DATA, *SECRETS),
    "broker_core.engine.store.recovery": ("PySide6", "asyncio", CLIENT, TOOLS, *DATA, *SECRETS),
    "broker_core.engine.store.inspection.verify": ("PySide6", "asyncio", CLIENT, TOOLS, *DATA, *SECRETS),
    "broker_core.engine.store.inspection.dump": ("PySide6", "asyncio", CLIENT, TOOLS, *DATA, *SECRETS),
    "broker_core.tools.commands.replay": ("PySide6", "regex", "pandas", "pyarrow", "numba", *SECRETS),
    "broker_core.tools.doctor": ("PySide6", ENGINE, *DATA, *BODIES, *SECRETS),
    "spark_reports.catalog": ("PySide6", "asyncio", ENGINE, CLIENT, *DATA, *BODIES, *SECRETS),
    "spark_reports.report_command": ("PySide6", "asyncio", ENGINE, CLIENT, *DATA, *BODIES, *SECRETS),
}  # fmt: skip
"""The module that a process imports first → what is not loaded then."""


@pytest.mark.parametrize("start", STARTS)
def test_a_start_loads_nothing_heavy(start):
    code = f"import sys, {start}; print([name for name in {STARTS[start]!r} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT, env=environment, timeout=SECONDS
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
