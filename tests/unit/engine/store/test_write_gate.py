from __future__ import annotations

from broker_core.engine.store.write_gate import Refusal, WriteGate


def test_an_open_gate_gives_no_reason():
    gate = WriteGate()
    assert (gate.is_shut, gate.text) == (False, "")


def test_the_most_lasting_reason_is_told_first():
    gate = WriteGate()
    gate.refuse(Refusal.DISK_USE, "nearly full")
    gate.refuse(Refusal.SYNC_FAILED, "broken")
    assert (gate.is_shut, gate.text) == (True, "broken")
    gate.withdraw(Refusal.SYNC_FAILED)
    assert (gate.is_shut, gate.text) == (True, "nearly full")
    gate.withdraw(Refusal.DISK_USE)
    gate.withdraw(Refusal.DISK_USE)
    assert (gate.is_shut, gate.text) == (False, "")


def test_a_log_that_cannot_grow_is_tried_again_by_the_next_put():
    gate = WriteGate()
    gate.refuse(Refusal.LOG_SPACE, "full")
    assert (gate.is_shut, gate.text, gate.holds(Refusal.LOG_SPACE)) == (False, "full", True)
