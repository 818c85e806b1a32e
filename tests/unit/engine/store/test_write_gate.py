from __future__ import annotations

from broker_core.engine.store.write_gate import WriteGate, WriteRefusal


def test_an_open_gate_gives_no_reason():
    gate = WriteGate()
    assert (gate.is_shut, gate.text) == (False, "")


def test_the_most_lasting_reason_is_told_first():
    gate = WriteGate()
    gate.refuse(WriteRefusal.DISK_USE, "nearly full")
    gate.refuse(WriteRefusal.SYNC_FAILED, "broken")
    assert (gate.is_shut, gate.text) == (True, "broken")
    gate.withdraw(WriteRefusal.SYNC_FAILED)
    assert (gate.is_shut, gate.text) == (True, "nearly full")
    gate.withdraw(WriteRefusal.DISK_USE)
    gate.withdraw(WriteRefusal.DISK_USE)
    assert (gate.is_shut, gate.text) == (False, "")


def test_a_log_that_cannot_grow_is_tried_again_by_the_next_put():
    gate = WriteGate()
    gate.refuse(WriteRefusal.LOG_SPACE, "full")
    assert (gate.is_shut, gate.text, gate.holds(WriteRefusal.LOG_SPACE)) == (False, "full", True)
