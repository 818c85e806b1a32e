"""The board from the figures of transactions."""

from __future__ import annotations

import math

from broker_core.api import names as reserved
from gui.models.transactions import CHECKING, COMMITTED, PREPARED, ROLLED_BACK, BoardFigures
from gui.theme.tokens import State
from gui.views.delay.columns import countdown_text
from gui.views.transactions.board import BoardCard, BoardPicture
from gui.words.text import count_text, percent_text, rate_text, tr

GIVEN_UP_KEY = "given up"


def board_picture(
    figures: BoardFigures | None, now_ms: int, check_times_max: int, *, is_from_outside: bool = False
) -> BoardPicture:
    """Cards of all states; without figures they show unknown, and for an attached cluster that it reports none."""
    if figures is None:
        nan = math.nan
        figures = BoardFigures(nan, nan, nan, nan, nan, nan, nan, nan, nan, nan)
    decided = figures.commit_rate + figures.rollback_rate
    committed_share = figures.commit_rate / decided if decided > 0 else math.nan
    unknown = tr("not reported") if is_from_outside else ""
    return BoardPicture(
        columns=(
            (BoardCard(PREPARED, tr("Prepared"), count_text(figures.prepared), tr("not asked about yet"), State.PENDING),),
            (BoardCard(CHECKING, tr("Checking"), count_text(figures.checking), _round_text(figures, now_ms), State.CHECKING),),
            (
                BoardCard(COMMITTED, tr("Committed"), count_text(figures.committed),
                          _rate_fact(figures.commit_rate, committed_share) or unknown, State.COMMITTED),
                BoardCard(ROLLED_BACK, tr("Rolled back"), count_text(figures.rolled_back),
                          _rate_fact(figures.rollback_rate, 1 - committed_share) or unknown, State.IDLE)
            ),
            (BoardCard(GIVEN_UP_KEY, tr("Given up"), count_text(figures.given_up), reserved.DISCARD_TOPIC,
                       State.CRITICAL),)
        ),
        ways=(
            tr("no answer"),
            tr("answered"),
            tr("{count} checks", count=check_times_max) if check_times_max > 0 else tr("no answer at all")
        ),
    )  # fmt: skip


def _round_text(figures: BoardFigures, now_ms: int) -> str:
    if math.isnan(figures.next_round_ms) or figures.next_round_ms < now_ms:
        return "" if math.isnan(figures.checks) else tr("{count} asked since the start", count=count_text(figures.checks))
    return tr("next round in {time}", time=countdown_text((figures.next_round_ms - now_ms) // 1_000 * 1_000)[:5])


def _rate_fact(rate: float, share: float) -> str:
    if math.isnan(rate):
        return ""
    return rate_text(rate) if math.isnan(share) else f"{rate_text(rate)}  {percent_text(share)}"
