"""Signals wake a loop and end a process, by each way."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

import pytest

from broker_core.platform import signals

SECONDS = 60

pytestmark = pytest.mark.usefixtures("both_platforms")

ENDED_BY_ITSELF = """
import signal, sys, threading, time
from broker_core.platform import signals
def ended(*_):
    print("in order", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, ended)
threading.Thread(target=signals.end_this_process).start()
deadline = time.monotonic() + 50
while time.monotonic() < deadline:
    time.sleep(0.01)
"""


def test_a_signal_wakes_the_loop_until_it_is_let_go():
    async def run() -> list[str]:
        loop, came = asyncio.get_running_loop(), asyncio.Event()
        heard = []

        def note() -> None:
            heard.append("signal")
            came.set()

        signals.on_signal(loop, signal.SIGTERM, note)
        signal.raise_signal(signal.SIGTERM)
        async with asyncio.timeout(SECONDS):
            await came.wait()
        signals.off_signal(loop, signal.SIGTERM)
        return heard

    before = signal.getsignal(signal.SIGTERM)
    assert asyncio.run(run()) == ["signal"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_process_ends_itself_in_order_from_a_thread():
    done = subprocess.run([sys.executable, "-c", ENDED_BY_ITSELF], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert (done.returncode, done.stdout) == (7, "in order\n"), done.stderr


def test_a_server_is_stopped_by_fewer_signals_than_a_command():
    assert set(signals.STOP_SIGNALS) == {signal.SIGINT, signal.SIGTERM}
    assert set(signals.END_SIGNALS) == {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    assert signals.KILL_NUMBER == signal.SIGKILL
