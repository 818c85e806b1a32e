"""The Welcome page: the broker's address, code that uses it, and a demo.

`AddressBar`: the name server address, ready to be copied.
"""

from __future__ import annotations

import ipaddress

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from broker_core.api import OrbitError, addresses
from broker_core.worker.questions.administration import CreateTopic
from broker_core.worker.questions.lifecycle import Done, Ready
from gui.connections.sdk_address import no_sdk_reason, sdk_address
from gui.models.first_steps import first_steps
from gui.operations.demo import demo_refusal, play_demo
from gui.operations.queries import LatestQuery
from gui.processes.demo import DemoPace
from gui.theme.fonts import mono_font
from gui.theme.icons import logo_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State, Tokens
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.welcome.connect_card import CODE_HEIGHT_MIN, ConnectCard
from gui.views.welcome.demo_card import DemoCard
from gui.views.welcome.elsewhere import ElsewhereBar
from gui.views.welcome.samples import QUEUES, TOPIC
from gui.widgets.basic import IconButton, Line, column, fill, label, row
from gui.widgets.chip import Dot
from gui.widgets.containers import ScrolledPart
from gui.widgets.progress_line import ProgressLine
from gui.widgets.said import on_language, said_button, said_label
from gui.words.broker_words import broker_text
from gui.words.error_words import error_text
from gui.words.plain_text import tip_text
from gui.words.text import tr
from monitoring.sources.base import EMBEDDED_NAME, SourceStatus
from monitoring.state import ClusterState

COPIED_SHOWN_MS = 1_500
ADDRESS_PIXELS = 17


def reach_text(address: str) -> str:
    """Who can reach a listening address, in words."""
    host = addresses.host_of(address)
    try:
        here_only = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        here_only = False
    return tr("this machine only") if here_only else tr("reachable from the network")


