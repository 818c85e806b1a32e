"""Totals of a snapshot of a cluster. Pure.

Source: docs/spec/remoting.md §2.5.3.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from broker_core.protocol.admin.values import figure_of, size_of, whole_number
from broker_core.protocol.names import CHECK_GROUP, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID
from broker_core.worker.attached.broker_figures import BrokerFigures
from broker_core.worker.questions.figures import OFFSETS_READ_MS, TOTALS_READ_MS

UNDECIDED_KEPT_MS = 15_000
"""How long the count of undecided transactions is reported after a look at them."""
_SUMS = {"put_messages": "putMessageTimesTotal"}
_OF_ONE = {"commit_log_min": "commitLogMinOffset", "commit_log_max": "commitLogMaxOffset"}
_PUTS = re.compile(r"\]:(\d+)")
"""Puts of a bucket in ``putMessageDistributeTime``."""


def cluster_totals(brokers: Sequence[BrokerFigures], now_ms: int) -> dict[str, float]:
    """Totals of all brokers together at ``now_ms``; a total that one broker does not report is missing."""
    return _reported(brokers, now_ms) | _read_times(brokers)


def _read_times(brokers: Sequence[BrokerFigures]) -> dict[str, float]:
    """When what can be counted was read, of the brokers that answer."""
    answer = [of for of in brokers if not of.is_lost]
    times = {TOTALS_READ_MS: [of.runtime_ms for of in answer], OFFSETS_READ_MS: [of.positions_ms for of in answer]}
    return {name: sum(found) / len(found) for name, found in times.items() if found and all(found)}


def _reported(brokers: Sequence[BrokerFigures], now_ms: int) -> dict[str, float]:
    runtimes = [of.runtime for of in brokers]
    if any(of.is_lost or not of.runtime or of.is_runtime_former for of in brokers) or not runtimes:
        return _half_totals(brokers, now_ms)
    totals = _store_totals(runtimes)
    producers = [of.producers for of in brokers]
    if None not in producers:
        # Each is connected to several brokers.
        totals["producers"] = float(len(frozenset().union(*(found for found in producers if found))))
    # A slave has its own count: after its master's it would be a fall, and at the master's return a flood.
    has_masters = not any(of.no_master_ms for of in brokers)
    for name, key in _SUMS.items() if has_masters else ():
        numbers = [whole_number(runtime.get(key)) for runtime in runtimes]
        if None not in numbers:
            totals[name] = float(sum(number for number in numbers if number is not None))
    if has_masters and all(of.reads_of_others.others >= 0 for of in brokers):
        totals["got_messages"] = float(sum(of.reads_of_others.others for of in brokers))
        totals["console_messages"] = float(sum(of.console_got for of in brokers))
    boots = [whole_number(runtime.get("bootTimestamp")) for runtime in runtimes]
    if None not in boots:
        totals["started_ms"] = float(max(boot for boot in boots if boot is not None))
    for name, key in _OF_ONE.items() if len(runtimes) == 1 else ():
        number = whole_number(runtimes[0].get(key))
        if number is not None:
            totals[name] = float(number)
    return totals | _half_totals(brokers, now_ms)


def _half_totals(brokers: Sequence[BrokerFigures], now_ms: int) -> dict[str, float]:
    """Progress of the brokers in half and op queues, and the undecided transactions that a recent look found.

    Empty while a broker is lost or has not reported its topics. 4.x reports nothing of op queues.
    """
    if any(of.is_lost or not of.has_told_tables for of in brokers):
        return {}
    totals: dict[str, float] = defaultdict(float)
    for of in brokers:
        for name, topic in (("half", HALF_TOPIC), ("op", OP_TOPIC)):
            held = of.offsets.get(topic, {}).get(TRANSACTION_QUEUE_ID)
            if held is not None:
                progress = of.positions.get((CHECK_GROUP, topic), {}).get(TRANSACTION_QUEUE_ID, 0)
                totals[f"transactions_{name}_lag"] += max(held.max_offset - max(progress, held.min_offset), 0)
                totals[f"transactions_{name}_end"] += held.max_offset
    totals.pop("transactions_op_end", None)
    if "transactions_half_end" in totals:
        totals["transactions_unread"] = sum(of.halves_unread for of in brokers)
    if brokers and all(now_ms - of.undecided_ms < UNDECIDED_KEPT_MS for of in brokers):
        totals["transactions_pending"] = sum(of.undecided for of in brokers)
        totals["transactions_checking"] = sum(of.in_check for of in brokers)
    return dict(totals)


def _store_totals(brokers: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Size and use of the fullest disk, and the slowest 99th percentile of puts, from the runtime figures of each broker."""
    totals: dict[str, float] = {}
    latencies = [_put_latency(runtime) for runtime in brokers]
    if latencies and all(latency is not None for latency in latencies):
        totals["put_p99_ms"] = max((one for one in latencies if one is not None and not math.isnan(one)), default=math.nan)
    disks = [_disk(runtime) for runtime in brokers]
    known = [disk for disk in disks if disk is not None]
    if known and len(known) == len(disks):
        share, size = max(known)
        totals["disk_total_bytes"], totals["disk_used_bytes"] = size, share * size
    return totals


def _put_latency(runtime: Mapping[str, str]) -> float | None:
    """The 99th percentile of the last whole minute in ms; NaN for a minute without puts, None where it is not reported.

    Brokers report 0 for a minute without puts, and count the puts of the same minute by duration; the counts are missing
    before the first minute is over (Source: docs/spec/broker.md §11.3).
    """
    latency = figure_of(runtime.get("putLatency99", ""))
    if latency is None:
        return None
    is_idle = not any(count.strip("0") for count in _PUTS.findall(runtime.get("putMessageDistributeTime", "")))
    return math.nan if is_idle and not latency else latency


def _disk(runtime: Mapping[str, str]) -> tuple[float, float] | None:
    """Used share of the disk of the commit log, and its size in bytes."""
    share = figure_of(runtime.get("commitLogDiskRatio", ""))
    size = size_of(runtime.get("commitLogDirCapacity", "").partition("Total :")[2])
    return None if share is None or size is None else (share, size)
