"""What the command palette offers at a moment: pages, topics, groups, actions, and messages by what was pasted."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from gui.main_window.links import is_link
from gui.main_window.palette import KEY_KIND, LINK_KIND, MESSAGE_KIND, PaletteEntry, has_prefix
from gui.main_window.shortcut_sheet import key_text
from gui.models.message_ids import is_key, key_filter, pasted_ids
from gui.words.text import count_text, rate_text, tr
from monitoring.state import MEMBERS_UNREAD

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow
    from monitoring.state import ClusterState

PAGES_OF_ONE_THING = ("topic", "message")
"""Pages that show nothing by themselves: their topics and messages are found by name."""


def palette_entries(query: str, window: MainWindow) -> list[PaletteEntry]:
    """Everything that can be chosen now."""
    entries = [*_link(query, window), *_message(query, window), *_key(query, window), *_pages(window), *_commands(window)]
    entries += _clusters(window)
    state = window.newest_state
    if state is not None:
        entries += _topics(state, window) + _groups(state, window)
    return entries


def _link(query: str, window: MainWindow) -> list[PaletteEntry]:
    if not is_link(query):
        return []
    title = tr("Open {link}", link=query)
    return [PaletteEntry(LINK_KIND, title, partial(window.open_link, query), icon="link")]


def _message(query: str, window: MainWindow) -> list[PaletteEntry]:
    """The messages of IDs; the page finds out which form of ID each is."""
    if not _has_page(window, "messages"):
        return []
    return [
        PaletteEntry(
            MESSAGE_KIND,
            tr("Open message {id}", id=message_id),
            partial(window.navigate, "messages", message_id=message_id),
            icon="envelope-simple",
        )
        for message_id in pasted_ids(query)
    ]


def _key(query: str, window: MainWindow) -> list[PaletteEntry]:
    if not is_key(query) or is_link(query) or has_prefix(query) or not _has_page(window, "messages"):
        return []
    title = tr("Find messages with the key {key}", key=query)
    find = partial(window.navigate, "messages", filter=key_filter(query))
    return [PaletteEntry(KEY_KIND, title, find, icon="magnifying-glass")]


def _pages(window: MainWindow) -> list[PaletteEntry]:
    return [
        PaletteEntry("page", tr(entry.title), partial(window.navigate, entry.page_id), icon=entry.icon)
        for entry in window.page_entries
        if entry.page_id not in PAGES_OF_ONE_THING
    ]


def _commands(window: MainWindow) -> list[PaletteEntry]:
    registry = window.actions_known
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


def _clusters(window: MainWindow) -> list[PaletteEntry]:
    """Other clusters, each in a window of its own: what is shown stays."""
    clusters = window.services.clusters
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


def _topics(state: ClusterState, window: MainWindow) -> list[PaletteEntry]:
    if not _has_page(window, "topics"):
        return []
    page = "topic" if _has_page(window, "topic") else "topics"
    return [
        PaletteEntry(
            "topic",
            name,
            partial(window.navigate, page, topic=name),
            detail=tr("topic, {rate}", rate=rate_text(float(state.topic_put_rate[index]))),
            icon="stack",
        )
        for index, name in enumerate(state.catalog.topics)
    ]


def _groups(state: ClusterState, window: MainWindow) -> list[PaletteEntry]:
    if not _has_page(window, "consumers"):
        return []
    return [
        PaletteEntry(
            "group",
            name,
            partial(window.navigate, "consumers", group=name),
            detail=_group_detail(float(state.group_lag_messages[index]), int(state.group_members[index])),
            icon="users-three",
        )
        for index, name in enumerate(state.catalog.groups)
    ]


def _group_detail(lag: float, members: int) -> str:
    if members <= 0 and members != MEMBERS_UNREAD:
        return tr("group, offline")
    return tr("group") if math.isnan(lag) else tr("group, lag {lag}", lag=count_text(lag))


def _has_page(window: MainWindow, page_id: str) -> bool:
    return any(entry.page_id == page_id for entry in window.page_entries)
