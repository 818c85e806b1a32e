"""Pages for tests of the frame: they record what the frame tells them."""

from __future__ import annotations

from dataclasses import replace

from gui.views.page import PageArguments, PageContext, PageView
from gui.views.registry import page_entry
from gui.widgets.basic import label
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState


class RecordingPage(PageView):
    """Base of the fake pages."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self.opened: list[dict[str, object]] = []
        self.states: list[ClusterState] = []
        self.statuses: list[SourceStatus] = []
        self.refreshes = 0
        self.filter_focused = False
        self.content.addWidget(label("body"))

    def open(self, arguments: PageArguments) -> None:
        self.opened.append(dict(arguments))

    def state_changed(self, state: ClusterState) -> None:
        self.states.append(state)

    def status_changed(self, status: SourceStatus) -> None:
        self.statuses.append(status)

    def refresh(self) -> None:
        self.refreshes += 1

    def focus_filter(self) -> None:
        self.filter_focused = True


class FirstPage(RecordingPage):
    """Opens first."""

    page_id = "overview"


class TopicsPage(RecordingPage):
    """Named like the page that the palette opens topics with."""

    page_id = "topics"


class UndimmedPage(RecordingPage):
    """Stays bright while the broker is gone."""

    page_id = "welcome"
    dims_when_lost = False


FAKE_PAGES = tuple(
    replace(page_entry(page.page_id), module="tests.support.fake_pages", class_name=page.__name__)
    for page in (FirstPage, TopicsPage, UndimmedPage)
)
