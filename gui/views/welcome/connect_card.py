"""`ConnectCard`: sample programs with the address filled in, and a check list that ticks itself.

The SDKs of gRPC are shown first where the broker has a port for them. They create no topics, so the card offers that.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QWidget

from gui.models.first_steps import FirstSteps
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.views.welcome.samples import SAMPLES, SDK_SAMPLES, TOPIC, CodeSample
from gui.widgets.basic import IconButton, IconLabel, Line, column, fill, label, row
from gui.widgets.code_view import CodeView
from gui.widgets.containers import PartBar
from gui.widgets.inputs import SegmentedControl
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button, said_label
from gui.words.text import UNKNOWN, count_text, tr

GRPC, REMOTING = "gRPC", "remoting"
"""Families of programs, by their protocol."""
COPIED_SHOWN_MS = 1_500
CODE_HEIGHT_MIN, CODE_HEIGHT = 138, 268
"""Height of 7 lines in a low window, and of the Java program, 15 lines."""


class CheckLine(QWidget):
    """One step: a glyph, its text, and its state."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._glyph = IconLabel(theme, "circle-dashed", "text_3", 17)
        self._text = label()
        self._fact = label(role="caption")
        self.setLayout(row(self._glyph, self._text, 1, self._fact, spacing=9))
        self.done = False
        """Whether the step is ticked."""

    @property
    def fact(self) -> str:
        return self._fact.text()

    def set(self, text: str, fact: str, *, done: bool) -> None:
        """Show the state of the step."""
        self.done = done
        self._text.setText(text)
        self._fact.setText(fact)
        self._glyph.set_glyph("check-circle" if done else "circle-dashed", "healthy" if done else "text_3", filled=done)


