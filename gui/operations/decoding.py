"""Decoder rules in the settings folder, and bodies read by them: small ones at once, others on a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from PySide6.QtCore import QObject, QSettings, Signal

from broker_core.api import MessageDetail, UsageError
from gui.operations.queries import BackgroundCall
from monitoring.payload.layers import announced
from monitoring.payload.listed import ListMask
from monitoring.payload.masking import HIDE_ALL
from monitoring.payload.rules import DecoderRule, read_rules, rule_of_message, write_rules
from monitoring.payload.shown import Schemas, ShownBody, read_shown

RULES_FILE = "decoder-rules.json"
UNKNOWN_RULE = DecoderRule("*", mask=HIDE_ALL)
"""For every topic while the rules cannot be read: one of them may hide something."""
SMALL_BYTES = 16 * 1024
"""Up to here a body is read at once, if nothing in it is to be undone and no schema is needed."""


def settings_folder(settings: QSettings) -> Path:
    """Where files beside the settings of the window are kept."""
    return Path(settings.fileName()).parent


class DecoderBook:
    """The rules of one settings folder. They are read again when the file has changed, so that all pages agree.

    Args:
        folder: Of the settings of the window.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / RULES_FILE
        self._stamp: tuple[int, int] | None = None
        self._rules: tuple[DecoderRule, ...] = ()
        self.fault = ""
        """Why the rules are not used, and bodies are hidden; empty when they are used."""

    @property
    def rules(self) -> tuple[DecoderRule, ...]:
        """All rules in order."""
        stamp = self._changed()
        if stamp != self._stamp or self.fault:
            self._stamp = stamp
            try:
                self._rules, self.fault = read_rules(self._path), ""
            except UsageError as error:
                self._rules, self.fault = (), error.message
        return self._rules

    def rule(self, topic: str, properties: Mapping[str, str] = MappingProxyType({})) -> DecoderRule | None:
        """The rule for a message, or for the messages of a topic; one that hides everything while the rules cannot be read."""
        found = rule_of_message(self.rules, topic, properties)
        return UNKNOWN_RULE if self.fault else found

    def mask_of(self, detail: MessageDetail) -> ListMask:
        """What may be shown of a message."""
        return ListMask(self.rule(detail.topic, detail.properties))

    @property
    def masks(self) -> bool:
        """Whether there is something that is masked."""
        return any(rule.mask for rule in self.rules) or bool(self.fault)

    @property
    def path(self) -> Path:
        """The file of the rules; it need not be there."""
        return self._path

    def save(self, rules: Sequence[DecoderRule]) -> None:
        """Replace all rules.

        Raises:
            UsageError: The file cannot be written.
        """
        write_rules(self._path, rules)

    def _changed(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        except OSError:
            return -1, -1  # there may be rules: reading them says why they cannot be had
        return found.st_mtime_ns, found.st_size


class ListMasks(QObject):
    """What lists may show of messages, by topic; worked out once for each.

    Args:
        book: The rules.
        parent: Qt's owner.

    Signals:
        changed: Other rules count: what is shown must follow.
    """

    changed = Signal()

    def __init__(self, book: DecoderBook, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._book = book
        self._rules: tuple[DecoderRule, ...] = book.rules
        self._fault = book.fault
        self._known: dict[str, ListMask] = {}

    def refresh(self) -> None:
        """Look whether the rules have changed. To be called when something is read."""
        rules = self._book.rules
        if rules != self._rules or self._book.fault != self._fault:
            self._rules, self._fault = rules, self._book.fault
            self._known.clear()
            self.changed.emit()

    def of(self, topic: str) -> ListMask:
        """What may be shown of the messages of a topic; no file is looked at."""
        found = self._known.get(topic)
        if found is None:
            rule = UNKNOWN_RULE if self._fault else rule_of_message(self._rules, topic, {})
            found = self._known[topic] = ListMask(rule)
        return found

    def plain(self, topics: Iterable[str], texts: Iterable[str]) -> Iterator[str]:
        """Of some texts of messages those that nothing is masked in, as far as they differ."""
        for topic, text in dict.fromkeys(zip(topics, texts, strict=True)):
            if self.of(topic).text(text) == text:
                yield text


class BodyReader(QObject):
    """Reads one body at a time; a body that is asked for later makes the one before void.

    Signals:
        read: A body was read; carries its `ShownBody`. Emitted within `read_body` for small ones.
    """

    read = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._schemas = Schemas()
        self._number = 0
        # Without a parent: it must outlive a pane that is closed while a body is read.
        self._call = BackgroundCall()
        self._call.done.connect(self._done)

    def read_body(self, body: bytes, rule: DecoderRule | None, encoding: str = "") -> None:
        """Read a body; ``encoding`` counts more than that of the rule."""
        if encoding:
            rule = replace(rule or DecoderRule("*"), encoding=encoding)
        self._number += 1
        number, schemas = self._number, self._schemas
        needs_schema = rule is not None and rule.reading == "protobuf"
        if len(body) <= SMALL_BYTES and not announced(body) and not needs_schema:
            self.read.emit(read_shown(body, rule, schemas))
        else:
            self._call.start(lambda: (number, read_shown(body, rule, schemas)))

    def _done(self, result: tuple[int, ShownBody]) -> None:
        if result[0] == self._number:
            self.read.emit(result[1])