class AddressBar(QFrame):
    """Shows the name server address; Copy and Enter copy it."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self.setProperty("role", "bar-strong")
        self._ready: Ready | None = None
        self._dot = Dot(theme, State.HEALTHY)
        self._name = said_label("Name server")
        self._address = label(role="address", selectable=True)
        self._address.setFont(mono_font(ADDRESS_PIXELS))
        self.copy_button = said_button(theme, "copy", "Copy", on_click=self.copy, name="Copy the name server address")
        self._facts = label(role="caption")
        separator = Line(vertical=True, length=22)
        margins = (16, 9, 16, 9)
        self.setLayout(
            row(self._dot, self._name, self._address, self.copy_button, separator, self._facts, spacing=10, margins=margins)
        )
        for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            enter = QShortcut(QKeySequence(key), self.copy_button, context=Qt.ShortcutContext.WidgetShortcut)
            enter.activated.connect(self.copy)
        self._forget_copied = QTimer(self)
        self._forget_copied.setSingleShot(True)
        self._forget_copied.setInterval(COPIED_SHOWN_MS)
        self._forget_copied.timeout.connect(self._show)
        on_language(self, self._show)

    @property
    def address(self) -> str:
        """The name server address; empty while unknown."""
        return self._ready.name_server if self._ready else ""

    def set_ready(self, ready: Ready | None) -> None:
        self._ready = ready
        self._show()

    def set_state(self, state: State) -> None:
        """Colour of the dot."""
        self._dot.set_state(state)

    def take_focus(self) -> None:
        """Focus Copy, visibly."""
        self.copy_button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def copy(self) -> None:
        """Copy the address and confirm it for a moment."""
        if not self.address:
            return
        QGuiApplication.clipboard().setText(self.address)
        self.copy_button.setText(tr("Copied"))
        self.copy_button.set_glyph("check", "healthy")
        self._forget_copied.start()

    def _show(self) -> None:
        self._address.setText(self.address)
        self.copy_button.setText(tr("Copy"))
        self.copy_button.set_glyph("copy")
        if self._ready:
            # A cluster has several brokers: names and addresses separated by commas.
            names, addresses = self._ready.broker_name.split(", "), self._ready.broker.split(", ")
            ports = (address.rpartition(":")[2] for address in addresses)
            told = ", ".join(f"{name} {port}".strip() for name, port in zip(names, ports, strict=False))
            self._facts.setText(f"{told} · {reach_text(addresses[0])}" if told else "")
            self._facts.setToolTip(tip_text(f"{self._ready.broker}\n{self._ready.store_directory}"))


COLUMN_WIDTH = 1_080
LOGO_SIZE = 48
LOGO_ROOM = LOGO_SIZE + 14
KEY_HEIGHT = 19
_CENTRE = Qt.AlignmentFlag.AlignHCenter


_HEADLINES = {
    SourceStatus.STARTING: "Your broker is starting",
    SourceStatus.READY: "Your broker is running",
    SourceStatus.LOST: "Your broker has stopped",
    SourceStatus.STOPPED: "Your broker is not running",
}
_ATTACHED_HEADLINES = {
    SourceStatus.STARTING: "Connecting to the cluster",
    SourceStatus.READY: "Connected to the cluster",
    SourceStatus.LOST: "The connection has ended",
    SourceStatus.STOPPED: "Not connected",
}


class WelcomeView(PageView):
    """First page of a first start; Help ▸ Welcome brings it back."""

    page_id = "welcome"
    dims_when_lost = False

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self.header.hide()
        self._stage = ""
        self._topic_query: LatestQuery[Done] = LatestQuery(self)
        self._scroll = ScrolledPart()
        self._logo = label()
        self.headline = label(role="hero")
        self.subtitle = label(role="secondary", wrap=True)
        self.notice = label(role="warning", wrap=True)
        self.progress = ProgressLine(theme)
        self.restart = IconButton(theme, "arrow-clockwise", " ", role="primary", on_click=context.restart_worker)
        self.address = AddressBar(theme)
        self.demo_card = DemoCard(theme, context.demo)
        self.connect_card = ConnectCard(theme)
        self.elsewhere = ElsewhereBar(theme, context.clusters, context.actions)
        self._commands = said_button(theme, "command", "Commands", role="quiet", on_click=self._open_palette)
        self._keys = [label(key, "key") for key in ("Ctrl", "K")]
        for key in self._keys:
            key.setFixedHeight(KEY_HEIGHT)
        self._language = said_button(theme, "translate", "简体中文", role="quiet", on_click=self._other_language)
        self._build()
        self.demo_card.play_wanted.connect(self._play)
        self.connect_card.topic_wanted.connect(self._show_topic)
        self.connect_card.topic_missing.connect(self._create_topic)
        self.theme_changed(theme.tokens)
        on_language(self, self._show_status)
        self._show_steps(context.source.state)

    def open(self, _arguments: PageArguments) -> None:
        self.address.take_focus()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.elsewhere.show_known()
        self._share_height()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_height()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest and watched is self._scroll.widget():
            self._share_height()
        return super().eventFilter(watched, event)

    def _share_height(self) -> None:
        """In a low window first lines of the program, then the logo give way, before the page is scrolled."""
        frame, room = self._scroll.widget(), self._scroll.viewport()
        lines = frame.layout() if frame is not None else None
        if lines is None or not self.isVisible():
            return
        logo = 0 if self._logo.isHidden() else LOGO_ROOM
        others = lines.totalHeightForWidth(room.width()) - logo - self.connect_card.code_height
        left = room.height() - others
        has_logo = left >= LOGO_ROOM + CODE_HEIGHT_MIN
        self._logo.setVisible(has_logo)
        self.connect_card.set_code_height(left - LOGO_ROOM * has_logo)

    def state_changed(self, state: ClusterState) -> None:
        self._show_addresses()
        self._show_steps(state)

    def status_changed(self, status: SourceStatus) -> None:
        if status is not SourceStatus.STARTING:
            self._stage = ""
        self._show_status()
        self._show_steps(self.context.source.state)
        if status is SourceStatus.READY and self.isVisible():
            self.address.take_focus()

    def stage_changed(self, text: str, done: int, total: int) -> None:
        stage = broker_text(text)
        self._stage = stage[:1].upper() + stage[1:]
        if total > 0:
            self._stage += f", {done * 100 // total} %"
        self.progress.set_share(done / total if total > 0 else None)
        self._show_status()

    def theme_changed(self, tokens: Tokens) -> None:
        ratio = self.devicePixelRatioF()
        self._logo.setPixmap(logo_pixmap(LOGO_SIZE, tokens.accent, tokens.retry, ratio))

    def _build(self) -> None:
        middle = QWidget()
        middle.setMaximumWidth(COLUMN_WIDTH)
        lines = column(spacing=0)
        middle.setLayout(lines)
        self._logo.setFixedSize(QSize(LOGO_SIZE, LOGO_ROOM))
        for text in (self.subtitle, self.notice):
            text.setAlignment(_CENTRE)
        self.progress.setFixedWidth(320)
        lines.addStretch(2)
        self._logo.setContentsMargins(0, 0, 0, LOGO_ROOM - LOGO_SIZE)
        fill(lines, (self._logo, 0, _CENTRE), (self.headline, 0, _CENTRE))
        lines.addSpacing(6)
        lines.addWidget(self.subtitle)
        lines.addSpacing(8)
        fill(lines, self.notice, (self.progress, 0, _CENTRE))
        lines.addSpacing(6)
        lines.addWidget(self.restart, 0, _CENTRE)
        lines.addSpacing(12)
        lines.addWidget(self.address, 0, _CENTRE)
        lines.addSpacing(22)
        lines.addLayout(row((self.demo_card, 39), (self.connect_card, 61), spacing=16))
        lines.addSpacing(12)
        lines.addWidget(self.elsewhere)
        lines.addSpacing(12)
        fill(lines, row(1, self._commands, *self._keys, self._language, 1, spacing=10), 3)
        frame = QWidget()
        frame.setLayout(row(1, (middle, 1000), 1, spacing=0))
        self._scroll.setWidget(frame)
        frame.installEventFilter(self)
        self.content.addWidget(self._scroll, 1)

    def _show_status(self) -> None:
        source = self.context.source
        self.elsewhere.show_known()
        starting = source.status is SourceStatus.STARTING
        down = source.status in (SourceStatus.LOST, SourceStatus.STOPPED)
        reads_files = source.ready is not None and not source.ready.runs_broker
        is_attached = source.name != EMBEDDED_NAME
        headline = _ATTACHED_HEADLINES[source.status] if is_attached else _HEADLINES[source.status]
        self.headline.setText(tr("Store opened, read-only") if reads_files and not down else tr(headline))
        self.demo_card.setVisible(not reads_files and not is_attached)
        self.connect_card.setVisible(not reads_files)
        self.restart.setText(tr("Connect again") if is_attached else tr("Restart the broker"))
        self.subtitle.setText(self._subtitle(source.status))
        notice = source.ready.notice if source.ready and not down else ""
        self.notice.setText(broker_text(notice))
        self.notice.setVisible(bool(notice))
        self.progress.setVisible(starting)
        self.restart.setVisible(down)
        self.address.setVisible(source.ready is not None and not reads_files)
        self.address.set_ready(source.ready)
        self.address.set_state(
            State.HEALTHY if source.status is SourceStatus.READY else State.CRITICAL if down else State.PENDING
        )
        self._show_addresses()
        self.demo_card.set_can_play(not demo_refusal(source))

    def _show_addresses(self) -> None:
        source = self.context.source
        name_server = source.ready.name_server if source.ready else "127.0.0.1:9876"
        self.connect_card.set_addresses(name_server, sdk_address(source), no_sdk_reason(source))

    def _subtitle(self, status: SourceStatus) -> str:
        source = self.context.source
        if source.name != EMBEDDED_NAME:
            return self._attached_subtitle(status)
        if status is SourceStatus.STARTING:
            return self._stage or tr("Opening the store")
        if status is SourceStatus.READY and source.ready and not source.ready.runs_broker:
            words = tr("{folder}: no broker runs, and not a byte of it is changed.", folder=source.ready.store_directory)
            return f"{words} {tr('Search, read, follow life lines and take messages along.')}"
        if status is SourceStatus.READY and source.ready:
            seconds = f"{source.ready.startup_ms / 1_000:.1f}"
            return tr("RocketMQ compatible, started in {seconds} s. Nothing to install, nothing to set up.", seconds=seconds)
        if status is SourceStatus.LOST and source.reason:
            return error_text(source.reason)
        return tr("Messages that were acknowledged are kept in the store.")

    def _attached_subtitle(self, status: SourceStatus) -> str:
        source = self.context.source
        if status is SourceStatus.READY and source.ready:
            brokers = source.ready.broker or tr("no broker answered yet")
            return tr("{cluster} with brokers at {brokers}. It runs elsewhere; closing this window leaves it as it is.",
                      cluster=source.ready.cluster_name or source.name, brokers=brokers)  # fmt: skip
        return self._stage if status is SourceStatus.STARTING else source.name

    def _show_steps(self, state: ClusterState | None) -> None:
        source = self.context.source
        self.connect_card.set_steps(first_steps(source.status, state))
        # Another broker may be in production: its topics are made on the Topics page, which asks before.
        runs_broker = source.ready is not None and source.ready.runs_broker
        may_create = source.status is SourceStatus.READY and runs_broker and not source.read_only
        self.connect_card.set_topics(None if state is None else state.catalog.topics, may_create=may_create)

    def _create_topic(self) -> None:
        topic = CreateTopic(TOPIC, QUEUES, QUEUES)
        self._topic_query.ask(self.context.source.ask(topic), self._topic_created, self._topic_refused)

    def _topic_created(self, _done: Done) -> None:
        self.context.notify(lambda: tr("Topic {topic} created", topic=TOPIC), state=State.HEALTHY)

    def _topic_refused(self, error: OrbitError) -> None:
        reason = error_text(error)
        self.context.notify(lambda: tr("The topic was not created: {reason}", reason=reason), state=State.CRITICAL)

    def _play(self, pace: DemoPace) -> None:
        if not demo_refusal(self.context.source):
            play_demo(self.context.demo, self.context.tasks, self.context.source, pace)
            self.context.navigate("overview")

    def _show_topic(self, topic: str) -> None:
        self.context.navigate("messages", topic=topic, queue=-1)

    def _open_palette(self) -> None:
        self.context.actions.run("file.palette")

    def _other_language(self) -> None:
        self.context.set_language("zh" if self._language.text() == "简体中文" else "en")
