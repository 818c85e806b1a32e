"""Notices of the worker in the language of the window."""

from __future__ import annotations

import re
import signal

import pytest

from broker_core.protocol.admin.brokers import BrokerPlace
from broker_core.worker.attached.broker_figures import BrokerFigures
from gui.processes.worker_process import _signal_text
from gui.words.broker_words import broker_text, reasons_text
from tests.support.languages import shown_in

PARTLY = (
    "Brokers tell of clients in groups only. Connections without a group, those of the name server, and how much goes through "
    "a connection are known inside a broker only."
)
LOST = "Not all brokers answered, and what they hold is missing here. broker-a: no answer: the connection is lost"


def test_a_notice_before_that_of_lost_brokers_is_translated(qapp):
    del qapp
    with shown_in("zh"):
        text = broker_text(f"{PARTLY} {LOST}")
        assert text == f"{broker_text(PARTLY)} {broker_text(LOST)}"
        before, name, reason = text.partition("broker-a")
        assert name
        assert not re.search("Brokers tell|Not all|no answer", before + reason)


@pytest.mark.parametrize("words", ["", ". Its last words: WARNING something"])
@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV"])
def test_what_ended_the_broker_is_translated_to_its_end(qapp, name, words):
    del qapp
    how = _signal_text(signal.Signals[name])
    with shown_in("zh"):
        text = broker_text(f"the broker process {how}{words}. Restart it: what it has acknowledged is in the store")
    assert set(re.findall("[A-Za-z]+", text)) <= {"Broker", name, "WARNING", "something"}


@pytest.mark.parametrize("lag", [-1, 12])
def test_a_fault_of_several_parts_is_translated_to_its_end(qapp, lag):
    del qapp
    place = BrokerPlace("broker-a", "DefaultCluster", {1: "10.0.0.2:10911"})
    of = BrokerFigures(place=place, no_master_ms=1_000, unregistered_ms=1_000)
    if lag >= 0:
        of.master_log_end, of.runtime = 100 + lag, {"commitLogMaxOffset": "100"}
    refused = "delay levels: 10.0.0.2:10911 is a slave that lets nobody pull (its slaveReadEnable is false): wait for a master"
    fault = ". ".join([of.fault_without_master(9_000), of.fault_unregistered(9_000), f"for 7 s: {refused} (and 12 more)"])
    with shown_in("zh"):
        text = broker_text(fault)
    assert "12" in text
    assert set(re.findall("[A-Za-z]+", text)) <= {"NameServer", "slaveReadEnable", "false"}


@pytest.mark.parametrize("part", [" of ", "; ", "a of b; ", " Not all brokers answered, ", "the broker refused: "])
def test_a_very_long_text_of_a_hostile_broker_is_shown_as_it_is(qapp, part):
    """Its forms would take minutes of the window, or the depth of the stack."""
    del qapp
    text = part * 50_000
    assert (broker_text(text), reasons_text(text)) == (text, text)
