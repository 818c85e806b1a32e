"""`PageView`, the base of every page, and `PageContext`, everything a page may use of the window.

A page shows a cluster and starts operations on it. It has no polling timers and no threads: the frame calls
`PageView.state_changed` of visible pages at the live cadence, and answers arrive through `gui.operations`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtCore import QEvent, QPoint, QSettings, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QShowEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QWidget

from gui.event_loop.turns import next_turn
from gui.models.favourites import Pins
from gui.models.queue_window import queue_text
from gui.operations.actions import ActionRegistry, Navigate, Notify
from gui.operations.tasks import TaskList
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, Tokens
from gui.views.page_names import COLUMNS_GROUP
from gui.views.registry import PageEntry, page_entry
from gui.views.time_range import TimeRangeChoice
from gui.widgets.basic import ElidedLabel, column, row
from gui.widgets.chip import Chip
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import TERM
from gui.widgets.popups import new_menu
from gui.widgets.said import SaidTexts, write_texts
from gui.words.text import TimeZoneChoice, Words, tr
from monitoring.sources.base import ClusterSource, SourceStatus

if TYPE_CHECKING:
    from gui.operations.alert_center import AlertCenter
    from gui.operations.clusters import Clusters
    from gui.operations.decoding import DecoderBook
    from gui.operations.reports import ReportRunner
    from gui.processes.demo import DemoController
    from monitoring.series import History
    from monitoring.state import ClusterState


TITLE_WIDTH_KEPT = 250
"""Of a title, px; a longer one is cut in its middle where there is no room."""
FACTS_WIDTH_KEPT = 160
"""Of the facts beside it, px; longer ones are cut at their end."""


class PageHeader(QWidget):
    """The first line of every page: title, state chips, one line of facts, actions on the right."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._title = ElidedLabel(role="page-title", mode=Qt.TextElideMode.ElideMiddle)
        self._facts = ElidedLabel(role="caption")
        # The facts take the width that the title leaves.
        self._facts.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._chips: list[Chip] = []
        self._chip_line = row(spacing=6)
        self._line = row(self._title, self._chip_line, (self._facts, 1), spacing=10)
        self.setLayout(self._line)
        self.setMinimumHeight(30)

    @property
    def title(self) -> str:
        return self._title.whole_text()

    @property
    def facts(self) -> str:
        return self._facts.whole_text()

    def set_title(self, text: str) -> None:
        self._title.setText(text)
        # Names of topics and groups may be longer than the page is wide; other titles are not.
        self._title.setMinimumWidth(min(self._title.sizeHint().width(), TITLE_WIDTH_KEPT))
        self.setAccessibleName(text)  # it has the keyboard where a page is about no list

    def set_facts(self, text: str) -> None:
        self._facts.setText(text)
        # Beside the name of a topic of 127 characters no fact would be left.
        self._facts.setMinimumWidth(min(self._facts.sizeHint().width(), FACTS_WIDTH_KEPT))

    def set_chips(self, chips: Sequence[tuple[str, State]]) -> None:
        while len(self._chips) < len(chips):
            chip = Chip(self._theme)
            self._chips.append(chip)
            self._chip_line.addWidget(chip)
        for i, chip in enumerate(self._chips):
            chip.set(*(chips[i] if i < len(chips) else ("", State.PLAIN)))

    def add_action(self, *widgets: QWidget) -> None:
        for widget in widgets:
            self._line.addWidget(widget)


PageArguments = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class PageContext:
    """What a page may use."""

    source: ClusterSource
    history: History
    theme: ThemeManager
    navigate: Navigate
    notify: Notify
    tasks: TaskList
    actions: ActionRegistry
    settings: QSettings
    times: TimeZoneChoice
    time_range: TimeRangeChoice
    demo: DemoController
    reports: ReportRunner
    restart_worker: Callable[[], None]
    set_language: Callable[[str], None]
    alerts: AlertCenter
    decoders: DecoderBook
    pins: Pins
    clusters: Clusters

    def queue_text(self, shown: int) -> str:
        """A queue of the shown cluster as users read it."""
        return queue_text(self.source.state, shown)


