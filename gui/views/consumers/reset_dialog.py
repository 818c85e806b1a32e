"""`ResetDialog`: choose new offsets for a group, preview repeated and skipped messages, then reset."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QLineEdit, QStackedWidget, QWidget

from broker_core.api import OrbitError
from broker_core.outside import whole_of
from broker_core.worker.questions.abilities import Ability
from gui.models.consumers import GroupRow, position_rows, topics_of
from gui.models.messages import entered_time
from gui.models.offset_moves import MoveSums, offset_at, queue_stands, scale_low, shares_of, sums_of
from gui.models.table import CellKind, Column, ColumnTableModel, number_column
from gui.operations.offset_reset import OffsetReset, OffsetsOfTime, ResetOrder, TimedOffsets
from gui.operations.queries import LatestQuery
from gui.operations.snapshots import OffsetSnapshots
from gui.theme.style import set_role
from gui.theme.tokens import Size, State
from gui.views.action_dialog import ActionDialog, ActionPlan, cannot_reason, read_only_reason
from gui.views.page import PageContext
from gui.widgets.basic import column, label, row
from gui.widgets.data_grid import DataGrid, GridView
from gui.widgets.inputs import NameBox, SegmentedControl
from gui.widgets.notice import Notice
from gui.words.error_words import error_text
from gui.words.text import QueueText, count_text, tr
from monitoring.admin.offsets import TO_THE_END, QueueMove, ResetKind, plan_moves
from monitoring.state import ClusterState

WIDTH = 860
GRID_ROWS_MAX = 9
KIND_NAMES = {
    ResetKind.TIME: "To a time",
    ResetKind.EARLIEST: "Earliest",
    ResetKind.LATEST: "Latest",
    ResetKind.SHIFT: "Shift by",
    ResetKind.OFFSET: "Set offset",
    ResetKind.GROUP: "Copy group",
}
NOT_AT_ONCE = (
    "While members are online, this cluster goes to the nearest message, and here not to the first of this time. "
    "Stop the group, or choose another time, Earliest or Latest."
)
TIME_HINT = "-1h, 10:15, 2026-11-21 10:15 or epoch milliseconds"
READING = "Reading where the queues stood then…"
BAR = "bar"


def move_columns(low: Callable[[QueueMove], int], queue_text: QueueText) -> list[Column[QueueMove]]:
    """Columns of the preview; ``low`` is where the line of a move begins."""
    return [
        number_column("queue", "Queue", lambda move: move.queue_id, queue_text, width=76),
        number_column("now", "Now at", lambda move: move.now, width=104),
        Column("after", "After", lambda move: count_text(move.after) if move.after >= 0 else tr("stays"),
               sort=lambda move: move.after, kind=CellKind.STRONG, state=_after_state, right=True, width=104),
        number_column("again", "Delivered again", lambda move: move.repeated,
                      state=lambda move: State.RETRY if move.repeated > 0 else None, width=116),
        number_column("skipped", "Skipped", lambda move: move.skipped,
                      state=lambda move: State.CRITICAL if move.skipped > 0 else None, width=88),
        number_column("lag", "Lag after", lambda move: move.lag_after, width=94),
        Column(BAR, "Queue position (drag)", _bar_text, sort=lambda move: move.after, kind=CellKind.MOVE,
               value=lambda move: shares_of(move, low(move))),
    ]  # fmt: skip


def _after_state(move: QueueMove) -> State | None:
    return State.INFO if move.moves else None


def _bar_text(move: QueueMove) -> str:
    return tr("{low} to {high}", low=count_text(move.min_offset), high=count_text(move.max_offset))


class ResetDialog(ActionDialog):
    """See the module. `succeeded` carries a `ResetResult`. The queues are those of the moment when the dialog was opened."""

    def __init__(
        self,
        context: PageContext,
        snapshots: OffsetSnapshots,
        group: GroupRow,
        state: ClusterState,
        *,
        topic: str = "",
        parent: QWidget | None = None,
    ) -> None:
        self._context = context
        self._group = group
        self._state = state
        self._snapshots = snapshots
        self._moves: list[QueueMove] = []
        self._found: dict[int, int] | None = None
        self._request_ms: int | None = None
        """The time with which one request for the topic leads to the found offsets; None where each queue needs its own."""
        self._own: dict[int, int] = {}
        self._lows: dict[int, int] = {}
        plan = ActionPlan(
            title=tr("Reset offsets of {group}", group=group.name),
            effects=[tr("Where the group stands now is saved first; the tab Offsets puts it back.")],
            verb=tr("Reset offsets"),
            start=self._run,
            warning=online_words(group),
            typed=group.name,
            is_destructive=True,
            refusal=read_only_reason(context.source),
        )
        super().__init__(plan, context.theme, parent)
        self._offsets_query: LatestQuery[TimedOffsets] = LatestQuery(self)
        self.setMinimumWidth(WIDTH)
        self.topic = NameBox()
        self.kind = SegmentedControl([(kind.value, tr(name)) for kind, name in KIND_NAMES.items()])
        self.time = QLineEdit("-1h")
        self.shift = QLineEdit("-100")
        self.offset = QLineEdit("0")
        self.other = NameBox()
        self._parameters = QStackedWidget()
        self.model = ColumnTableModel(move_columns(self._low, context.queue_text), lambda move: move.queue_id, parent=self)
        self.grid = DataGrid(self.model, context.theme, row_height=Size.ROW - 2)
        self.own = QLineEdit()
        self._own_label = label(role="secondary")
        self.sums = label(role="strong", wrap=True)
        self.note = Notice(context.theme)
        self._fill(topic)
        self._lay_out()
        self._drag = _PositionDrag(self.grid.view, self.model, self._low, self)
        self._drag.moved.connect(self._set_own)
        self._connect()
        self._topic_changed()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    @property
    def chosen(self) -> ResetKind:
        return ResetKind(self.kind.current)

    def _fill(self, topic: str) -> None:
        topics = topics_of(self._state, self._group.name)
        for name in topics:
            self.topic.addItem(name, name)
        proposed = topic if topic in topics else next((name for name in topics if not name.startswith("%")), "")
        self.topic.setCurrentIndex(max(0, self.topic.findData(proposed)))
        self.topic.setAccessibleName(tr("Topic"))

    def _lay_out(self) -> None:
        empty = QWidget()
        for widget, name in ((self.time, "Time"), (self.shift, "Messages"), (self.offset, "Offset"), (self.other, "Group")):
            widget.setAccessibleName(tr(name))
        self.time.setToolTip(tr(TIME_HINT))
        self.shift.setToolTip(tr("Messages forward, or with a minus back"))
        for parameter in (self.time, self.shift, self.offset, self.other, empty):
            self._parameters.addWidget(parameter)
        self._parameters.setFixedHeight(Size.CONTROL + 2)
        self.own.setFixedWidth(130)
        self.grid.set_empty(tr("This group has no position in any queue yet."))
        self.grid.setFixedHeight(Size.HEADER + (Size.ROW - 2) * GRID_ROWS_MAX)
        lines = column(
            row(label(tr("Topic"), "secondary"), self.topic, 1),
            row(self.kind, (self._parameters, 1)),
            self.grid,
            row(self._own_label, self.own, 1),
            self.sums,
            self.note,
            spacing=10,
        )
        self.extra.addLayout(lines)

    def _connect(self) -> None:
        self.topic.currentIndexChanged.connect(lambda _place: self._topic_changed())
        self.kind.chosen.connect(lambda _key: self._choice_changed())
        for field in (self.time, self.shift, self.offset):
            field.textChanged.connect(lambda _text: self._choice_changed())
        self.other.currentIndexChanged.connect(lambda _place: self._choice_changed())
        self.grid.selected.connect(lambda _move: self._show_own())
        self.own.textEdited.connect(self._own_edited)

    # ---- the choice ----------------------------------------------------------------------------------------------------

    def _topic_changed(self) -> None:
        topic = self._topic
        self._own = {}
        self._stands = queue_stands(self._state, topic, position_rows(self._state, self._group.name))
        others = [name for name in self._state.catalog.groups if name != self._group.name]
        self.other.blockSignals(True)
        self.other.clear()
        for name in others:
            if any(one.topic == topic and one.group_offset >= 0 for one in position_rows(self._state, name)):
                self.other.addItem(name, name)
        self.other.blockSignals(False)
        self._choice_changed()
        self.grid.select_first()

    @property
    def _topic(self) -> str:
        return str(self.topic.currentData() or "")

    def _choice_changed(self) -> None:
        kind = self.chosen
        widget = {ResetKind.TIME: self.time, ResetKind.SHIFT: self.shift, ResetKind.OFFSET: self.offset,
                  ResetKind.GROUP: self.other}.get(kind)  # fmt: skip
        self._parameters.setCurrentIndex(self._parameters.indexOf(widget) if widget is not None else 4)
        self._found = self._request_ms = None
        self._offsets_query.cancel()
        if kind is ResetKind.TIME:
            self._ask_time()
        elif kind is ResetKind.GROUP:
            rows = position_rows(self._state, str(self.other.currentData() or ""))
            self._found = {one.queue_id: one.group_offset for one in rows if one.topic == self._topic}
        self._show()

    def _ask_time(self) -> None:
        at_ms = self._time_ms
        if at_ms is None or not self._stands:
            return
        ids = [stand.queue_id for stand in self._stands]
        offsets = OffsetsOfTime(self._context.source, self._topic, ids, at_ms, has_members=not self._group.offline)

        def take(timed: TimedOffsets) -> None:
            self._found, self._request_ms = timed.offsets, timed.request_ms
            self._show()

        def fail(error: OrbitError) -> None:
            words = partial(tr, "Where the queues stood then was not read")
            self.error.set(words, partial(error_text, error), State.CRITICAL)

        if not self._plan.refusal:
            self.error.set("")
        self._offsets_query.ask(offsets, take, fail)

    @property
    def _time_ms(self) -> int | None:
        return self._entered_time[0]

    @property
    def _entered_time(self) -> tuple[int | None, str]:
        return entered_time(self.time.text(), self._state.taken_ms, self._context.times.zone)

    @property
    def _is_reading(self) -> bool:
        """Whether the offsets of the chosen time are still being read."""
        return self.chosen is ResetKind.TIME and self._time_ms is not None and self._found is None and bool(self._stands)

    def _fault(self) -> str:
        """What is missing or invalid in the choice."""
        kind = self.chosen
        if not self._stands:
            return tr("This group has no position in any queue yet.")
        if kind is ResetKind.TIME and self._time_ms is None:
            return self._entered_time[1] or tr("This is no time. Use {forms}.", forms=tr(TIME_HINT))
        if self._is_reading:
            return tr(READING)
        if kind is ResetKind.SHIFT and _whole(self.shift.text()) is None:
            return tr("A whole number of messages, with a minus to go back")
        if kind is ResetKind.OFFSET and whole_of(self.offset.text().strip()) is None:
            return tr("An offset is a whole number from 0 on")
        if kind is ResetKind.GROUP and not self._found:
            return tr("No other group has a position on this topic.")
        if not sums_of(self._moves).queues:
            return tr("The group stands there already.")
        if self._group.offline or self._whole_topic_ms is not None:
            return ""
        reason = cannot_reason(self._context.source, Ability.RESET_ONE_QUEUE)
        return tr(NOT_AT_ONCE) if reason and kind is ResetKind.TIME and not self._own else reason

    @property
    def _whole_topic_ms(self) -> int | None:
        """The time of one request for the topic; None where each queue has a request of its own."""
        times = {ResetKind.TIME: self._request_ms, ResetKind.EARLIEST: 0, ResetKind.LATEST: TO_THE_END}
        return None if self._own else times.get(self.chosen)

    # ---- single queues -------------------------------------------------------------------------------------------------

    def _set_own(self, queue_id: int, offset: int) -> None:
        self._own[queue_id] = offset
        self._show()
        self.grid.select_key(queue_id)
        self._show_own()

    def _own_edited(self, text: str) -> None:
        move = self.grid.selected_row
        if move is None:
            return
        offset = _whole(text)
        if offset is not None and offset >= 0:
            self._own[move.queue_id] = offset
        elif not text.strip():
            self._own.pop(move.queue_id, None)
        self._show()

    def _show_own(self) -> None:
        move = self.grid.selected_row
        self.own.setEnabled(move is not None)
        queue = self._context.queue_text(move.queue_id) if move is not None else ""
        words = tr("Offset of queue {queue} alone", queue=queue) if queue else tr("Offset of one queue")
        self._own_label.setText(words)
        self.own.setAccessibleName(words)
        own = self._own.get(move.queue_id) if move is not None else None
        if not self.own.hasFocus():
            self.own.setText(str(own) if own is not None else "")
        self.own.setPlaceholderText(tr("as the others"))

    def _low(self, move: QueueMove) -> int:
        return self._lows.get(move.queue_id, max(0, move.min_offset))

    # ---- preview -------------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        self._moves = plan_moves(
            self._stands,
            self.chosen,
            shift=_whole(self.shift.text()) or 0,
            offset=max(0, _whole(self.offset.text()) or 0),
            found=self._found,
            own=self._own,
        )
        if not self._own:
            # The scale stands still while single queues are dragged over it.
            self._lows = {move.queue_id: scale_low(move) for move in self._moves}
        self.model.set_rows(self._moves)
        self._show_own()
        sums = sums_of(self._moves)
        self.sums.setText(tr(READING) if self._is_reading else sums_text(sums))
        set_role(self.sums, "critical" if sums.skipped > 0 else "strong")
        unknown = sums.unknown if self._found is not None or self.chosen is not ResetKind.TIME else 0
        self.note.set(
            tr("{count} queues stay as they are: it is not known where they would go.", count=unknown) if unknown else "",
            state=State.WARNING,
        )
        self.go.setText(tr("Reset 1 queue") if sums.queues == 1 else tr("Reset {count} queues", count=sums.queues))
        self.set_blocked(self._fault())

    def _run(self) -> OffsetReset:
        order = ResetOrder(
            group=self._group.name,
            topic=self._topic,
            moves=[move for move in self._moves if move.moves],
            timestamp_ms=self._whole_topic_ms,
            has_members=not self._group.offline,
            reason=self.chosen.value,
            now_ms=self._state.taken_ms,
        )
        return OffsetReset(self._context.source, self._snapshots, order)


class _PositionDrag(QObject):
    """Lets the user drag the dots of the preview.

    Signals:
        moved: A dot was moved; carries the queue's id and its new offset.
    """

    moved = Signal(int, object)  # an int of Qt has 32 bits

    def __init__(
        self, view: GridView, model: ColumnTableModel[QueueMove], low: Callable[[QueueMove], int], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._low = low
        self._view = view
        self._model = model
        self._queue: QueueMove | None = None
        self._column = next(place for place, column in enumerate(model.columns) if column.key == BAR)
        view.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent):
            kind, at = event.type(), event.position().toPoint()
            index = self._view.indexAt(at)
            if kind == QEvent.Type.MouseButtonPress and index.column() == self._column:
                self._queue = self._model.row_at(index.row()) if event.button() == Qt.MouseButton.LeftButton else None
                self._move(at.x())
            elif kind == QEvent.Type.MouseMove and self._queue is not None:
                self._move(at.x())
            elif kind == QEvent.Type.MouseButtonRelease:
                self._queue = None
        return super().eventFilter(watched, event)

    def _move(self, x: int) -> None:
        if self._queue is None:
            return
        left = self._view.columnViewportPosition(self._column)
        margin = 14  # the cell's padding and half the dot
        width = max(1, self._view.columnWidth(self._column) - 2 * margin)
        self.moved.emit(self._queue.queue_id, offset_at(self._queue, self._low(self._queue), (x - left - margin) / width))


def _whole(text: str) -> int | None:
    try:
        return int(text.replace(",", "").strip())
    except ValueError:
        return None


def sums_text(sums: MoveSums) -> str:
    """The effect of a reset, in a sentence."""
    if not sums.queues:
        return tr("Nothing moves.")
    if sums.repeated < 0:
        return tr(
            "It is not known where the group stands in all of these queues. Lag becomes {lag}.", lag=count_text(sums.lag_after)
        )
    return tr(
        "{repeated} messages are delivered again, {skipped} are skipped. Lag becomes {lag}.",
        repeated=count_text(sums.repeated),
        skipped=count_text(sums.skipped),
        lag=count_text(sums.lag_after),
    )


def online_words(group: GroupRow) -> str:
    """How the group is moved, and what that means for its clients."""
    if group.offline:
        return tr("No client of the group is online: its offsets are set in the broker, and the next client starts there.")
    return tr(
        "{count} clients are online. Each stops for about 10 s, drops what it holds and starts again from the new offsets. "
        "What they have in work now may be handled twice.",
        count=group.members,
    )
