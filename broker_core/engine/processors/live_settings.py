"""Settings that may be changed while the broker runs, and the file that keeps the changes.

A fixed list (``live`` in `broker_core.config`) names them: numbers within bounds, switches, hours. No path, address, name,
class or command can be set over the network, and no unknown key.

The file ``config/broker.properties`` of the store holds the changes. A start option that differs from the default overrides
the file.

Source: docs/spec/broker.md §16.2, §16.3.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from broker_core.config import BrokerConfig, live_settings, setting_text, setting_value, with_settings
from broker_core.engine.nameserver.registration import DataVersion
from broker_core.engine.processors.refused_settings import why_not_live
from broker_core.engine.store.config_file import ConfigRule
from broker_core.engine.store.settings_check import check_settings
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError, UsageError
from broker_core.protocol.codes import ResponseCode

logger = logging.getLogger(__name__)

SETTINGS_FILE = "broker.properties"
SETTINGS_RULE = ConfigRule("settings that were changed while a broker ran have their defaults")
_FAULT_CHARACTERS_MAX = 300

BLACK_LIST = frozenset({"brokerConfigPath", "rocketmqHome", "configBlackList", "kvConfigPath", "configStorePath"})
"""Keys that a real broker names in its black list; they get its remark."""


class LiveSettings:
    """Changes settings of a running broker: ``config`` of ``state``. ``changed`` is called after each change."""

    def __init__(self, state: BrokerState, *, changed: Callable[[], None] = lambda: None) -> None:
        self._state = state
        self._changed = changed
        self._kept: dict[str, str] = {}
        self._listeners: list[Callable[[BrokerConfig], None]] = []
        self.version = DataVersion(state.clock(), 0)

    def add_listener(self, listener: Callable[[BrokerConfig], None]) -> None:
        """Call ``listener`` with the settings after each change, for an owner of a copy."""
        self._listeners.append(listener)

    def change(self, values: Mapping[str, str]) -> None:
        """Change settings, all of them or none. Raises `RequestRefusedError` (NO_PERMISSION: a key is not on the list)."""
        for key in values:
            if key in BLACK_LIST:
                raise RequestRefusedError("Can not update config in black list.", code=ResponseCode.NO_PERMISSION)
            if key not in live_settings():
                remark = (
                    f"the setting “{key[:100]}” cannot be changed while the broker runs: {why_not_live(key)}; these can: "
                    f"{', '.join(sorted(live_settings()))}"
                )
                raise RequestRefusedError(remark, code=ResponseCode.NO_PERMISSION)
        try:
            config = _checked(self._state.config, values)
        except UsageError as error:
            raise RequestRefusedError(error.message, code=ResponseCode.SYSTEM_ERROR) from error
        self._kept |= {key: setting_text(setting_value(config, key)) for key in values}
        self.version = self.version.next(self._state.clock())
        self._apply(config)
        self._changed()

    def _apply(self, config: BrokerConfig) -> None:
        self._state.config = config
        self._state.store.reconfigure(config.store)
        self._state.topics.reconfigure(config)
        self._state.groups.auto_create = config.auto_create_group
        self._state.groups.groups_max = config.auto_create_groups_max
        for listener in self._listeners:
            listener(config)

    # ---- broker.properties ----

    def to_json(self) -> dict[str, Any]:
        """Content of ``broker.properties``: the settings that were changed."""
        return dict(self._kept)

    def load(self, values: Mapping[str, Any]) -> list[str]:
        """Take over ``broker.properties``; returns the faults of invalid values, which are left out."""
        config, default = self._state.config, BrokerConfig()
        left_out: list[str] = []
        for key, value in values.items():
            text = str(value)
            if key not in live_settings():
                logger.warning("%s: “%s” is no setting that can be changed at run time; it is ignored", SETTINGS_FILE, key)
                continue
            given = setting_value(config, key)
            if given != setting_value(default, key) and setting_text(given) != text:
                logger.info("%s: %s=%s gives way to %s, given at start", SETTINGS_FILE, key, text, setting_text(given))
                continue
            try:
                config = _checked(config, {key: text})
            except UsageError as error:
                left_out.append(error.message[:_FAULT_CHARACTERS_MAX])
                continue
            self._kept[key] = text
        if config != self._state.config:
            self._apply(config)
        return left_out


def _checked(config: BrokerConfig, values: Mapping[str, str]) -> BrokerConfig:
    new = with_settings(config, values)
    for key in values:
        bounds = live_settings()[key]
        number = setting_value(new, key)
        if isinstance(bounds, tuple) and isinstance(number, int) and not bounds[0] <= number <= bounds[1]:
            raise UsageError(f"{key} takes a number from {bounds[0]:,} to {bounds[1]:,}, not {number:,}", key=key)
    check_settings(new.store)
    return new
