"""`HitReader`: reads bodies and fields of a hit list, for visible rows and for sorting."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from broker_core.api import NetworkError, OrbitError
from broker_core.worker.questions.stored_messages import FieldValues, ReadFields
from gui.models.hit_columns import HitColumns, TextColumn, field_order
from gui.models.hit_table import HitTableModel
from gui.models.stored_order import Int64s
from gui.operations.background import BackgroundCall
from gui.operations.queries import LatestQuery
from monitoring.sources.base import ClusterSource

SEEN_ROWS_MAX = 200
"""Rows read in one request for the screen."""
COLUMN_ROWS = 1_000
"""Rows read in one request for sorting by a field."""
GATHER_MS = 15
"""Rows that are painted together are read together."""
AGAIN_MS = 5_000
"""Delay before a late broker is asked again."""


class HitReader(QObject):
    """See the module. GUI thread only; sorting itself runs on another.

    Signals:
        sorting: Progress of a sort by a field, from 0 to 1; below 0: it is over.
        failed: Something was not read; carries the `OrbitError`.
        missing: Which values of visible rows a broker did not return, and why; empty: none.
    """

    sorting = Signal(float)
    failed = Signal(object)
    missing = Signal(str)

    def __init__(self, source: ClusterSource, model: HitTableModel, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._model = model
        self.around = ""
        """A regular expression: bodies are shown from its first match on, else from their beginning."""
        self._seen: LatestQuery[FieldValues] = LatestQuery(self)
        self._whole: LatestQuery[FieldValues] = LatestQuery(self)
        self._column: tuple[str, TextColumn] | None = None
        """Field that is read of all hits, and its values so far."""
        self._order: BackgroundCall | None = None
        self._gather = QTimer(self, singleShot=True, interval=GATHER_MS)
        self._gather.timeout.connect(self._read_seen)
        self._again = QTimer(self, singleShot=True, interval=AGAIN_MS)
        self._again.timeout.connect(model.ask_unread_again)
        model.wanted.connect(self._gather.start)
        self.own_orders: dict[str, Callable[[HitColumns], Callable[[], Int64s]]] = {}
        """Key of a column that hits do not have → factory of its sort function."""
        model.order_wanted.connect(self.sort)

    def stop(self) -> None:
        """Cancel everything, for another search."""
        self._seen.cancel()
        self._whole.cancel()
        self._gather.stop()
        self._again.stop()
        self._column = self._order = None
        self.missing.emit("")

    # ---- rows that are seen --------------------------------------------------------------------------------------------

    def _read_seen(self) -> None:
        if self._seen.waiting:
            self._gather.start()
            return
        places, fields = self._model.take_wanted(SEEN_ROWS_MAX), list(self._model.fields)
        if places:

            def took(values: FieldValues) -> None:
                self._model.show_values(places, fields, values)
                if values.unread or not self._model.lacks_some:
                    self.missing.emit(values.notice)
                if values.unread:
                    self._again.start()

            self._seen.ask(self._source.ask(ReadFields(places, fields, self.around)), took, self.failed.emit)

    # ---- order ---------------------------------------------------------------------------------------------------------

    def sort(self, column: str) -> None:
        """Sort all hits by a column, empty: in store order. A field is read of all of them first."""
        self._whole.cancel()
        self._order = None
        if not column:
            self._model.set_order(None)
            self.sorting.emit(-1.0)
        elif column in self.own_orders:
            self._run(self.own_orders[column](self._model.hits))
        elif column in (*self._model.fields, "body"):
            if self._column is None or self._column[0] != column:
                self._column = column, TextColumn()
            self._read_column()
        else:
            self._run(self._model.hits.order(column))

    def _read_column(self) -> None:
        assert self._column is not None
        field, texts = self._column
        places = self._model.hits.places[len(texts) : len(texts) + COLUMN_ROWS].tolist()
        if not places:
            self._run(field_order(texts, self._model.hits.stored_order))
            return
        self.sorting.emit(len(texts) / len(self._model.hits))
        self._read_rest(field, places, {})

    def _read_rest(self, field: str, places: list[int], known: dict[int, str]) -> None:
        """Read the missing values of some rows; repeated for a slow broker as long as some arrive."""
        left = [place for place in places if place not in known]
        if not left:
            assert self._column is not None
            self._column[1].extend(known[place] for place in places)
            self._read_column()
            return

        def took(values: FieldValues) -> None:
            unread = set(values.unread)
            came = {
                place: text for row, (place, text) in enumerate(zip(left, values.texts[0], strict=True)) if row not in unread
            }
            if came:
                self._read_rest(field, places, known | came)
            else:
                self._column_failed(NetworkError(values.notice))

        self._whole.ask(self._source.ask(ReadFields(left, [field])), took, self._column_failed)

    def _column_failed(self, error: OrbitError) -> None:
        self._column = None
        self.sorting.emit(-1.0)
        self.failed.emit(error)

    def _run(self, order: Callable[[], Int64s]) -> None:
        self.sorting.emit(1.0)
        call = self._order = BackgroundCall(self)

        def sorted_(numbers: Int64s) -> None:
            if self._order is call:
                self._order = None
                self._model.set_order(numbers)
                self.sorting.emit(-1.0)
            call.deleteLater()

        call.done.connect(sorted_)
        call.start(order)
