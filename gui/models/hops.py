"""Steps of the way to a cluster, as the connection doctor shows them."""

from __future__ import annotations

from dataclasses import dataclass

from gui.models.table import CellKind, Column, number_column
from gui.theme.tokens import State
from gui.words.broker_words import broker_text
from gui.words.child_words import child_text
from gui.words.text import UNKNOWN, milliseconds_text, tr


@dataclass(frozen=True, slots=True)
class ConnectionHop:
    """A step on the way to the broker.

    Attributes:
        name: English; shown through `tr`.
        address: Its address; words are English and shown through `tr`.
        took_ms: Until its answer; -1 while there is none.
        fault: Its fault; empty for none.
        is_tried: Whether it was tried.
        note: What was found there.
        advice: What to do about the fault.
    """

    name: str
    address: str
    took_ms: float = -1.0
    fault: str = ""
    is_tried: bool = False
    note: str = ""
    advice: str = ""

    @property
    def what_is_wrong(self) -> str:
        fault, advice = broker_text(self.fault), child_text(self.advice)
        ends = fault.endswith((".", "!", "?", "。", "！", "？"))
        return (" " if ends else tr(". ")).join(filter(None, (fault, advice)))


def hop_columns() -> list[Column[ConnectionHop]]:
    return [
        Column("hop", "Hop", lambda hop: tr(hop.name), kind=CellKind.STRONG, width=116),
        Column("address", "Address", _address, kind=CellKind.MONO, dim=True, tip=_tip),
        number_column("time", "Time", lambda hop: hop.took_ms, milliseconds_text, width=62),
        Column("result", "Result", result_text, kind=CellKind.CHIP, state=_result_state, tip=_tip, width=98),
    ]


def _address(hop: ConnectionHop) -> str:
    # The note is first, because long texts are shortened in the middle.
    return "  ".join(filter(None, (child_text(hop.note), tr(hop.address)))) or UNKNOWN


def _tip(hop: ConnectionHop) -> str:
    return hop.what_is_wrong or child_text(hop.note)


def result_text(hop: ConnectionHop) -> str:
    if not hop.is_tried:
        return tr("Not tried")
    return tr("Failed") if hop.fault else tr("OK")


def _result_state(hop: ConnectionHop) -> State:
    if not hop.is_tried:
        return State.IDLE
    return State.CRITICAL if hop.fault else State.HEALTHY
