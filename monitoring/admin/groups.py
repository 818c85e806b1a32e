"""Requests that read and change consumer groups over remoting. Pure.

Source: docs/spec/remoting.md §2.5.4 (200, 207, 352), §4.7.
"""

from __future__ import annotations

from broker_core.api import GroupConfig, RequestCode, group_body
from broker_core.worker.questions.administration import AskBroker

RETRY_QUEUES_MAX = 4_096
RETRY_TIMES_MAX = 1_000


def ask_settings(group: str) -> AskBroker:
    """Request a group's config. Answer: `read_group_settings`."""
    return AskBroker(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group})


def change_settings(settings: GroupConfig) -> AskBroker:
    return AskBroker(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group_body(settings))


def delete_request(group: str, *, with_offsets: bool) -> AskBroker:
    """Request that deletes a group's config and, if wanted, its offsets; 4.x and 5.x name that field differently."""
    wanted = str(with_offsets).lower()
    return AskBroker(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group, "removeOffset": wanted, "cleanOffset": wanted})
