"""Texts of the Transactions page about its figures and its list."""

from __future__ import annotations

from gui.models.transactions import BoardFigures
from gui.theme.tokens import State
from gui.views.transactions.lists import OPEN, PAST, TransactionLists
from gui.words.text import count_text, tr


def figure_chips(figures: BoardFigures | None) -> list[tuple[str, State]]:
    """Chips of figures that need attention, with their counts."""
    if figures is None:
        return []
    counted = (
        (figures.undecided, "{count} undecided", State.PENDING),
        (figures.without_producer, "{count} without a producer", State.WARNING),
        (figures.unread, "reading {count} records", State.CHECKING),
        (figures.given_up, "{count} given up", State.CRITICAL),
    )
    return [(tr(words, count=count_text(count)), state) for count, words, state in counted if count > 0]


def foot_words(lists: TransactionLists, filter_key: str, shown: int) -> str:
    """How many transactions a filter lists, and of how many; empty where unknown."""
    if lists.read_of(filter_key).is_failed:
        return ""
    if filter_key == PAST:
        return tr("{shown} of {count} on this page of the store, newest first", shown=shown, count=len(lists.past.rows))
    if filter_key != OPEN:
        return tr("{shown} of the last {count} that ended since the start", shown=shown, count=len(lists.ended))
    if lists.total < 0:
        return ""
    words = "{shown} of {count} undecided that match"
    if not lists.sought:
        words = "{shown} of {count} undecided, in the order of the half queue"
    return tr(words, shown=shown, count=count_text(lists.total))
