"""Administration of consumer groups: configs, members, subscriptions.

Source: docs/spec/remoting.md §2.5.4, §2.5.6.
"""

from __future__ import annotations

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
