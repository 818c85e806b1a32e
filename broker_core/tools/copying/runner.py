"""Carries a plan out: settings, then messages queue by queue, then offsets. It resumes at the end of the receipt."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from broker_core.client.admin import AdminClient
from broker_core.errors import RemoteError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.tools.copying.control import CopyControl, CopyStoppedError
from broker_core.tools.copying.plan import GroupPlan, OffsetPlan, TopicPlan
from broker_core.tools.copying.queue_copier import QueueCopier
from broker_core.tools.copying.reading import PartReader
from broker_core.tools.copying.receipt import CopyReceipt
from broker_core.tools.replay.send_batch import RawSender

QUEUES_AT_ONCE = 16
"""Target queues that are written to concurrently."""


class CopyRunner:
    """One run of a copy, on one event loop.

    Args:
        receipt: Open; has the results so far.
        source, target: Started clients; nothing is changed at the source.
        sender: A started producer of the target that creates no topics.
    """

    def __init__(
        self, receipt: CopyReceipt, source: AdminClient, target: AdminClient, sender: RawSender, control: CopyControl
    ) -> None:
        self._receipt = receipt
        self._plan = receipt.plan
        self._source = source
        self._target = target
        self._sender = sender
        self._control = control
        self.offsets_not_set = 0
        self.is_finished = False
        """Whether it reached the end of the plan."""

    async def run(self) -> None:
        """Do the rest of the plan; `CopyControl` knows why it ended early."""
        try:
            for topic in self._plan.topics:
                await self._topic(topic)
            for group in self._plan.groups:
                await self._group(group)
            await self._messages()
            await self._offsets()
            self.is_finished = True
        except CopyStoppedError:
            pass
        finally:
            how = (
                "at the end of the plan" if self.is_finished else self._control.stopped_because or "of a fault of Orbit itself"
            )
            self._receipt.ended(how)
            self._receipt.sync()

    # ---- settings ------------------------------------------------------------------------------------------------------

    async def _topic(self, topic: TopicPlan) -> None:
        if ("topic", topic.target) in self._receipt.settings_done:
            return
        name, control = f"topic {topic.target}", self._control
        if topic.exists and not topic.changes:
            did = "left as it is"
        else:
            await control.through(f"{'changing' if topic.exists else 'creating'} {name}", partial(self._put_topic, topic))
            did = "changed" if topic.exists else "created"
        await control.through(f"route of {name}", partial(self._check_route, topic))
        self._receipt.setting("topic", topic.target, did)

    async def _put_topic(self, topic: TopicPlan) -> None:
        for address in (await self._masters()).values():
            is_there = topic.target in await self._target.topic_configs(address)
            # A topic that somebody made meanwhile is not overwritten; a change applies only where the topic exists.
            if is_there == topic.exists:
                await self._target.put_topic_config(address, topic.target, topic.config)

    async def _masters(self) -> dict[str, str]:
        """Masters of the target; raises `RemoteError` while a broker of the plan is not registered."""
        found = await self._target.master_addresses()
        missing = sorted({part.to_broker for part in self._plan.parts} - found.keys())
        if missing:
            text = f"broker {', '.join(missing)} is not registered at the name server of the target"
            raise RemoteError(text, code=ResponseCode.TOPIC_NOT_EXIST)
        return found

    async def _check_route(self, topic: TopicPlan) -> None:
        there = set((await self._target.readable_route(topic.target)).publish_queues())
        missing = sorted({part.target for part in self._plan.parts if part.topic == topic.source} - there)
        if missing:
            queue, broker = missing[0].queue_id, missing[0].broker_name
            text = f"the name server knows no queue {queue} of {topic.target} on {broker} that may be written"
            raise RemoteError(text, code=ResponseCode.TOPIC_NOT_EXIST)

    async def _group(self, group: GroupPlan) -> None:
        if ("group", group.name) in self._receipt.settings_done:
            return
        did = "left as it is"
        if not group.exists or group.changes:
            did = "changed" if group.exists else "created"
            what = f"{'changing' if group.exists else 'creating'} group {group.name}"
            await self._control.through(what, partial(self._put_group, group))
        self._receipt.setting("group", group.name, did)

    async def _put_group(self, group: GroupPlan) -> None:
        await self._masters()
        await self._target.set_group(group.name, **_group_settings(group.config))

    # ---- messages ------------------------------------------------------------------------------------------------------

    async def _messages(self) -> None:
        copiers = deque(self._copiers())
        workers = [
            asyncio.create_task(self._work(copiers), name="copy of a queue") for _ in range(min(QUEUES_AT_ONCE, len(copiers)))
        ]
        try:
            await asyncio.gather(*workers)
        except BaseException as error:
            # The others finish their running requests; a fault of our own ends them too.
            self._control.stop("of a fault of Orbit itself" if not isinstance(error, CopyStoppedError) else error.message)
            if isinstance(error, asyncio.CancelledError):
                for worker in workers:
                    worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            raise

    @staticmethod
    async def _work(copiers: deque[QueueCopier]) -> None:
        while copiers:
            await copiers.popleft().run()

    def _copiers(self) -> list[QueueCopier]:
        receipt, control = self._receipt, self._control
        readers: dict[MessageQueue, list[PartReader]] = defaultdict(list)
        for part in self._plan.parts:
            offset = receipt.parts[part.number].next_offset
            if offset < part.end:
                readers[part.target].append(PartReader(self._source, part, offset, control))
        return [
            QueueCopier(queue, found, receipt=receipt, target=self._target, sender=self._sender, control=control)
            for queue, found in readers.items()
        ]

    # ---- offsets -------------------------------------------------------------------------------------------------------

    async def _offsets(self) -> None:
        rows: dict[tuple[str, MessageQueue], list[OffsetPlan]] = defaultdict(list)
        for row in self._plan.offsets:
            rows[row.group, self._plan.parts[row.part].target].append(row)
        for (group, queue), shared in rows.items():
            if all((group, row.part) in self._receipt.offsets_done for row in shared):
                continue
            what = f"setting the offset of {group} in queue {queue.queue_id} of {queue.topic}"
            reason = await self._control.through(what, partial(self._set_offset, group, queue, self._position(shared)))
            self._note_offset(shared, reason)

    def _note_offset(self, shared: Sequence[OffsetPlan], reason: str) -> None:
        for row in shared:
            if reason:
                self.offsets_not_set += 1
                self._receipt.offset_not_set(row.group, row.part, reason)
            else:
                self._receipt.offset_set(row.group, row.part, self._position(shared), row.before)

    async def _set_offset(self, group: str, queue: MessageQueue, offset: int) -> str:
        """Set a group's offset; returns why it was not set, or an empty text."""
        members = await self._target.members(group)
        if members:
            return f"{len(members)} members of {group} are online at the target and would overwrite it: end them, and go on"
        await self._target.set_consumer_offset(group, queue, offset)
        return ""

    def _position(self, shared: Sequence[OffsetPlan]) -> int:
        """Next offset of a group in a target queue: of the first copy that it has not consumed, else after the last."""
        states = [self._receipt.parts[row.part] for row in shared]
        found = (state.positions[row.offset] for state, row in zip(states, shared, strict=True))
        known = [at for at in found if at is not None]
        return min(known, default=max(state.target_end for state in states))


def _group_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a broker takes them: attributes are written as changes."""
    settings = {name: value for name, value in config.items() if name != "groupName" and value is not None}
    if settings.get("attributes"):
        settings["attributes"] = {f"+{name.lstrip('+')}": value for name, value in settings["attributes"].items()}
    return settings
