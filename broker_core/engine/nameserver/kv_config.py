"""Configuration items that tools store at the name server: namespace → key → value (Source: docs/spec/broker.md §1.6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker_core.engine.store.config_file import ConfigRule, object_in
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol.codes import ResponseCode

KV_FILE = "kvConfig.json"
KV_RULE = ConfigRule("the name server has no configuration items: ordered topics lose their order")

ORDER_TOPIC_NAMESPACE = "ORDER_TOPIC_CONFIG"

ITEMS_MAX = 100_000
"""Bound on all items together; order configurations are one item a topic."""


class KvConfig:
    """Two-level string map. ``changed`` is called after each change, e.g. to write the file."""

    def __init__(self, *, changed: Callable[[], None] = lambda: None) -> None:
        self._table: dict[str, dict[str, str]] = {}
        self._changed = changed

    def put(self, namespace: str, key: str, value: str) -> None:
        """Set an item. Raises `RequestRefusedError` when there are too many."""
        items = self._table.get(namespace, {})
        if key not in items and sum(map(len, self._table.values())) >= ITEMS_MAX:
            remark = f"the name server holds {ITEMS_MAX:,} config items already; delete some first"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR)
        self._table.setdefault(namespace, {})[key] = value
        self._changed()

    def get(self, namespace: str, key: str) -> str | None:
        """An item's value."""
        return self._table.get(namespace, {}).get(key)

    def delete(self, namespace: str, key: str) -> None:
        """Delete an item; does nothing for a missing one."""
        items = self._table.get(namespace, {})
        if items.pop(key, None) is not None:
            if not items and namespace != ORDER_TOPIC_NAMESPACE:
                # The order namespace stays, empty: brokers learn from it that no topic is ordered any more.
                del self._table[namespace]
            self._changed()

    def namespace(self, namespace: str) -> dict[str, str] | None:
        """All items of a namespace; None when it has none."""
        items = self._table.get(namespace)
        return None if items is None else dict(items)

    def to_json(self) -> dict[str, Any]:
        return {"configTable": {namespace: dict(items) for namespace, items in self._table.items()}}

    def load(self, value: Mapping[str, Any]) -> None:
        """Take over ``kvConfig.json``.

        Raises:
            CodecError: It holds something else than texts; nothing is taken over.
        """
        table = object_in(value, "configTable")
        loaded = {namespace: dict(object_in(table, namespace)) for namespace in table}
        if not all(isinstance(item, str) for items in loaded.values() for item in items.values()):
            raise CodecError("an item is no text")
        self._table = loaded
