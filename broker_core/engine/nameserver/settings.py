"""Switches of the name server, changed over the network by UPDATE_NAMESRV_CONFIG. No other key can be set.

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

_DEFAULTS = {ORDER_MESSAGES: False, ALL_TOPIC_LIST: True, TOPIC_LIST: True}

BLACK_LIST = frozenset({"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"})
"""Keys that a real name server names in its black list; they get its remark."""

_CHANGES_BYTES_MAX = 1 << 20


class NameServerSettings:
    """The switches. ``changed`` is called after each change, e.g. to write the file."""

    def __init__(self, *, changed: Callable[[], None] = lambda: None) -> None:
        self._values = dict(_DEFAULTS)
        self._more: dict[str, str] = {}
        self._changed = changed

    def show(self, key: str, value: str) -> None:
        """Show a further setting, which cannot be set."""
        self._more[key] = value

    def is_on(self, key: str) -> bool:
        """Whether a switch is on."""
        return self._values[key]

    def to_text(self) -> str:
        """All settings as ``key=value`` lines."""
        return format_properties({**self._more, **self.to_json()})

    def change(self, text: str) -> None:
        """Set switches from ``key=value`` lines, all of them or none.

        Raises:
            RequestRefusedError: A key that cannot be set (NO_PERMISSION), or a value that is neither true nor false.
        """
        values = parse_properties(text) if len(text) <= _CHANGES_BYTES_MAX else {}
        if not values:
            raise RequestRefusedError("string2Properties error: send lines key=value", code=ResponseCode.SYSTEM_ERROR)
        for key, value in values.items():
            if key in BLACK_LIST:
                raise RequestRefusedError("Can not update config in black list.", code=ResponseCode.NO_PERMISSION)
            if key not in _DEFAULTS:
                remark = f"the setting “{key[:100]}” cannot be changed; these can: {', '.join(sorted(_DEFAULTS))}"
                raise RequestRefusedError(remark, code=ResponseCode.NO_PERMISSION)
            if value.lower() not in ("true", "false"):
                remark = f"{key} takes true or false, not “{value[:100]}”"
                raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        self.load(values)
        self._changed()

    def to_json(self) -> dict[str, Any]:
        """Content of ``namesrv.properties``."""
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
