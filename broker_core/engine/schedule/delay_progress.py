"""The delivered offset of each delay level: the table of ``delayOffset.json``.

    {"dataVersion":{…},"offsetTable":{"1":10,"3":9}}        level → next offset of queue level-1 of SCHEDULE_TOPIC_XXXX

``dataVersion`` exists if a 5.x broker wrote the file before. Pure state; writes no file.

Source: docs/spec/broker.md §3.5, docs/spec/store.md §7.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.engine.nameserver.registration import DataVersion
from broker_core.engine.store.config_file import ConfigRule, object_in, whole_number

PROGRESS_FILE = "delayOffset.json"
PROGRESS_RULE = ConfigRule(
    "every delayed message that is kept is delivered again",
    by_hand='{"offsetTable":{"LEVEL":NEXT OFFSET}}',
)


class DelayProgress:
    """Level → next queue offset to deliver.

    Attributes:
        offsets: As reached now.
        saved: Offsets that may be written: all earlier copies are on disk.
    """

    def __init__(self) -> None:
        self.offsets: dict[int, int] = {}
        self.saved: dict[int, int] = {}
        self._version: DataVersion | None = None

    def load(self, value: Mapping[str, Any]) -> None:
        """Load ``delayOffset.json``.

        Raises:
            CodecError: A level or an offset is not a number; nothing is loaded.
        """
        table, version = object_in(value, "offsetTable"), DataVersion.from_json(value.get("dataVersion"))
        self.offsets = {whole_number(level, "a level"): whole_number(at, "an offset") for level, at in table.items()}
        self.saved = dict(self.offsets)
        if "dataVersion" in value:
            self._version = version

    def save(self, offsets: Mapping[int, int], now_ms: int) -> None:
        """Record that the copies of all messages before ``offsets`` are on disk."""
        self.saved = dict(offsets)
        if self._version is not None:
            self._version = self._version.next(now_ms)

    def to_json(self) -> dict[str, Any]:
        """Content of ``delayOffset.json``."""
        value: dict[str, Any] = {"offsetTable": {str(level): self.saved[level] for level in sorted(self.saved)}}
        if self._version is not None:
            value["dataVersion"] = {**self._version.to_json(), "stateVersion": self._version.state_version}
        return value
