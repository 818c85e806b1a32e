"""Actions on topics: send to one, delete it; `TopicsExport` writes settings to a file that can be imported again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from broker_core.api import TopicConfig
from gui.models.topics import TopicRow, topic_group_rows
from gui.operations.background import write_file
from gui.operations.requests import RequestChain
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog, ActionPlan, read_only_reason
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.messages.sending import show_sent
from gui.views.page import PageContext, PageView
from gui.widgets.popups import ask_to_save, opened
from gui.widgets.said import said_button
from gui.words.error_words import kept_line
from gui.words.text import count_text, tr
from monitoring.admin.topic_files import topics_csv, topics_json
from monitoring.admin.topics import delete_requests
from monitoring.sources.base import ClusterSource
from monitoring.state import ClusterState

GROUPS_NAMED = 6


def send_dialog(context: PageContext, state: ClusterState | None, topic: str, parent: QWidget) -> ComposeDialog:
    """Open the dialog that sends a message to a topic; its receipt leads to the sent message."""
    dialog = ComposeDialog(context.source, context.theme, state, topic=topic, settings=context.settings, parent=parent)
    dialog.shown_wanted.connect(partial(show_sent, context))
    return opened(dialog)


def delete_fault(topic: TopicRow, state: ClusterState) -> str:
    """Why a topic cannot be deleted; empty when it can."""
    row = state.catalog.topics.index(topic.name) if topic.name in state.catalog.topics else -1
    return tr("The broker needs this topic itself.") if row >= 0 and state.catalog.topic_is_system[row] else ""


def ask_delete(page: PageView, topic: TopicRow, state: ClusterState, deleted: Callable[[str], None]) -> ActionDialog | None:
    """Open the dialog that deletes a topic, or notify why it cannot be deleted; ``deleted`` gets the name."""
    context = page.context
    fault = delete_fault(topic, state)
    if fault:
        context.notify(fault, state=State.WARNING)
        return None
    dialog = _delete_dialog(context.source, context.theme, topic, state, page)
    dialog.succeeded.connect(lambda _answers: deleted(topic.name))
    return opened(dialog)


def _delete_dialog(
    source: ClusterSource, theme: ThemeManager, topic: TopicRow, state: ClusterState, parent: QWidget
) -> ActionDialog:
    """Ask whether to delete a topic, with its consequences."""
    groups = topic_group_rows(state, topic.name)
    names = ", ".join(f"{group.name} ({count_text(group.lag_messages)})" for group in groups[:GROUPS_NAMED])
    online = sum(max(0, group.members) for group in groups)
    plan = ActionPlan(
        title=tr("Delete topic {topic}", topic=topic.name),
        effects=[
            tr("Its queues are removed, and no client can send to it or consume from it any more."),
            tr("The positions of its groups are removed with it. Its records stay in the commit log until that is cleaned, but "
               "nothing leads to them.")
        ],
        verb=tr("Delete topic"),
        start=lambda: RequestChain(source, delete_requests(topic.name)),
        facts=[
            (tr("Messages kept"), count_text(topic.kept_messages)),
            (tr("Groups and their lag"), names + ("…" if len(groups) > GROUPS_NAMED else "") or tr("none")),
            (tr("Clients online in them"), count_text(online))
        ],
        warning=_warning(topic, online),
        typed=topic.name,
        is_destructive=True,
        refusal=read_only_reason(source),
    )  # fmt: skip
    return ActionDialog(plan, theme, parent)


def _warning(topic: TopicRow, online: int) -> str:
    if topic.put_rate > 0:
        return tr("Producers are sending to it now: where topics are created by the first message, it comes back empty.")
    if online:
        return tr("Consumers are subscribed to it now. They go on asking for it.")
    return tr("This cannot be taken back.") if topic.kept_messages != 0 else ""


class TopicsExport(QObject):
    """A button with its dialog."""

    def __init__(self, context: PageContext, topics: Callable[[], list[TopicConfig]], page: QWidget) -> None:
        super().__init__(page)
        self._context = context
        self._topics = topics
        self._page = page
        self.button = said_button(
            context.theme, "arrow-square-out", on_click=self.ask_path, tip="Export the settings of the topics that are listed…"
        )

    def ask_path(self) -> QFileDialog | None:
        """Ask for the file; None where no settings are known."""
        if not self._topics():
            self._context.notify(lambda: tr("No settings of topics are known that could be exported."), state=State.INFO)
            return None
        kinds = ["JSON (*.json)", "CSV (*.csv)"]
        return ask_to_save(self._page, tr("Export settings of topics"), "topics.json", self.write, kinds)

    def write(self, path: Path) -> None:
        """Write the settings off the GUI thread, as CSV where the name says so."""
        topics = self._topics()
        make = topics_csv if path.suffix.lower() == ".csv" else topics_json
        count = count_text(len(topics))
        write_file(self, path, lambda: make(topics), lambda _size: self._written(count, path), self._not_written)

    def _written(self, count: str, path: Path) -> None:
        self._context.notify(lambda: tr("{count} topics are exported to {path}", count=count, path=path), state=State.HEALTHY)

    def _not_written(self, error: Exception) -> None:
        reason = kept_line(error)
        self._context.notify(lambda: tr("The settings were not written: {reason}", reason=reason()), state=State.CRITICAL)
