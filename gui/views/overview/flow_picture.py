"""From a `ClusterState` to the message flow of the Overview: producers → topics → ready → groups → consumed."""

from __future__ import annotations

import math

import numpy as np

from gui.text import UNKNOWN, count_text, duration_text, rate_text, short_count_text, tr
from gui.views.overview.figures import FlowFigures, flow, own_groups, own_topics
from gui.views.overview.flow_scene import FlowBand, FlowCard, FlowPicture, FlowRole
from monitoring.state import ClusterState

CARDS_IN_COLUMN_MAX = 3
LAG_SEEN_FROM = 500

PRODUCERS, READY, CONSUMED = "producers", "ready", "consumed"
OTHER_TOPICS, OTHER_GROUPS = "other topics", "other groups"
TOPIC_PREFIX, GROUP_PREFIX = "topic:", "group:"


def flow_picture(state: ClusterState) -> FlowPicture:
    """Everything the message flow draws. Rates put and rates taken are each the sum of their parts."""
    figures = flow(state)
    topic_cards, topic_rates = _topics(state)
    group_cards, group_rates = _groups(state)
    bands = []
    for card, rate in zip(topic_cards, topic_rates, strict=True):
        bands.append(FlowBand(PRODUCERS, card.key, rate, FlowRole.PUT))
        bands.append(FlowBand(card.key, READY, rate, FlowRole.PUT))
    for card, rate in zip(group_cards, group_rates, strict=True):
        bands.append(FlowBand(READY, card.key, rate, FlowRole.GOT))
        bands.append(FlowBand(card.key, CONSUMED, rate, FlowRole.GOT))
    return FlowPicture(
        columns=((_producers(figures),), topic_cards, (_ready(figures),), group_cards, (_consumed(figures),)),
        bands=tuple(bands),
    )


def _producers(figures: FlowFigures) -> FlowCard:
    fact = _clients_text(figures.producers)
    return FlowCard(PRODUCERS, tr("Producers"), rate_text(figures.put_rate), fact, FlowRole.PUT)


def _ready(figures: FlowFigures) -> FlowCard:
    oldest = UNKNOWN if figures.ready_messages == 0 else duration_text(figures.oldest_ms)
    fact = tr("oldest {age}", age=oldest) if oldest != UNKNOWN else ""
    return FlowCard(READY, tr("Ready to consume"), count_text(figures.ready_messages), fact, FlowRole.WAITING)


def _consumed(figures: FlowFigures) -> FlowCard:
    fact = _clients_text(figures.consumers)
    return FlowCard(CONSUMED, tr("Consumed"), rate_text(figures.got_rate), fact, FlowRole.GOT)


def _clients_text(count: float) -> str:
    return tr("1 client") if count == 1 else tr("{count} clients", count=count_text(count))


def _topics(state: ClusterState) -> tuple[tuple[FlowCard, ...], list[float]]:
    """Cards and put rates of the topics written most since the start, the rest in one card.

    The choice follows totals, not the rates of the moment, so that cards do not change places.
    """
    rows = sorted(own_topics(state), key=lambda row: (-state.topic_put_messages[row], state.catalog.topics[row]))
    shown, rest = _first_and_rest(rows)
    cards, rates = [], []
    for row in shown:
        rate = float(state.topic_put_rate[row])
        kept = tr("{count} kept", count=short_count_text(float(state.topic_kept_messages[row])))
        cards.append(
            FlowCard(TOPIC_PREFIX + state.catalog.topics[row], state.catalog.topics[row], rate_text(rate), kept, FlowRole.PUT)
        )
        rates.append(rate)
    if rest:
        rate = _sum_known(state.topic_put_rate[rest])
        kept = tr("{count} kept", count=short_count_text(float(state.topic_kept_messages[rest].clip(0).sum())))
        cards.append(FlowCard(OTHER_TOPICS, tr("{count} other topics", count=len(rest)), rate_text(rate), kept, FlowRole.PUT))
        rates.append(rate)
    if not cards:
        cards.append(FlowCard(OTHER_TOPICS, tr("Topics"), "0", tr("none yet"), FlowRole.PUT))
        rates.append(0.0)
    return tuple(cards), rates


def _groups(state: ClusterState) -> tuple[tuple[FlowCard, ...], list[float]]:
    """Cards and rates taken of the groups that lag most, in the catalog's order, the rest in one card.

    Lags are compared by size, not exactly: small ones change with every message, and cards are not to change places.
    """
    rows = sorted(
        own_groups(state), key=lambda row: (-_lag_size(float(state.group_lag_messages[row])), state.catalog.groups[row])
    )
    shown, rest = _first_and_rest(rows)
    cards, rates = [], []
    for row in sorted(shown):
        rate = float(state.group_got_rate[row])
        fact = _lag_fact(float(state.group_lag_messages[row]))
        cards.append(
            FlowCard(GROUP_PREFIX + state.catalog.groups[row], state.catalog.groups[row], rate_text(rate), fact, FlowRole.GOT)
        )
        rates.append(rate)
    if rest:
        rate = _sum_known(state.group_got_rate[rest])
        fact = _lag_fact(_sum_known(state.group_lag_messages[rest]))
        cards.append(FlowCard(OTHER_GROUPS, tr("{count} other groups", count=len(rest)), rate_text(rate), fact, FlowRole.GOT))
        rates.append(rate)
    if not cards:
        cards.append(FlowCard(OTHER_GROUPS, tr("Consumer groups"), "0", tr("none yet"), FlowRole.GOT))
        rates.append(0.0)
    return tuple(cards), rates


def _lag_size(lag: float) -> int:
    """-1 unknown, 0 below `LAG_SEEN_FROM`, above that the number of digits."""
    if math.isnan(lag):
        return -1
    return len(str(int(lag))) if lag >= LAG_SEEN_FROM else 0


def _lag_fact(lag: float) -> str:
    return tr("lag {count}", count=count_text(lag))


def _first_and_rest(rows: list[int]) -> tuple[list[int], list[int]]:
    if len(rows) <= CARDS_IN_COLUMN_MAX:
        return rows, []
    return rows[: CARDS_IN_COLUMN_MAX - 1], rows[CARDS_IN_COLUMN_MAX - 1 :]


def _sum_known(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(known.sum()) if known.size else math.nan
