from __future__ import annotations

import dataclasses

from broker_core.config import BrokerConfig, Settings, StoreConfig, setting_text
from broker_core.engine.processors.live_settings import LiveSettings
from broker_core.engine.tables.peer import Peer
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.protocol.names import TRACE_TOPIC
from broker_core.protocol.properties_text import parse_properties

SETTINGS_BYTES_MAX = 1 << 20

_FIXED = {
    "brokerRole": "ASYNC_MASTER",
    "brokerTopicEnable": "true",
    "clusterTopicEnable": "true",
    "compressedRegister": "false",
    "filterServerNums": "0",
    "forceRegister": "true",
    "msgTraceTopicName": TRACE_TOPIC,
    "notifyConsumerIdsChangedEnable": "true",
    "slaveReadEnable": "false",
    "traceOn": "true",
    "transferMsgByHeap": "true",
    "useTLS": "false",
}
"""Fixed settings of this broker, under the keys that tools look for; settings of that key override them."""


class SettingsProcessor:
    """Serves GET_BROKER_CONFIG and UPDATE_BROKER_CONFIG (Source: docs/spec/remoting.md §2.5.2)."""

    def __init__(self, state: BrokerState, settings: LiveSettings) -> None:
        self._state = state
        self._settings = settings

    def read(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """All settings as ``key=value`` lines; none of them is a secret."""
        config = self._state.config
        lines = {
            **_FIXED,
            **_lines(config),
            **_lines(config.store),
            "namesrvAddr": f"{config.bind_host}:{config.name_server_port}",
            "storePathCommitLog": str(config.store.root / "commitlog"),
        }
        body = "".join(f"{key}={value}\n" for key, value in lines.items()).encode()
        return command.reply(ext_fields={"version": emit(self._settings.version.to_json()).decode()}, body=body)

    def change(self, _peer: Peer, command: RemotingCommand) -> RemotingCommand:
        """Change live settings from ``key=value`` lines, all of them or none."""
        if len(command.body) > SETTINGS_BYTES_MAX:
            remark = f"the settings have {len(command.body):,} bytes, allowed are {SETTINGS_BYTES_MAX:,}"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        try:
            values = parse_properties(bytes(command.body).decode())
        except UnicodeDecodeError as error:
            remark = f"string2Properties error: the settings are not UTF-8 text ({error})"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR) from error
        if not values:
            remark = "string2Properties error: the body holds no setting; send lines key=value"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        self._settings.change(values)
        return command.reply()


def _lines(settings: Settings) -> dict[str, str]:
    assert isinstance(settings, BrokerConfig | StoreConfig)
    fields = [field for field in dataclasses.fields(settings) if "key" in field.metadata and not field.metadata["secret"]]
    return {field.metadata["key"]: setting_text(getattr(settings, field.name)) for field in fields}