class PageView(QWidget):
    """A page: header on top, content below in ``self.content``.

    Subclasses set `page_id`; `gui.views.registry` has its title and icon. All methods run on the GUI thread.

    Signals:
        title_changed: The tab shows another text, e.g. the name of the opened topic.
        place_changed: The user moved within the page; Back returns to the place before. Carries the arguments for `open`.
    """

    page_id: ClassVar[str]
    side_bar_id: ClassVar[str] = ""
    """Entry of the side bar that is marked while the page is shown; empty: that of the page itself."""
    dims_when_lost: ClassVar[bool] = True
    """Whether the page is dimmed while the broker is lost, because its figures are old then."""

    is_pinned: bool = False
    """Whether its tab is pinned: it stays with what it is about, also when that is gone. The frame writes it."""

    title_changed = Signal(str)
    place_changed = Signal(dict)

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self.context = context
        self.setProperty("role", "page")
        self.header = PageHeader(context.theme, self)
        self.content = column(
            self.header,
            spacing=Size.GAP,
            margins=(Size.PAGE_PADDING_X, Size.PAGE_PADDING_Y, Size.PAGE_PADDING_X, Size.PAGE_PADDING_Y),
        )
        self.setLayout(self.content)
        self.header.set_title(self.page_title)
        self._grid: DataGrid[Any] | None = None
        self._find: QLineEdit | Callable[[], object] | None = None
        self.detail_pane: QWidget | None = None
        """The pane beside the list, which F4 hides and shows; None where the page has none."""
        self._words_are_old = False
        self.late_texts: list[SaidTexts] = []
        """Texts of the parts that are in an old language."""
        context.theme.changed.connect(self._theme_changed)

    @property
    def entry(self) -> PageEntry:
        return page_entry(self.page_id)

    @property
    def page_title(self) -> str:
        return tr(self.entry.title)

    def tab_title(self) -> str:
        return self.page_title

    def gone(self) -> str:
        """What the page is about and is gone, as a sentence; empty while it exists, and while that is not known."""
        return ""

    def open(self, arguments: PageArguments) -> None:
        """Go to a place within the page, e.g. ``{"topic": "orders"}``. Empty arguments: stay, or show the start."""

    def state_changed(self, state: ClusterState) -> None:
        """Show new figures. Called at the live cadence while visible, and once when the page becomes visible."""

    def status_changed(self, status: SourceStatus) -> None:
        """The broker became ready, was lost or stopped. Called for every page, also hidden ones."""

    def stage_changed(self, text: str, done: int, total: int) -> None:
        """The broker reports a step of its start. ``total`` 0 = unknown."""

    def refresh(self) -> None:
        """F5: read again what is not live."""

    def set_parts(
        self,
        *,
        grid: DataGrid[Any] | None = None,
        find: QLineEdit | Callable[[], object] | None = None,
        detail: QWidget | None = None,
    ) -> None:
        """Set the parts that keys of the window lead to: the main list, the filter (or what focuses it), the detail pane.

        Without a list the header gets the focus, so that Tab leads to the first control.
        """
        self._grid, self._find, self.detail_pane = grid, find, detail

    def focus_filter(self) -> None:
        """Ctrl+F: focus the filter of the page."""
        if isinstance(self._find, QLineEdit):
            self._find.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self._find.selectAll()
        elif self._find is not None:
            self._find()

    def take_keyboard(self) -> None:
        """Focus the main list of the page, or the header where there is none."""
        if self._grid is not None:
            self._grid.take_keyboard()
        else:
            self.header.setFocus(Qt.FocusReason.OtherFocusReason)

    def tell(self, words: Words, state: State) -> None:
        """Show how an export or a save of a part of the page ended."""
        self.context.notify(words, state=state)

    def read_columns(self, key: str) -> str:
        """The user's choice of columns of a table; see `gui.widgets.grid_columns`."""
        return str(self.context.settings.value(f"{COLUMNS_GROUP}/{self.page_id}/{key}", ""))

    def keep_columns(self, key: str, text: str) -> None:
        """Store the choice of columns; an empty text removes it."""
        place = f"{COLUMNS_GROUP}/{self.page_id}/{key}"
        if text:
            self.context.settings.setValue(place, text)
        else:
            self.context.settings.remove(place)

    def explain_part(self, part: QWidget | None, at: QPoint | None = None) -> bool:
        """Explain a part of the page; returns whether it is known. ``at`` None: explain the current cell of the keyboard."""
        from gui.views.explanation import ExplainedPage, explain

        context, state = self.context, self.context.source.state
        taken_ms = state.taken_ms if state is not None else -1
        page = ExplainedPage(self, self.page_id, context.theme, context.times, taken_ms)
        return explain(page, part, at) is not None

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        part = self.childAt(event.pos())
        while part is not None and not part.property(TERM):
            part = part.parentWidget()
        if part is None:
            super().contextMenuEvent(event)
            return
        menu = new_menu(self)
        words = tr("What is “{name}”?", name=tr(part.property(TERM)))
        menu.addAction(words, partial(self.explain_part, part, event.globalPos()))
        menu.popup(event.globalPos())

    def theme_changed(self, tokens: Tokens) -> None:
        """Colours changed; the style sheet is already applied."""

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self._words_are_old = True
            # In the turn after Qt has notified all widgets, because both in one turn would be noticeable.
            next_turn(self, self._language_changed)

    def _language_changed(self) -> None:
        # A hidden page is written when it is shown, for the same reason.
        if self.isVisible():
            self._write_words()
        self.title_changed.emit(self.tab_title())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._write_words()

    def _write_words(self) -> None:
        if self._words_are_old:
            self._words_are_old = False
            texts, self.late_texts = self.late_texts, []
            self.header.set_title(self.page_title)
            write_texts(texts)

    def _theme_changed(self, tokens: Tokens) -> None:
        self.theme_changed(tokens)


def page_around(widget: QWidget) -> PageView | None:
    """The page of a widget; None outside a page."""
    around = widget.parentWidget()
    while around is not None and not isinstance(around, PageView):
        around = around.parentWidget()
    return around
