"""The side bar: pages by section, with counts; full or as icons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from gui.main_window.matching import match
from gui.main_window.pinned_part import PinnedPart
from gui.main_window.side_bar_item import SideBarItem
from gui.models.favourites import Pins
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.views.registry import PageEntry
from gui.widgets.basic import column, row
from gui.widgets.inputs import SearchField
from gui.widgets.said import said, said_label
from gui.words.text import count_text, short_count_text, tr

if TYPE_CHECKING:
    from monitoring.state import ClusterState

LAST_SECTION = "Orbit"


class SideBar(QFrame):
    """All registered pages, with the favourites before the last section.

    Signals:
        page_asked: A page was chosen; carries its id and whether a new tab is wanted.
        more_asked: No page matches the search; carries the text, for the command palette.
    """

    page_asked = Signal(str, bool)
    more_asked = Signal(str)

    def __init__(self, theme: ThemeManager, pages: Sequence[PageEntry], pins: Pins) -> None:
        super().__init__()
        self.setObjectName("sideBar")
        self.items: dict[str, SideBarItem] = {}
        self._headings: list[tuple[str, QLabel]] = []
        self.collapsed = False
        self.pinned = PinnedPart(theme, pins)
        self.search = said(SearchField(theme), hint="Find a page")
        self.search.textChanged.connect(self._find)
        self.search.returnPressed.connect(self._take_found)
        whole = column(row(self.search, margins=(0, 0, 8, 0)), spacing=-1, margins=(8, 8, 0, 8))
        self.setLayout(whole)
        lines = self._list_in(whole)
        section = ""
        for entry in pages:
            if not entry.in_side_bar:
                continue
            if entry.section != section:
                section = entry.section
                if section == LAST_SECTION:
                    lines.addWidget(self.pinned)
                    self.pinned.stop_before = next(reversed(self.items.values()), None)
                lines.addWidget(self._heading(section))
            lines.addWidget(self._item(theme, entry))
        lines.addStretch(1)
        self.setFixedWidth(Size.SIDE_BAR)

    def _list_in(self, whole: QVBoxLayout) -> QVBoxLayout:
        """The list of pages, which scrolls in a low window."""
        pages = QWidget()
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidgetResizable(True)
        # A viewport of our own: reading Qt's costs a start some 10 ms, because Python then loads all kinds of widgets.
        ground = QWidget()
        scroll.setViewport(ground)
        scroll.setWidget(pages)
        for part in (ground, pages):
            part.setAutoFillBackground(False)
        whole.addWidget(scroll, 1)
        lines = column(spacing=1, margins=(0, 0, 8, 0))
        pages.setLayout(lines)
        return lines

    def _heading(self, section: str) -> QLabel:
        made = said_label(section, "caption")
        made.setContentsMargins(10, 10, 0, 3)
        self._headings.append((section, made))
        return made

    def _item(self, theme: ThemeManager, entry: PageEntry) -> SideBarItem:
        item = SideBarItem(theme, entry)
        item.clicked.connect(lambda _checked=False: self.page_asked.emit(entry.page_id, False))
        item.new_tab_asked.connect(lambda: self.page_asked.emit(entry.page_id, True))
        self.items[entry.page_id] = item
        return item

    def set_collapsed(self, collapsed: bool) -> None:
        self.collapsed = collapsed
        self.search.clear()
        self.search.setVisible(not collapsed)
        for _, heading in self._headings:
            heading.setVisible(not collapsed)
        for item in self.items.values():
            item.set_collapsed(collapsed)
        self.pinned.set_collapsed(collapsed)
        self.setFixedWidth(Size.SIDE_BAR_COLLAPSED if collapsed else Size.SIDE_BAR)

    @property
    def found(self) -> list[SideBarItem]:
        """Pages that match the search, top to bottom."""
        return [item for item in self.items.values() if not item.isHidden()]

    def _find(self, text: str) -> None:
        for item in self.items.values():
            item.setVisible(match(text, item.text()) is not None)
        self.pinned.search(text)
        for section, heading in self._headings:
            members = [item for item in self.items.values() if item.entry.section == section]
            heading.setVisible(not self.collapsed and any(not item.isHidden() for item in members))

    def _take_found(self) -> None:
        """Open the page that fits best; a text without a page goes to the palette, which knows topics and groups too."""
        text = self.search.text().strip()
        fits = [(hit.score, item) for item in self.found if (hit := match(text, item.text())) is not None]
        self.search.clear()
        if fits and text:
            self.page_asked.emit(max(fits, key=lambda fit: fit[0])[1].entry.page_id, False)
        elif text:
            self.more_asked.emit(text)

    def show_page(self, page_id: str) -> None:
        for known, item in self.items.items():
            item.setChecked(known == page_id)

    def set_count(self, page_id: str, count: str, state: State | None = None, words: str = "") -> None:
        """Show a count at a page, if there is one; see `SideBarItem.set_count`."""
        if page_id in self.items:
            self.items[page_id].set_count(count, state, words)

    def set_old(self, is_old: bool) -> None:
        """Dim all counts, because the broker is gone."""
        for item in self.items.values():
            item.set_old(is_old)
        self.pinned.set_old(is_old)

    def forget_state(self) -> None:
        """Show no figures until there are some of the next cluster."""
        for item in self.items.values():
            item.set_count("")
        self.pinned.forget_state()


COUNT_WORDS = {
    "topics": "{count} topics of yours",
    "consumers": "{count} messages of lag",
    "dead_letters": "{count} dead letters",
    "delay": "{count} messages wait",
    "transactions": "{count} undecided",
    "clients": "{count} connections to the broker",
    "alerts": "{count} alerts firing",
}
"""Unit of the count of a page, by its id."""
TOTALS = {"transactions": "transactions_pending", "clients": "connections"}
"""Totals that attached clusters do not report: their pages have no count there."""


def show_counts(bar: SideBar, state: ClusterState, *, alerts_firing: float, lag_is_over: bool, dead_are_alarming: bool) -> None:
    """Show the counts of the pages; a dash where one is not known, nothing for 0 and for what a cluster never reports.

    Lag is coloured where a group exceeds its limit, dead letters where an alert fires for them.
    """
    from gui.models.topics import own_topics

    unknown = float("nan")
    waiting, timers = state.delays.pending, state.timers.get("pending", 0.0)
    counts: dict[str, tuple[float, State | None]] = {
        "topics": (len(own_topics(state)) if state.lists_all else unknown, None),
        "consumers": (state.totals.get("lag_messages", unknown), State.WARNING if lag_is_over else None),
        "dead_letters": (state.totals.get("dead_letters", unknown), State.CRITICAL if dead_are_alarming else None),
        "delay": (unknown if (waiting < 0).any() or timers < 0 else float(waiting.sum()) + timers, None),
        "transactions": (state.totals.get("transactions_pending", unknown), None),
        "clients": (state.totals.get("connections", unknown), None),
        "alerts": (alerts_firing, State.CRITICAL),
    }
    for page_id, (count, colour) in counts.items():
        is_never_told = state.is_from_outside and TOTALS.get(page_id, "") not in {"", *state.totals}
        shown = short_count_text(count) if count and not is_never_told else ""
        words = tr(COUNT_WORDS[page_id], count=count_text(count)) if shown else ""
        bar.set_count(page_id, shown, colour if count > 0 else None, words)
