"""Entries of the command palette: pages, topics, groups, actions, and messages by pasted IDs and keys."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from gui.main_window.links import is_link
from gui.main_window.palette import KEY_KIND, LINK_KIND, MESSAGE_KIND, PaletteEntry, has_prefix
from gui.main_window.services import FrameServices
from gui.models.message_ids import is_key, key_filter, pasted_ids
from gui.operations.key_choices import shown as key_text
from gui.words.text import count_text, rate_text, tr
from monitoring.state import are_members_known

if TYPE_CHECKING:
    from monitoring.state import ClusterState

PAGES_OF_ONE_THING = ("topic", "message")
"""Pages of one topic or message, which are found by its name."""


def palette_entries(query: str, frame: FrameServices) -> list[PaletteEntry]:
    entries = [*_link(query, frame), *_message(query, frame), *_key(query, frame), *_pages(frame), *_commands(frame)]
    entries += _clusters(frame)
    state = frame.state
    if state is not None:
        entries += _topics(state, frame) + _groups(state, frame)
    return entries


def _link(query: str, frame: FrameServices) -> list[PaletteEntry]:
    if not is_link(query):
        return []
    title = tr("Open {link}", link=query)
    return [PaletteEntry(LINK_KIND, title, partial(frame.open_link, query), icon="link")]


def _message(query: str, frame: FrameServices) -> list[PaletteEntry]:
    """Messages by ID; the page finds out which form of ID each is."""
    if not frame.has_page("messages"):
        return []
    return [
        PaletteEntry(
            MESSAGE_KIND,
            tr("Open message {id}", id=message_id),
            partial(frame.navigate, "messages", message_id=message_id),
            icon="envelope-simple",
        )
        for message_id in pasted_ids(query)
    ]


def _key(query: str, frame: FrameServices) -> list[PaletteEntry]:
    if not is_key(query) or is_link(query) or has_prefix(query) or not frame.has_page("messages"):
        return []
    title = tr("Find messages with the key {key}", key=query)
    find = partial(frame.navigate, "messages", filter=key_filter(query))
    return [PaletteEntry(KEY_KIND, title, find, icon="magnifying-glass")]


def _pages(frame: FrameServices) -> list[PaletteEntry]:
    return [
        PaletteEntry("page", tr(entry.title), partial(frame.navigate, entry.page_id), icon=entry.icon)
        for entry in frame.app.pages
        if entry.page_id not in PAGES_OF_ONE_THING
    ]


def _commands(frame: FrameServices) -> list[PaletteEntry]:
    registry = frame.actions
    return [
        PaletteEntry(
            "command",
            action.text,
            partial(registry.run, action.action_id),
            detail=tr("asks before it acts") if action.dangerous else tr(action.section),
            icon=action.icon,
            shortcut=key_text(action.shortcut) if action.shortcut else "",
            blocked=action.blocked(),
        )
        for action in registry.actions()
        if not action.action_id.startswith("page.")
    ]


def _clusters(frame: FrameServices) -> list[PaletteEntry]:
    """Other clusters, each in a window of its own, because the current one stays."""
    clusters = frame.app.clusters
    return [
        PaletteEntry(
            "command",
            tr("Open {name} in a window of its own", name=one.name),
            partial(clusters.open_beside, one, ""),
            detail=tr("PRODUCTION") if one.production else "",
            icon="arrow-square-out",
        )
        for one in clusters.known()[1:]
    ]


def _topics(state: ClusterState, frame: FrameServices) -> list[PaletteEntry]:
    if not frame.has_page("topics"):
        return []
    page = "topic" if frame.has_page("topic") else "topics"
    return [
        PaletteEntry(
            "topic",
            name,
            partial(frame.navigate, page, topic=name),
            detail=tr("topic, {rate}", rate=rate_text(float(state.topic_put_rate[index]))),
            icon="stack",
        )
        for index, name in enumerate(state.catalog.topics)
    ]


def _groups(state: ClusterState, frame: FrameServices) -> list[PaletteEntry]:
    if not frame.has_page("consumers"):
        return []
    return [
        PaletteEntry(
            "group",
            name,
            partial(frame.navigate, "consumers", group=name),
            detail=_group_detail(float(state.group_lag_messages[index]), int(state.group_members[index])),
            icon="users-three",
        )
        for index, name in enumerate(state.catalog.groups)
    ]


def _group_detail(lag: float, members: int) -> str:
    if members <= 0 and are_members_known(members):
        return tr("group, offline")
    return tr("group") if math.isnan(lag) else tr("group, lag {lag}", lag=count_text(lag))
