"""Where a lag goes, in words: one wording for tables, panels and chips of all pages."""

from __future__ import annotations

import math

from gui.words.text import UNKNOWN, QueueText, duration_text, rate_text, short_count_text, signed_count_text, tr
from monitoring.group_outlook import GroupOutlook, Help, HelpKind, QueueDrain
from monitoring.lag import Forecast, LagOutlook


def outlook_text(outlook: GroupOutlook, queue_text: QueueText) -> str:
    """``drains in 12 min`` by the slowest queue, ``grows 1.2 k/min``, ``turned 8 s ago`` while the new direction is unknown."""
    lag, slowest = outlook.forecast, outlook.slowest
    if lag.outlook is not LagOutlook.DRAINING:
        return _direction_text(lag)
    if slowest is not None and math.isinf(slowest.drained_ms):
        return tr("queue {queue} stays", queue=queue_text(slowest.queue_id))
    return tr("drains in {time}", time=duration_text(outlook.drained_in_ms))


def _direction_text(lag: Forecast) -> str:
    """The direction of a lag that does not drain: ``grows 1.2 k/min``, ``steady``."""
    match lag.outlook:
        case LagOutlook.GROWING:
            return tr("grows {count}/min", count=short_count_text(lag.slope * 60))
        case LagOutlook.STEADY:
            return tr("steady")
        case LagOutlook.CAUGHT_UP:
            return tr("no lag")
    return turned_text(lag) or tr("unknown")


def turned_text(lag: Forecast) -> str:
    """``turned 40 s ago``; empty if the lag did not turn lately, or is not known."""
    return "" if math.isnan(lag.turned_ms + lag.lag_messages) else tr("turned {time} ago", time=duration_text(lag.turned_ms))


def change_text(lag: Forecast) -> str:
    """The slope with its sign; a dash while lag or direction is unknown."""
    is_open = lag.outlook in (LagOutlook.UNKNOWN, LagOutlook.CAUGHT_UP)
    is_known = not math.isnan(lag.lag_messages) and (not is_open or lag.slope == 0)
    return f"{signed_count_text(lag.slope)}/s" if is_known else UNKNOWN


def basis_text(lag: Forecast) -> str:
    """Which part of the past a forecast is taken from."""
    turned = turned_text(lag)
    if turned:
        return tr("Robust slope of the lag since it {turned}", turned=turned)
    return tr("Robust slope of the lag over the last {time}", time=duration_text(lag.known_ms))


def slowest_text(slowest: QueueDrain | None, queue_text: QueueText) -> str:
    """What the slowest queue of a group needs; empty if it is unknown."""
    if slowest is None:
        return ""
    names = {"topic": slowest.topic, "queue": queue_text(slowest.queue_id)}
    if math.isinf(slowest.drained_ms):
        return tr("Queue {queue} of {topic} does not drain", **names)
    return tr("Slowest: queue {queue} of {topic}, {time}", time=duration_text(slowest.drained_ms), **names)


def help_text(advice: Help | None) -> str:
    """What would let a lag shrink; empty if nothing is needed or known."""
    if advice is None:
        return ""
    names = {"more": advice.more, "queues": advice.queues}
    match advice.kind:
        case HelpKind.MORE_CONSUMERS if not advice.queues:
            return tr("{more} more consumers would drain it", **names)
        case HelpKind.MORE_CONSUMERS:
            return tr("{more} more consumers would drain it; at most {queues} in all, one for each queue", **names)
        case HelpKind.TOO_FEW_QUEUES:
            return tr("Even {queues} consumers, one for each queue, are too slow: more queues or faster consumers", **names)
        case HelpKind.ALL_QUEUES_TAKEN:
            return tr("More consumers cannot help: each of {queues} queues has one", **names)
        case HelpKind.ONE_QUEUE:
            return tr("More consumers cannot help: nearly all of it is in one queue")


def explained(outlook: GroupOutlook, queue_text: QueueText) -> str:
    """The basis of a forecast, its slowest queue, and what would help; a line each."""
    parts = (basis_text(outlook.forecast), slowest_text(outlook.slowest, queue_text), help_text(outlook.help))
    return "\n".join(part for part in parts if part)


def growth_text(lag: Forecast) -> str:
    """``growing by 12/s``, ``shrinking by 123/s``, ``turned 8 s ago``; empty if there is nothing to say."""
    match lag.outlook:
        case LagOutlook.GROWING:
            return tr("growing by {rate}", rate=rate_text(lag.slope))
        case LagOutlook.DRAINING:
            return tr("shrinking by {rate}", rate=rate_text(-lag.slope))
        case LagOutlook.UNKNOWN:
            return turned_text(lag)
    return ""