class ConnectCard(Panel):
    """Card for the user's own client.

    Signals:
        topic_wanted: Show the stored message; carries the topic.
        topic_missing: Create the topic that the programs send to.
    """

    topic_wanted = Signal(str)
    topic_missing = Signal()

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._theme = theme
        self._address = self._grpc = ""
        self._has_chosen = False
        self._topics_known: Collection[str] | None = None
        self._may_create = False
        self._steps: FirstSteps | None = None
        self._title = said_label("Connect your own client", "card-title")
        self._tabs = PartBar()
        self._tabs.setDrawBase(False)
        self._tabs.setExpanding(False)
        self.families = SegmentedControl([(GRPC, " "), (REMOTING, " ")])
        self.families.choose(REMOTING)
        self.families.chosen.connect(self._family_chosen)
        self._fill_tabs()
        self._tabs.currentChanged.connect(self._show_code)
        self.code_view = said(CodeView(theme), name="Sample code")
        self.code_view.setFixedHeight(CODE_HEIGHT)
        self.copy_button = IconButton(theme, "copy", " ", on_click=self.copy)
        self.create_button = said_button(
            theme, "plus", f"Create topic {TOPIC}", on_click=self.topic_missing.emit, tip="SDKs of gRPC create no topics"
        )
        self._waiting = label(role="caption")
        self._show = said_button(theme, "arrow-right", "Show it", role="link", on_click=self._show_clicked)
        self.accepts = CheckLine(theme)
        self.connects = CheckLine(theme)
        self.stores = CheckLine(theme)
        self._forget_copied = QTimer(self)
        self._forget_copied.setSingleShot(True)
        self._forget_copied.setInterval(COPIED_SHOWN_MS)
        self._forget_copied.timeout.connect(self._show_copy)
        self.content.setContentsMargins(18, 14, 18, 14)
        self.content.setSpacing(8)
        icon = IconLabel(self._theme, "terminal-window", "accent", 18)
        fill(self.content, row(icon, self._title, 1, self.families, spacing=10), self._tabs)
        inset = QFrame()
        inset.setProperty("role", "inset")
        inset.setLayout(column(self.code_view, margins=(1, 1, 1, 1)))
        fill(
            self.content,
            (inset, 1),
            row(self.copy_button, self.create_button, 1, self._waiting, self._show),
            Line(),
            self.accepts,
            self.connects,
            self.stores,
        )
        on_language(self, self._write_texts)

    @property
    def samples(self) -> tuple[CodeSample, ...]:
        return SDK_SAMPLES if self.families.current == GRPC else SAMPLES

    @property
    def sample(self) -> CodeSample:
        """The chosen program."""
        return self.samples[max(self._tabs.currentIndex(), 0)]

    def set_addresses(self, name_server: str, grpc: str, no_grpc: str) -> None:
        """Fill in ``host:port`` of the name server and of the gRPC port; ``no_grpc`` says why there is none of the latter."""
        self.families.set_refusal(GRPC, no_grpc)
        if (name_server, grpc) == (self._address, self._grpc):
            return
        self._address, self._grpc = name_server, grpc
        if not self._has_chosen or not grpc:
            self.families.choose(GRPC if grpc else REMOTING)
        self._fill_tabs()
        self._show_code()

    def set_topics(self, topics: Collection[str] | None, *, may_create: bool) -> None:
        """Offer to create the topic of the programs where it is not among these; None: they are unknown."""
        self._topics_known, self._may_create = topics, may_create
        self._show_create()

    def _family_chosen(self, _family: str) -> None:
        self._has_chosen = True
        self._fill_tabs()
        self._show_code()

    def _fill_tabs(self) -> None:
        titles = [sample.title for sample in self.samples]
        if titles == [self._tabs.tabText(place) for place in range(self._tabs.count())]:
            return
        former = self._tabs.tabText(self._tabs.currentIndex())
        with QSignalBlocker(self._tabs):
            while self._tabs.count():
                self._tabs.removeTab(0)
            for title in titles:
                self._tabs.addTab(title)
            self._tabs.setCurrentIndex(titles.index(former) if former in titles else 0)

    @property
    def code_height(self) -> int:
        """Height of the program, px."""
        return self.code_view.minimumHeight()

    def set_code_height(self, wanted: int) -> None:
        """Set the height of the program, px, within its bounds."""
        self.code_view.setFixedHeight(min(max(wanted, CODE_HEIGHT_MIN), CODE_HEIGHT))

    def set_steps(self, steps: FirstSteps) -> None:
        if steps != self._steps:
            self._steps = steps
            self._show_steps()

    def copy(self) -> None:
        """Copy the shown program and confirm it for a moment."""
        QGuiApplication.clipboard().setText(self._code())
        self.copy_button.setText(tr("Copied"))
        self.copy_button.set_glyph("check", "healthy")
        self._forget_copied.start()

    def _write_texts(self) -> None:
        self.families.set_text(GRPC, tr("gRPC SDKs"))
        self.families.set_text(REMOTING, tr("Remoting clients"))
        self._show_copy()
        self._show_steps()

    @property
    def _used_address(self) -> str:
        """What the programs of the family connect to."""
        return self._grpc if self.families.current == GRPC else self._address

    def _code(self) -> str:
        return self.sample.code(self._used_address)

    def _show_code(self) -> None:
        self.code_view.set_code(self._code().rstrip(), self.sample.language)
        self._show_steps()
        self._show_create()

    def _show_create(self) -> None:
        is_missing = self._topics_known is not None and TOPIC not in self._topics_known
        self.create_button.setVisible(is_missing and self._may_create and self.families.current == GRPC)

    def _show_copy(self) -> None:
        self.copy_button.setText(tr("Copy code"))
        self.copy_button.set_glyph("copy")

    def _show_clicked(self) -> None:
        if self._steps and self._steps.topic:
            self.topic_wanted.emit(self._steps.topic)

    def _show_steps(self) -> None:
        steps = self._steps
        is_unknown = steps is not None and steps.stored_messages < 0
        not_yet = UNKNOWN if is_unknown else tr("not yet")
        accepts, stored = bool(steps and steps.accepts), steps.stored_messages if steps else 0
        connected = bool(steps and steps.connected)
        not_now = tr("not now") if connected else not_yet
        self.accepts.set(tr("Broker accepts connections"), self._used_address if accepts else not_now, done=accepts)
        has_clients = steps is not None and steps.connections > 0
        now = tr("{count} connected", count=count_text(steps.connections)) if steps and has_clients else not_now
        if connected and steps is not None and accepts and math.isnan(steps.connections):
            now = ""  # an attached cluster does not report its connections
        self.connects.set(tr("A client connects"), now, done=connected)
        self.stores.set(
            tr("A message is stored"),
            tr("{count} stored", count=count_text(stored)) if stored > 0 else not_yet,
            done=stored > 0,
        )
        self._waiting.setText(
            tr("Stored in {topic}", topic=steps.topic)
            if steps and stored > 0
            else tr("What is stored is not known")
            if is_unknown
            else tr("Waiting for the first message…")
        )
        set_role(self._waiting, "healthy" if stored > 0 else "caption")
        self._show.setVisible(stored > 0)
