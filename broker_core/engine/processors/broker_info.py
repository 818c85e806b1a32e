from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.protocol.codes import ANNOUNCED_VERSIONS, version_name
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.protocol.message.record import store_timestamp_ms

_GIB = 1 << 30

POOL_CAPACITIES = {"send": 10_000, "pull": 100_000, "query": 20_000}
"""Divisors that tools use for the sizes. Requests never queue here: they are served as they are read."""

_NO_BUFFER_POOL = "2147483647"
_PUT_TIMES = (
    "<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s", "1~2s", "2~3s", "3~4s", "4~5s", "5~10s",
    "10s~",
)  # fmt: skip


class BrokerInfoProcessor:
    """Serves GET_BROKER_RUNTIME_INFO (Source: docs/spec/remoting.md §2.5.3, docs/spec/broker.md §11.3)."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._more: list[Callable[[], Mapping[str, str]]] = []

    def add_figures(self, figures: Callable[[], Mapping[str, str]]) -> None:
        """Show figures of another part of the broker too, e.g. ``scheduleMessageOffset_<level>``."""
        self._more.append(figures)

    def runtime(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Figures as text; tools split the rates at spaces."""
        table = {**self._identity(), **self._traffic(), **self._put_times(), **self._storage()}
        for figures in self._more:
            table |= figures()
        return command.reply(body=emit({"table": table}))

    def _identity(self) -> dict[str, str]:
        started_ms = self._state.counters.started_ms
        version = ANNOUNCED_VERSIONS[self._state.config.announced_version]
        return {
            "bootTimestamp": str(started_ms),
            "brokerVersion": str(version),
            "brokerVersionDesc": version_name(version),
            "runtime": _duration_text(max(self._state.clock() - started_ms, 0) // 1000),
            "startAcceptSendRequestTimeStamp": str(self._state.config.accept_sends_from_ms),
        }

    def _traffic(self) -> dict[str, str]:
        counters = self._state.counters
        now, today, yesterday = counters.put_messages, counters.day.today_morning, counters.day.yesterday_morning
        rates = {
            key: " ".join(map(str, counters.rates(what))) or "0.0"
            for key, what in (
                ("putTps", "put"),
                ("getFoundTps", "get_found"),
                ("getMissTps", "get_missed"),
                ("getTotalTps", "get"),
                ("getTransferedTps", "got"),
                ("getTransferredTps", "got"),
            )
        }
        queues = {
            f"{pool}ThreadPoolQueue{what}": value
            for pool, capacity in POOL_CAPACITIES.items()
            for what, value in (("Size", "0"), ("Capacity", str(capacity)), ("HeadWaitTimeMills", "0"))
        }
        return {
            **rates,
            **queues,
            "EndTransactionQueueSize": "0",
            "EndTransactionThreadPoolQueueCapacity": "100000",
            "putMessageTimesTotal": str(now),
            "putMessageFailedTimes": str(counters.put_failed),
            "putMessageSizeTotal": str(counters.put_bytes),
            "putMessageAverageSize": str(counters.put_bytes / now if now else 0.0),
            "putMessageEntireTimeMax": str(int(counters.put_max_s * 1000)),
            "getMessageEntireTimeMax": str(int(counters.get_max_s * 1000)),
            "msgPutTotalTodayNow": str(now),
            "msgPutTotalTodayMorning": str(today[0]),
            "msgPutTotalYesterdayMorning": str(yesterday[0]),
            "msgGetTotalTodayNow": str(counters.got_messages),
            "msgGetTotalTodayMorning": str(today[1]),
            "msgGetTotalYesterdayMorning": str(yesterday[1]),
            "pageCacheLockTimeMills": "0",  # whoever asks is served between two puts: none is under way
            "dispatchBehindBytes": "0",
            "dispatchMaxBuffer": "0",
        }

    def _put_times(self) -> dict[str, str]:
        counters = self._state.counters
        p99_ms, p999_ms = counters.put_latency.quantiles((0.99, 0.999), time.perf_counter())
        found = zip(_PUT_TIMES, counters.put_distribution, strict=False)
        return {
            "putLatency99": _milliseconds_text(p99_ms),
            "putLatency999": _milliseconds_text(p999_ms),
            "putMessageDistributeTime": "".join(f"[{name}]:{count} " for name, count in found) or "null",
        }

    def _storage(self) -> dict[str, str]:
        stats = self._state.store.stats()
        total, used = stats.disk_total_bytes, stats.disk_used_bytes
        ratio = f"{used / total:.2f}" if total else "0.0"
        return {
            "commitLogMinOffset": str(stats.commit_log_min_offset),
            "commitLogMaxOffset": str(stats.commit_log_max_offset),
            "commitLogDiskRatio": ratio,
            f"commitLogDiskRatio_{self._state.config.store.root / 'commitlog'}": ratio,
            "consumeQueueDiskRatio": ratio,
            "commitLogDirCapacity": f"Total : {total / _GIB:.1f} GiB, Free : {(total - used) / _GIB:.1f} GiB.",
            "remainHowManyDataToFlush": f"{stats.commit_log_max_offset - stats.flushed_offset} B",
            "remainTransientStoreBufferNumbs": _NO_BUFFER_POOL,
            "earliestMessageTimeStamp": str(self._earliest_ms()),
        }

    def _earliest_ms(self) -> int:
        store = self._state.store
        record = (
            store.record_at(store.commit_log_min_offset) if store.commit_log_max_offset > store.commit_log_min_offset else None
        )
        return -1 if record is None else store_timestamp_ms(record)


def _milliseconds_text(value_ms: float) -> str:
    """Two decimals; 0.00 when nothing was measured (NaN)."""
    return "0.00" if math.isnan(value_ms) else f"{value_ms:.2f}"


def _duration_text(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {rest} seconds ]"
