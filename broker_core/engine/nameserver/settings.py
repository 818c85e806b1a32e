"""Settings of the name server: switches, changed by UPDATE_NAMESRV_CONFIG, and fixed ones, which are shown and refused.

Source: docs/spec/remoting.md §2.7.5, docs/spec/broker.md §16.2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker_core.engine.store.config_file import ConfigRule
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.properties_text import format_properties, parse_properties

NAME_SERVER_FILE = "namesrv.properties"
NAME_SERVER_RULE = ConfigRule("the switches of the name server have their defaults")

ORDER_MESSAGES = "orderMessageEnable"
ALL_TOPIC_LIST = "enableAllTopicList"
TOPIC_LIST = "enableTopicList"
ORDER_TO_BROKERS = "returnOrderTopicConfigToBroker"

_DEFAULTS = {ORDER_MESSAGES: False, ALL_TOPIC_LIST: True, TOPIC_LIST: True, ORDER_TO_BROKERS: True}

FIXED_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "it takes effect at a start only": {"bindAddress": "127.0.0.1", "listenPort": "9876"},
    "there is no controller, no acting master and no heartbeat that stands for one": {
        "enableControllerInNamesrv": "false", "notifyMinBrokerIdChanged": "false", "supportActingMaster": "false",
    },
    "requests are served in the order in which they arrive, without thread pools and their queues": {
        "clientRequestThreadPoolNums": "8", "clientRequestThreadPoolQueueCapacity": "50000", "defaultThreadPoolNums": "16",
        "defaultThreadPoolQueueCapacity": "10000", "unRegisterBrokerQueueCapacity": "3000",
    },
    "connections have fixed bounds": {
        "serverAsyncSemaphoreValue": "64", "serverCallbackExecutorThreads": "0", "serverChannelMaxIdleTimeSeconds": "120",
        "serverNettyWorkerGroupEnable": "true", "serverOnewaySemaphoreValue": "256",
        "serverPooledByteBufAllocatorEnable": "true", "serverSelectorThreads": "3", "serverSocketBacklog": "1024",
        "serverSocketRcvBufSize": "0", "serverSocketSndBufSize": "0", "serverWorkerThreads": "8",
        "useEpollNativeSelector": "false", "writeBufferHighWaterMark": "0", "writeBufferLowWaterMark": "0",
    },
    "the behaviour is fixed": {
        "clusterTest": "false", "deleteTopicWithBrokerRegistration": "false", "enableShutdownGracefully": "false",
        "needWaitForService": "false", "productEnvName": "center", "scanNotActiveBrokerInterval": "5000",
        "shutdownWaitTimeSeconds": "30", "waitSecondsForService": "45",
    },
}  # fmt: skip
"""Reason for which a setting is refused → key → value that is shown: where Orbit has no counterpart, RocketMQ's default."""

BLACK_LIST = frozenset({"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"})
"""Keys that a real name server has in its black list, and the folder of its program; they get its remark."""

_CHANGES_CHARACTERS_MAX = 1 << 20


class NameServerSettings:
    """The switches. ``changed`` is called after each change, e.g. to write the file."""

    def __init__(self, *, changed: Callable[[], None] = lambda: None) -> None:
        self._values = dict(_DEFAULTS)
        self._more = {key: value for group in FIXED_SETTINGS.values() for key, value in group.items()}
        self._changed = changed

    def show(self, key: str, value: str) -> None:
        """Show the value of a setting that cannot be set."""
        self._more[key] = value

    def is_on(self, key: str) -> bool:
        return self._values[key]

    def to_text(self) -> str:
        return format_properties({**self._more, **self.to_json()})

    def change(self, text: str) -> None:
        """Set switches from ``key=value`` lines, all of them or none.

        Raises:
            RequestRefusedError: Too much text, a key that cannot be set (NO_PERMISSION), or a value other than true and false.
        """
        if len(text) > _CHANGES_CHARACTERS_MAX:
            remark = f"the settings have {len(text):,} characters, allowed are {_CHANGES_CHARACTERS_MAX:,}"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        values = parse_properties(text)
        if not values:
            raise RequestRefusedError("string2Properties error: send lines key=value", code=ResponseCode.SYSTEM_ERROR)
        for key, value in values.items():
            if key in BLACK_LIST:
                raise RequestRefusedError("Can not update config in black list.", code=ResponseCode.NO_PERMISSION)
            if key not in _DEFAULTS:
                remark = (
                    f"the setting “{key[:100]}” cannot be changed: {_why_fixed(key)}; these can: {', '.join(sorted(_DEFAULTS))}"
                )
                raise RequestRefusedError(remark, code=ResponseCode.NO_PERMISSION)
            if value.lower() not in ("true", "false"):
                remark = f"{key} takes true or false, not “{value[:100]}”"
                raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        self.load(values)
        self._changed()

    def to_json(self) -> dict[str, Any]:
        return {key: str(value).lower() for key, value in self._values.items()}

    def load(self, values: Mapping[str, Any]) -> None:
        """Take over ``namesrv.properties``; what it does not know keeps its default.

        Raises:
            CodecError: A value is neither true nor false; nothing is taken over.
        """
        words = {key: str(values[key]).lower() for key in _DEFAULTS if key in values}
        if wrong := [key for key, word in words.items() if word not in ("true", "false")]:
            raise CodecError(f"{wrong[0]} is neither true nor false")
        self._values |= {key: word == "true" for key, word in words.items()}


def _why_fixed(key: str) -> str:
    reasons = (reason for reason, group in FIXED_SETTINGS.items() if key in group)
    return next(reasons, "neither 4.9 nor 5.3 has a setting of this name")
