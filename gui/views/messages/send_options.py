"""`SendOptions`: options of a send: order, later delivery, variables, burst."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLineEdit, QWidget

from broker_core.api import UnclearTimeError
from gui.models.compose import BURST_MESSAGES_MAX, BURST_RATE_MAX, delivery_value
from gui.theme.fonts import mono_font
from gui.widgets.basic import row
from gui.widgets.inputs import name_count, number_box, write_count
from gui.widgets.said import on_language, said, said_label, say_items
from gui.words.error_words import error_line
from gui.words.plain_text import tip_text
from gui.words.text import tr
from monitoring.compose.delivery import SHARDING_KEY, When
from monitoring.compose.template import VARIABLES

_COUNTED = (" message", " messages")
_CHOICE_CHARACTERS = 9
"""Width of a choice in a narrow form; its list is wider."""

_WHEN = (
    (When.NOW, "At once", ""),
    (When.LEVEL, "Delay level", "1 to 18"),
    (When.AFTER, "After a time", "30s, 5m, 2h, 1d"),
    (When.AT, "At", "18:30 or 2026-11-22 09:00"),
)

_ENDS = (
    ("", "None"),
    ("commit", "Half message, then commit"),
    ("rollback", "Half message, then roll back"),
    ("unknown", "Half message, left undecided"),
)


class SendOptions(QWidget):
    """Lines below the fields of the message.

    Signals:
        changed: Another option is entered.
    """

    changed = Signal()

    def __init__(self, *, fills: bool) -> None:
        """Create them; ``fills`` is the first state of filling in variables."""
        super().__init__()
        self.sharding_key = said(QLineEdit(), hint="Equal keys go to one queue, in order")
        self.when = QComboBox()
        self.when_text = QLineEdit()
        self.fills = said(QCheckBox(), text="Fill in variables")
        self.transaction = QComboBox()
        self.count = number_box(1, BURST_MESSAGES_MAX, 1, grouped=True)
        self.rate = said(number_box(1, BURST_RATE_MAX, 100), suffix=" per second")
        self.fills.setChecked(fills)
        say_items(self.when, [title for _when, title, _example in _WHEN])
        for end, title in _ENDS:
            self.transaction.addItem(title, end)
        say_items(self.transaction, [title for _end, title in _ENDS])
        self.transaction.currentIndexChanged.connect(self.changed)
        self.sharding_key.setFont(mono_font())
        name_count(self.count, *_COUNTED)
        self.fills.setToolTip(tip_text(", ".join(VARIABLES)))
        self.when.currentIndexChanged.connect(self._when_changed)
        self.fills.toggled.connect(self.changed)
        self.count.valueChanged.connect(self._count_changed)
        for text in (self.sharding_key, self.when_text):
            text.textChanged.connect(self.changed)
        self.rate.setEnabled(False)
        self._when_changed()
        named = (
            (self.sharding_key, "Sharding key"), (self.when, "Delivery"), (self.when_text, "Time of delivery"),
            (self.transaction, "Transaction"), (self.count, "How many"), (self.rate, "Messages per second"),
        )  # fmt: skip
        for widget, name in named:
            said(widget, name=name)
        on_language(self.count, self._write_count)

    @property
    def fault(self) -> str:
        """Why the message cannot be sent like this; empty when it can."""
        when = self._when
        if self.transaction_end and when is not When.NOW:
            return tr("A message in a transaction cannot be delayed as well.")
        try:
            if when is When.NOW or self._delivery(when) is not None:
                return ""
        except UnclearTimeError as error:
            return error_line(error)
        return tr("Say when the message is to be delivered, e.g. {example}.", example=self.when_text.placeholderText())

    def properties(self) -> tuple[tuple[str, str], ...]:
        """The options, as properties of the message."""
        key, when = self.sharding_key.text().strip(), self._when
        asked = ((SHARDING_KEY, key), (when.value, self._value(when) or "" if when is not When.NOW else ""))
        return tuple((name, value) for name, value in asked if value)

    def take(self, properties: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Enter the properties that have a field here, replacing earlier entries; the others are returned."""
        asked = dict(properties)
        when = next((one for one in (When.LEVEL, When.AFTER, When.AT) if one.value in asked), When.NOW)
        text = asked.get(when.value, "") + ("ms" if when is When.AFTER else "")
        if when is not When.NOW and delivery_value(when, text, now_ms=0, zone=None) != asked[when.value]:
            when, text = When.NOW, ""
        key = asked.get(SHARDING_KEY, "")
        self.sharding_key.setText(key if key == key.strip() else "")
        self.when.setCurrentIndex([one for one, _title, _example in _WHEN].index(when))
        self.when_text.setText(text)
        taken = self.properties()
        return tuple(pair for pair in properties if pair not in taken)

    def _write_count(self) -> None:
        write_count(self.count, *_COUNTED)

    def add_to(self, form: QFormLayout) -> None:
        form.addRow(said_label("Sharding key"), self.sharding_key)
        form.addRow(said_label("Delivery"), row(self.when, (self.when_text, 1)))
        form.addRow(said_label("Transaction"), self.transaction)
        form.addRow(said_label("Repeat"), row(self.count, self.rate, self.fills, 1))

    def add_delivery(self, form: QFormLayout) -> None:
        """Add time and kind of delivery as one line of a narrow form."""
        for choice in (self.when, self.transaction):
            choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            choice.setMinimumContentsLength(_CHOICE_CHARACTERS)
        say_items(self.transaction, ["No transaction"])
        line = row(self.when, self.when_text, self.transaction)
        for place, weight in enumerate((3, 3, 4)):
            line.setStretch(place, weight)
        form.addRow(said_label("Delivery"), line)

    def add_order_and_repeat(self, form: QFormLayout) -> None:
        form.addRow(said_label("Sharding key"), row((self.sharding_key, 1), self.fills))
        form.addRow(said_label("Repeat"), row(self.count, self.rate, 1))

    @property
    def transaction_end(self) -> str:
        """The end of a transaction, as in `SendMessage`; empty for none."""
        return str(self.transaction.currentData())

    @property
    def is_timer(self) -> bool:
        """Whether the message has a delivery time of its own."""
        return self._when in (When.AFTER, When.AT)

    def forbid(self, *, timers: str, transactions: str) -> None:
        """Disable options that the cluster lacks, each with the reason; empty for available ones."""
        items = self.when.model()
        assert isinstance(items, QStandardItemModel)
        for place, (when, _title, _example) in enumerate(_WHEN):
            if when in (When.AFTER, When.AT):
                items.item(place).setEnabled(not timers)
                items.item(place).setToolTip(tip_text(timers))
        self.transaction.setEnabled(not transactions)
        self.transaction.setToolTip(tip_text(transactions))

    @property
    def _when(self) -> When:
        return _WHEN[self.when.currentIndex()][0]

    def _value(self, when: When) -> str | None:
        try:
            return self._delivery(when)
        except UnclearTimeError:
            return None

    def _delivery(self, when: When) -> str | None:
        return delivery_value(when, self.when_text.text(), now_ms=time.time_ns() // 1_000_000, zone=None)

    def _when_changed(self) -> None:
        _when, _title, example = _WHEN[self.when.currentIndex()]
        self.when_text.setEnabled(bool(example))
        self.when_text.clear()
        self.when_text.setPlaceholderText(example)
        self.changed.emit()

    def _count_changed(self, count: int) -> None:
        self.rate.setEnabled(count > 1)
        self.changed.emit()

    def set_several(self, *, several: bool) -> None:
        """Disable options that do not apply to several given messages: only their end and rate do."""
        for widget in (self.sharding_key, self.when, self.when_text, self.count, self.fills):
            widget.setEnabled(not several)
        self.when_text.setEnabled(not several and self._when is not When.NOW)
        self.rate.setEnabled(several or self.count.value() > 1)
