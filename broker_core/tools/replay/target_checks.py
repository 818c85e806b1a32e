"""Checks of a replay at its target before the first message: that its topics exist, and what groups would reject."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.cluster.access import ClusterAccess
from broker_core.counted import counted
from broker_core.errors import OrbitError, UsageError
from broker_core.protocol.names import check_topic
from broker_core.tools.replay.receiving_groups import GROUPS_ASKED_MAX, warnings
from broker_core.tools.replay.survey import ReplaySurvey

if TYPE_CHECKING:
    from broker_core.client.admin import AdminClient


async def check_goal(goal: ClusterAccess, survey: ReplaySurvey, say: Callable[[str], None]) -> None:
    """Refuse missing topics before the first message, because sends would create them; report what groups would reject.

    Raises `UsageError` when a topic does not exist, or has an invalid name; ``say`` gets the warnings.
    """
    topics = survey.topics
    for topic in topics:
        check_topic(topic)
    async with goal.admin() as admin:
        missing = sorted(topics - set(await admin.topics()))
        if missing:
            more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
            raise UsageError(
                f"{goal.name_servers} has no topic {', '.join(missing[:5])}{more}: create it first. Nothing was sent"
            )
        for line in await _audience(admin, survey):
            say(line)


async def _audience(admin: AdminClient, survey: ReplaySurvey) -> list[str]:
    """Warnings about the groups that would get the messages. An error of a broker becomes a warning."""
    target, kinds = survey.target, survey.kinds
    try:
        if target.group:
            found = await admin.subscriptions(target.group)
            lines = list(warnings(target.group, found, kinds, alone=True))
        else:
            lines = []
            for topic in sorted(survey.topics)[:GROUPS_ASKED_MAX]:
                for group in (await admin.groups_of_topic(topic))[:GROUPS_ASKED_MAX]:
                    lines += warnings(group, await admin.subscriptions(group), kinds.of(topic), alone=False)
    except OrbitError as error:
        return [f"warning: what groups would reject is not known: {error.message}"]
    if kinds.left_out:
        left_out = counted(kinds.left_out, "message of a further tag was", "messages of further tags were")
        lines.append(f"warning: {left_out} not held against subscriptions")
    return lines
