"""Administration of consumer groups: configs, members, differences between members' subscriptions.

Source: docs/spec/remoting.md §2.5.4, §2.5.6; docs/spec/broker.md §10.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.client.admin_requests import AdminRequests
from broker_core.errors import RemoteError
from broker_core.protocol.admin.connections import GroupMember, read_members, read_subscriptions
from broker_core.protocol.admin.groups import GroupConfig, read_all_group_settings, read_groups_of_topic
from broker_core.protocol.admin.running import RunningInfo, read_running_info
from broker_core.protocol.admin.values import Body
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.filter.rejection import Wanted
from broker_core.protocol.json_body import emit
from broker_core.protocol.names import check_group, check_readable_topic

_ANALYZED_AFTER_MS = 120_000
"""Members that started later are not compared, because they may not have all their subscriptions yet."""


class GroupAdmin(AdminRequests):
    """Requests of the admin client about groups."""

    async def groups(self) -> dict[str, GroupConfig]:
        """Settings of all consumer groups; of the first broker that has one."""
        found: dict[str, GroupConfig] = {}
        for address in (await self.master_addresses()).values():
            table = read_all_group_settings(await self._body(address, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG))
            found = table | found
        return found

    async def set_group(self, group: str, **settings: bool | int) -> None:
        """Create or change a group on every master.

        ``settings`` have RocketMQ's keys, such as ``consumeEnable=False`` or ``retryMaxTimes=3``; others take their default.
        """
        body = emit({"groupName": check_group(group), **settings})
        await self._on_masters(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)

    async def delete_group(self, group: str, *, offsets_too: bool = False) -> None:
        """Delete a group's config, and its offsets if ``offsets_too``, on every master."""
        fields = {"groupName": check_group(group), "removeOffset": str(offsets_too).lower()}
        fields["cleanOffset"] = fields["removeOffset"]
        await self._on_masters(RequestCode.DELETE_SUBSCRIPTIONGROUP, fields)

    async def groups_of_topic(self, topic: str) -> list[str]:
        """Names of the groups that consume a topic, or have offsets in it, sorted."""
        found: set[str] = set()
        for address in (await self.master_addresses()).values():
            fields = {"topic": check_readable_topic(topic)}
            found.update(read_groups_of_topic(await self._body(address, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, fields)))
        return sorted(found)

    async def members(self, group: str) -> list[GroupMember]:
        """Members of a consumer group that are online, by client id."""
        found = {member.client_id: member for body in await self._connections(group) for member in read_members(body)}
        return [found[client_id] for client_id in sorted(found)]

    async def subscriptions(self, group: str) -> dict[str, Wanted] | None:
        """Subscriptions of a group, by topic, as its members report them; None when no member is connected."""
        found: dict[str, Wanted] | None = None
        for body in await self._connections(group):
            found = (found or {}) | read_subscriptions(body)
        return found

    async def _connections(self, group: str) -> list[Body]:
        """The member lists of a group, from each broker that a member is connected to."""
        found: list[Body] = []
        for address in (await self.master_addresses()).values():
            try:
                found.append(await self._body(address, RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group}))
            except RemoteError as error:
                if error.context.get("code") != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
        return found

    async def running_info(self, group: str, client_id: str) -> RunningInfo:
        """State of one member, requested through a broker."""
        fields = {"consumerGroup": group, "clientId": client_id, "jstackEnable": "false"}
        failure: RemoteError | None = None
        for address in (await self.master_addresses()).values():
            try:
                body = await self._body(address, RequestCode.GET_CONSUMER_RUNNING_INFO, fields)
            except RemoteError as error:
                failure = error
            else:
                return read_running_info(client_id, body)
        raise failure or RemoteError(f"no broker knows member {client_id} of group {group}", code=1)

    async def subscription_conflicts(self, group: str) -> list[str]:
        """Differences between the subscriptions of a group's members, a sentence each; empty if they are equal.

        All members must have the same topics and expressions, or messages stay unconsumed or get lost. As in the Java tools, a
        group whose first member is a pull consumer or started less than two minutes before is not compared.

        Source: docs/spec/broker.md §10.3.
        """
        infos = {member.client_id: await self.running_info(group, member.client_id) for member in await self.members(group)}
        return conflicts(infos, now_ms=self._clock())


def conflicts(infos: Mapping[str, RunningInfo], *, now_ms: int) -> list[str]:
    """Differences between members' subscriptions, from their infos by client id (Source: docs/spec/broker.md §10.4)."""
    members = sorted(infos)
    if not members:
        return []
    first = infos[members[0]]
    if not first.is_push or now_ms - max(first.start_ms, 0) < _ANALYZED_AFTER_MS:
        return []
    found = []
    before: tuple[str, frozenset[str]] | None = None
    for client_id in members:
        wanted = frozenset(f"{topic}@{expression}" for topic, expression in infos[client_id].subscriptions)
        if not wanted:
            found.append(f"{client_id} subscribes to nothing")
        if before is not None and wanted != before[1]:
            only = [f"{before[0]} only: {', '.join(sorted(before[1] - wanted)) or 'nothing'}"]
            only.append(f"{client_id} only: {', '.join(sorted(wanted - before[1])) or 'nothing'}")
            found.append("; ".join(only))
        before = client_id, wanted
    return found
