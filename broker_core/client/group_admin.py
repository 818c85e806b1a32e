"""Administration of consumer groups: configs, members, what members disagree on, offsets.

Source: docs/spec/remoting.md §2.5.4, §2.5.6, §2.5.7; docs/spec/broker.md §10.4.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.client.instance import ClientInstance
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.filter.rejection import Wanted, wanted_of_table
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, as_message_queue, emit, parse_object
from broker_core.protocol.names import check_group, check_topic

_ANALYZED_AFTER_MS = 120_000
"""Members that started later are not compared: they may not have taken up everything."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a consumer group, as a broker knows it."""

    client_id: str
    address: str
    language: str
    version: int


class GroupAdmin:
    """The part of the admin client that is about groups; every method raises as those of `AdminClient`."""

    _instance: ClientInstance

    @abstractmethod
    async def master_addresses(self) -> dict[str, str]:
        """Broker name → address of its master."""

    async def groups(self) -> dict[str, dict[str, Any]]:
        """Configs of all consumer groups, with RocketMQ's keys; of the first broker that has one."""
        found: dict[str, dict[str, Any]] = {}
        for address in (await self.master_addresses()).values():
            body = await self._object(address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {})
            for name, config in (body.get("subscriptionGroupTable") or {}).items():
                found.setdefault(str(name), config)
        return found

    async def set_group(self, group: str, **settings: bool | int) -> None:
        """Create or change a group on every master.

        Args:
            group: Its name.
            settings: With RocketMQ's keys, such as ``consumeEnable=False`` or ``retryMaxTimes=3``; others take their default.
        """
        body = emit({"groupName": check_group(group), **settings})
        for address in (await self.master_addresses()).values():
            await self._instance.call(address, RemotingCommand(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body))

    async def delete_group(self, group: str, *, offsets_too: bool = False) -> None:
        """Delete a group's config, and its offsets if wanted, on every master."""
        fields = {"groupName": check_group(group), "removeOffset": str(offsets_too).lower()}
        fields["cleanOffset"] = fields["removeOffset"]
        for address in (await self.master_addresses()).values():
            await self._instance.call(address, RemotingCommand(RequestCode.DELETE_SUBSCRIPTIONGROUP, dict(fields)))

    async def groups_of_topic(self, topic: str) -> list[str]:
        """Names of the groups that consume a topic, or have offsets in it, sorted."""
        found: set[str] = set()
        for address in (await self.master_addresses()).values():
            body = await self._object(address, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, {"topic": check_topic(topic)})
            found.update(map(str, body.get("groupList") or ()))
        return sorted(found)

    async def members(self, group: str) -> list[Member]:
        """Members of a consumer group that are online, by client id."""
        found: dict[str, Member] = {}
        for body in await self._connection_lists(group):
            for item in body.get("connectionSet") or ():
                member = Member(item["clientId"], item["clientAddr"], str(item.get("language")), int(item["version"]))
                found[member.client_id] = member
        return [found[client_id] for client_id in sorted(found)]

    async def subscriptions(self, group: str) -> dict[str, Wanted] | None:
        """What a group wants, by topic, as its members told the brokers; None where none of them is connected."""
        found: dict[str, Wanted] | None = None
        for body in await self._connection_lists(group):
            found = (found or {}) | wanted_of_table(body)
        return found

    async def _connection_lists(self, group: str) -> list[dict[str, Any]]:
        """What each broker knows of the members of a group; without the brokers that none is connected to."""
        found: list[dict[str, Any]] = []
        for address in (await self.master_addresses()).values():
            try:
                found.append(await self._object(address, RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}))
            except RemoteError as error:
                if error.context.get("code") != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
        return found

    async def running_info(self, group: str, client_id: str) -> dict[str, Any]:
        """State of one member: ConsumerRunningInfo, asked through a broker."""
        fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
        failure: RemoteError | None = None
        for address in (await self.master_addresses()).values():
            try:
                return await self._object(address, RequestCode.GET_CONSUMER_RUNNING_INFO, fields)
            except RemoteError as error:
                failure = error
        raise failure or RemoteError(f"no broker knows member {client_id} of group {group}", code=1)

    async def subscription_conflicts(self, group: str) -> list[str]:
        """What the members of a group subscribe differently, a sentence each; nothing for a group of one mind.

        All members must want the same topics and expressions, or messages stay or get lost. As the Java tools do, a group whose
        first member is a pull consumer or started less than two minutes before is not compared.

        Source: docs/spec/broker.md §10.3.
        """
        infos = {member.client_id: await self.running_info(group, member.client_id) for member in await self.members(group)}
        return conflicts(infos, now_ms=self._now_ms())

    async def reset_offsets(self, group: str, topic: str, timestamp_ms: int, *, force: bool = True) -> dict[MessageQueue, int]:
        """Have the online members of a group go on at a time; -1 is the end.

        Args:
            group: Consumer group.
            topic: Topic.
            timestamp_ms: Since the epoch.
            force: Also forward; without it only offsets behind the present one are set.

        Returns:
            Where each queue goes on.
        """
        fields = {
            "topic": check_topic(topic),
            "group": check_group(group),
            "timestamp": str(timestamp_ms),
            "isForce": str(force).lower(),
        }
        found: dict[MessageQueue, int] = {}
        for address in (await self.master_addresses()).values():
            body = await self._object(address, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, fields)
            for key, offset in (body.get("offsetTable") or {}).items():
                queue = as_message_queue(key)
                if queue is not None:
                    found[queue] = int(offset)
        return found

    async def clone_offsets(self, source: str, target: str, topic: str, *, offline_only: bool = True) -> None:
        """Give a group the offsets of another in a topic."""
        fields = {
            "srcGroup": check_group(source),
            "destGroup": check_group(target),
            "topic": check_topic(topic),
            "offline": str(offline_only).lower(),
        }
        for address in (await self.master_addresses()).values():
            await self._instance.call(address, RemotingCommand(RequestCode.CLONE_GROUP_OFFSET, dict(fields)))

    @abstractmethod
    def _now_ms(self) -> int:
        """Milliseconds since the epoch."""

    async def _object(self, address: str, code: RequestCode, fields: Mapping[str, str]) -> dict[Any, Any]:
        response = await self._instance.call(address, RemotingCommand(code, dict(fields)))
        return parse_object(response.body)


def conflicts(infos: Mapping[str, Mapping[str, Any]], *, now_ms: int) -> list[str]:
    """Compare what members subscribe (Source: docs/spec/broker.md §10.4).

    Args:
        infos: Client id → ConsumerRunningInfo.
        now_ms: Milliseconds since the epoch.
    """
    members = sorted(infos)
    if not members:
        return []
    first = infos[members[0]].get("properties") or {}
    started_ms = int(first.get("PROP_CONSUMER_START_TIMESTAMP") or 0)
    if first.get("PROP_CONSUME_TYPE") != "CONSUME_PASSIVELY" or now_ms - started_ms < _ANALYZED_AFTER_MS:
        return []
    found = []
    before: tuple[str, frozenset[str]] | None = None
    for client_id in members:
        wanted = frozenset(f"{item['topic']}@{item['subString']}" for item in infos[client_id].get("subscriptionSet") or ())
        if not wanted:
            found.append(f"{client_id} subscribes to nothing")
        if before is not None and wanted != before[1]:
            only = [f"{before[0]} only: {', '.join(sorted(before[1] - wanted)) or 'nothing'}"]
            only.append(f"{client_id} only: {', '.join(sorted(wanted - before[1])) or 'nothing'}")
            found.append("; ".join(only))
        before = client_id, wanted
    return found
