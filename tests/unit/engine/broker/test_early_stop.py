"""A clean stop before the timer files are open: what the start found is written, and the next start reports no loss."""

import threading

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.schedule.timer.service import TimerService
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from tests.support.broker_bench import SMALL_FILES, send_fields
from tests.support.clock import ManualClock
from tests.support.driven_broker import DrivenBroker
from tests.support.waiting import wait_until

TIMER = send_fields("T", properties="TIMER_DELAY_SEC\x015")
LONG_TIMER = send_fields("T", properties="TIMER_DELAY_SEC\x01200000")


@pytest.fixture
def opening(monkeypatch):
    """Holds up the opening until it is set."""
    may_open, open_files = threading.Event(), TimerService._open

    def held_up(service, *args):
        may_open.wait(60)
        return open_files(service, *args)

    monkeypatch.setattr(TimerService, "_open", held_up)
    yield may_open
    may_open.set()


def config_of(root, precision_ms=1_000):
    store = StoreConfig(root=root / "store", timer_precision_ms=precision_ms, **SMALL_FILES)
    return BrokerConfig(listen_port=0, name_server_port=0, grpc="off", store=store)


def ended_early(opening, end):
    threading.Timer(0.2, opening.set).start()
    end()
    assert opening.is_set()


@pytest.mark.parametrize("is_killed", [False, True])
def test_an_end_before_the_first_opening_is_no_loss(tmp_path, opening, is_killed):
    driven = DrivenBroker(config_of(tmp_path), ManualClock())
    assert driven.ask(Q.SEND_MESSAGE_V2, TIMER, b"timer").code == R.SUCCESS
    ended_early(opening, driven.kill if is_killed else driven.stop)
    driven.start()
    assert driven.broker.reports == []
    # The files are opened on a thread of the machine's own time.
    wait_until(lambda: driven.advance(1_000) or driven.store.max_offset("T", 0) == 1)
    driven.close()


def test_a_stop_before_the_opening_keeps_a_change_of_the_precision(tmp_path, opening):
    opening.set()
    driven = DrivenBroker(config_of(tmp_path), ManualClock())
    for fields in (LONG_TIMER, TIMER):
        assert driven.ask(Q.SEND_MESSAGE_V2, fields, b"timer").code == R.SUCCESS
    # One of two timers is delivered, so both are in the wheel.
    wait_until(lambda: driven.advance(1_000) or driven.store.max_offset("T", 0) == 1)
    driven.stop()
    opening.clear()
    driven._config = config_of(tmp_path, precision_ms=100)
    driven.start()
    ended_early(opening, driven.stop)
    assert (driven.root / "config" / "timerPrecision.json").exists()
    driven.start()
    driven.close()
