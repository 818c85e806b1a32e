"""The broker about itself: runtime figures and settings (Source: spec remoting §2.5.2, §2.5.3, broker §11.3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from broker_core.broker.peer import Peer
from broker_core.broker.state import BrokerState
from broker_core.config import BrokerConfig, Settings, StoreConfig
from broker_core.message.record import store_timestamp_ms
from broker_core.nameserver.registration import DataVersion
from broker_core.remoting.codes import MQ_VERSION, version_name
from broker_core.remoting.frame import RemotingCommand
from broker_core.remoting.json_body import emit

_GIB = 1 << 30


class BrokerInfoProcessor:
    """Serves GET_BROKER_RUNTIME_INFO and GET_BROKER_CONFIG."""

    def __init__(self, state: BrokerState) -> None:
        self._state = state
        self._more: list[Callable[[], dict[str, str]]] = []

    def add_figures(self, figures: Callable[[], dict[str, str]]) -> None:
        """Have further figures told among those of the runtime: those of a service that runs beside."""
        self._more.append(figures)

    def runtime(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Figures as text; tools split the rates at spaces."""
        table = {**self._identity(), **self._traffic(), **self._storage()}
        for figures in self._more:
            table.update(figures())
        return command.reply(body=emit({"table": table}))

    def _identity(self) -> dict[str, str]:
        started_ms = self._state.counters.started_ms
        return {
            "bootTimestamp": str(started_ms),
            "brokerVersion": str(MQ_VERSION),
            "brokerVersionDesc": version_name(MQ_VERSION),
            "runtime": _duration_text(max(self._state.clock() - started_ms, 0) // 1000),
            "startAcceptSendRequestTimeStamp": "0",
        }

    def _traffic(self) -> dict[str, str]:
        counters = self._state.counters
        now, today, yesterday = counters.put_messages, counters.day.today_morning, counters.day.yesterday_morning
        rates = {
            key: _rates_text(counters.rates(what))
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
            f"{pool}ThreadPoolQueue{what}": "0"
            for pool in ("send", "pull", "query")
            for what in ("Size", "Capacity", "HeadWaitTimeMills")
        }
        return {
            **rates,
            **queues,
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
            "pageCacheLockTimeMills": "0",
            "dispatchBehindBytes": "0",
        }

    def _storage(self) -> dict[str, str]:
        stats = self._state.store.stats()
        total, used = stats.disk_total_bytes, stats.disk_used_bytes
        ratio = str(used / total) if total else "0.0"
        return {
            "commitLogMinOffset": str(stats.commit_log_min_offset),
            "commitLogMaxOffset": str(stats.commit_log_max_offset),
            "commitLogDiskRatio": ratio,
            "consumeQueueDiskRatio": ratio,
            "commitLogDirCapacity": f"Total : {total / _GIB:.1f} GiB, Free : {(total - used) / _GIB:.1f} GiB.",
            "remainHowManyDataToFlush": f"{stats.commit_log_max_offset - stats.flushed_offset} B",
            "earliestMessageTimeStamp": str(self._earliest_ms()),
        }

    def _earliest_ms(self) -> int:
        store = self._state.store
        record = (
            store.record_at(store.commit_log_min_offset) if store.commit_log_max_offset > store.commit_log_min_offset else None
        )
        return -1 if record is None else store_timestamp_ms(record)

    def settings(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """All settings as ``key=value`` lines."""
        config = self._state.config
        lines = {
            **_setting_lines(config),
            **_setting_lines(config.store),
            "brokerRole": "ASYNC_MASTER",
            "namesrvAddr": f"{config.bind_host}:{config.name_server_port}",
            "enablePropertyFilter": "false",
            "traceTopicEnable": "false",
        }
        version = emit(DataVersion(self._state.counters.started_ms, 0).to_json()).decode()
        body = "".join(f"{key}={value}\n" for key, value in lines.items()).encode()
        return command.reply(ext_fields={"version": version}, body=body)


def _setting_lines(settings: Settings) -> dict[str, str]:
    assert isinstance(settings, BrokerConfig | StoreConfig)
    fields = [field for field in dataclasses.fields(settings) if "key" in field.metadata and not field.metadata["secret"]]
    return {field.metadata["key"]: _setting_text(getattr(settings, field.name)) for field in fields}


def _setting_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rates_text(rates: list[float]) -> str:
    return " ".join(map(str, rates)) or "0.0"


def _duration_text(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days} days, {hours} hours, {minutes} minutes, {rest} seconds ]"
