"""Settings of topics and offsets of groups as whole tables, broker by broker: for whoever copies them elsewhere.

Source: docs/spec/remoting.md §2.5.1 (topics), §2.5.5 (offsets).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker_core.client.instance import ClientInstance
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonBodyError, parse_object
from broker_core.protocol.names import AUTO_CREATE_TOPIC, check_topic

_NO_OFFSETS = "No consumer offset in this broker"


class TopicAdmin:
    """The part of the admin client that is about tables of one broker; every method raises as those of `AdminClient`."""

    _instance: ClientInstance

    async def topic_configs(self, address: str) -> dict[str, dict[str, Any]]:
        """Settings of all topics of one broker, with RocketMQ's keys."""
        return await self._table(address, RequestCode.GET_ALL_TOPIC_CONFIG, "topicConfigTable")

    async def put_topic_config(self, address: str, topic: str, config: Mapping[str, Any]) -> None:
        """Create or change a topic on one broker.

        Args:
            address: Of the broker.
            topic: Its name there.
            config: As `topic_configs` gives it; a missing part takes its default. Attributes are added, 5.x brokers only.
        """
        attributes = ",".join(f"+{name}={value}" for name, value in sorted((config.get("attributes") or {}).items()))
        fields = {
            "topic": check_topic(topic),
            "defaultTopic": AUTO_CREATE_TOPIC,
            "readQueueNums": str(config["readQueueNums"]),
            "writeQueueNums": str(config["writeQueueNums"]),
            "perm": str(config.get("perm", 6)),
            "topicFilterType": str(config.get("topicFilterType") or "SINGLE_TAG"),
            "topicSysFlag": str(config.get("topicSysFlag", 0)),
            "order": str(bool(config.get("order"))).lower(),
            **({"attributes": attributes} if attributes else {}),
        }
        await self._instance.call(address, RemotingCommand(RequestCode.UPDATE_AND_CREATE_TOPIC, fields))

    async def group_configs(self, address: str) -> dict[str, dict[str, Any]]:
        """Settings of all consumer groups of one broker, with RocketMQ's keys."""
        return await self._table(address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, "subscriptionGroupTable")

    async def offsets_of_groups(self, address: str) -> dict[tuple[str, str], dict[int, int]]:
        """(group, topic) → queue → offset of one broker; only what groups have committed."""
        try:
            table = await self._table(address, RequestCode.GET_ALL_CONSUMER_OFFSET, "offsetTable")
        except RemoteError as error:
            # Brokers refuse, instead of answering with an empty table.
            if _NO_OFFSETS not in error.message:
                raise
            return {}
        found: dict[tuple[str, str], dict[int, int]] = {}
        for key, queues in table.items():
            topic, at, group = key.partition("@")
            try:
                if at:
                    found[group, topic] = {int(queue): int(offset) for queue, offset in queues.items()}
            except (TypeError, ValueError) as error:
                raise JsonBodyError(f"{address} sent offsets of {key[:100]} that are none") from error
        return found

    async def _table(self, address: str, code: RequestCode, name: str) -> dict[str, dict[Any, Any]]:
        response = await self._instance.call(address, RemotingCommand(code, {}))
        try:
            table = parse_object(response.body).get(name) or {}
        except JsonBodyError as error:
            raise JsonBodyError(f"{address} does not answer as a broker does: {error.message}") from error
        if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
            raise JsonBodyError(f"{address} answered with a {name} that is none")
        return {str(key): row for key, row in table.items()}
