"""The checks and all tests, in two lanes side by side.

One lane leaves half of a small machine idle, for tests that start programs mostly wait for them. What the second lane says is
printed behind the first.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ORBIT = str(ROOT / "orbit")
BESIDE = ("tests/unit", "tests/golden", "tests/spark", "tests/crash", "tests/e2e", "tests/interop/test_our_client.py")
"""Folders and files of the second lane; all others are in the first."""
HANG_S = 1_200
"""No test of the gate takes so long. One that hangs inside Qt, where its own timeout cannot end it, ends the run and tells its
stacks."""
OPTIONS = ("-o", f"faulthandler_timeout={HANG_S}", "-o", "faulthandler_exit_on_timeout=true")
SECOND = f'"{ORBIT}" check; checks=$?; "{ORBIT}" test {" ".join((*OPTIONS, *BESIDE))}; tests=$?; exit $((checks | tests))'


def main() -> int:
    """Run both lanes; 0 when all is well in both. Ends both when it is told to end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryFile() as said:
        second = subprocess.Popen(["sh", "-c", SECOND], cwd=ROOT, stdout=said, stderr=said, start_new_session=True)
        try:
            ignored = [f"--ignore={folder}" for folder in BESIDE]
            first = subprocess.run([ORBIT, "test", *OPTIONS, *ignored], cwd=ROOT, check=False).returncode
            second.wait()
        finally:
            if second.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(second.pid, signal.SIGTERM)
                second.wait()
            said.seek(0)
            shutil.copyfileobj(said, sys.stdout.buffer)
            sys.stdout.flush()
    return int(first != 0 or second.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
