"""`ClusterPart`: an attached cluster on the Store page: brokers, what each tells of itself, and why the rest is not known."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QVBoxLayout, QWidget

from broker_core.api import OrbitError, UsageError
from broker_core.worker.questions.administration import BrokerAnswer
from gui.theme.tokens import Size
from gui.views.page import PageContext
from gui.views.store.brokers_panel import BrokersPanel
from gui.views.store.figures_panel import FiguresPanel
from gui.widgets.basic import label
from gui.words.error_words import error_line
from gui.words.text import tr
from monitoring.admin.runtime import BrokerRuntime
from monitoring.state import ClusterState


class ClusterPart(QWidget):
    """Stands where the files of an own broker are shown.

    Args:
        context: Of the page.
        again: Asks the brokers once more.
    """

    def __init__(self, context: PageContext, again: Callable[[], None]) -> None:
        super().__init__()
        self._context = context
        self._again = again
        self._told: tuple[BrokerRuntime, str] | OrbitError | None = None
        self.brokers = BrokersPanel(context.theme)
        self.figures: FiguresPanel | None = None
        """Made anew when other brokers are there: they are its columns."""
        self.inside = label(role="caption", wrap=True)
        self.inside.hide()
        self._fault: OrbitError | None = None
        self._lines = QVBoxLayout(self)
        self._lines.setContentsMargins(0, 0, 0, 0)
        self._lines.setSpacing(Size.GAP)
        self._lines.addWidget(self.brokers)
        self._lines.addWidget(self.inside)

    def show_state(self, state: ClusterState) -> None:
        """Take new figures of the cluster."""
        self.brokers.show_state(state)
        names = tuple(state.catalog.brokers)
        if self.figures is None or self.figures.brokers != names:
            self._make_figures(names)
        if self.figures is not None:
            self.figures.show_faults(state.faults)

    def show_runtime(self, runtime: BrokerRuntime, answer: BrokerAnswer) -> None:
        """Show what the brokers told of themselves."""
        self._told = (runtime, answer.notice)
        self._show_told()

    def show_failure(self, error: OrbitError) -> None:
        """Say that no broker told it."""
        self._told = error
        self._show_told()

    def show_inside(self, fault: OrbitError | None) -> None:
        """Say in one line why files, flushes and cleanings are missing; None: that is not known yet."""
        self._fault = fault
        self._show_inside()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.brokers.retranslate()
        if self.figures is not None:
            self.figures.retranslate()
        self._show_inside()

    # ---- inside --------------------------------------------------------------------------------------------------------

    def _make_figures(self, names: tuple[str, ...]) -> None:
        if self.figures is not None:
            self.figures.hide()
            self.figures.deleteLater()
        self.figures = FiguresPanel(self._context, names, self._again)
        self._lines.insertWidget(1, self.figures, 6)
        self._show_told()

    def _show_told(self) -> None:
        if self.figures is None or self._told is None:
            return
        if isinstance(self._told, OrbitError):
            self.figures.show_failure(self._told)
        else:
            self.figures.show_runtime(*self._told)

    def _show_inside(self) -> None:
        fault = self._fault
        self.inside.setVisible(fault is not None)
        if isinstance(fault, UsageError):
            # What cannot be known from outside is no failure.
            self.inside.setText(tr("Files, queues, index, flushes and cleanings: {reason}", reason=error_line(fault)))
        elif fault is not None:
            words = tr("Files, queues, index, flushes and cleanings were not read: {reason}", reason=error_line(fault))
            self.inside.setText(words)
