"""Decoder rules in the settings folder, and reading bodies by them: small ones at once, others on a thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from PySide6.QtCore import QObject, QSettings, Signal

from broker_core.api import UsageError
from broker_core.worker.questions.stored_messages import MessageDetail
from gui.operations.background import BackgroundCall
from gui.words.text import tr
from monitoring.payload.judging import MASK, Judge, Patience
from monitoring.payload.layers import announced
from monitoring.payload.listed import ListMask
from monitoring.payload.masking import HIDE_ALL, MaskRules
from monitoring.payload.rules import DecoderRule, read_rules, rule_of_message, write_rules
from monitoring.payload.shown import Schemas, ShownBody, read_shown

RULES_FILE = "decoder-rules.json"
UNKNOWN_RULE = DecoderRule("*", mask=HIDE_ALL)
"""For every topic while the rules are unreadable or not read yet, because one of them may hide something."""
SMALL_BYTES = 16 * 1024
"""A body up to this size is read at once, unless it is compressed or needs an expression or a schema."""
JUDGED_SECONDS = 0.3
"""Longest judging of values before lists are shown again."""

Stamp = tuple[int, int] | None
"""Time and size of a file; None where there is none."""


def settings_folder(settings: QSettings) -> Path:
    """Folder of the files beside the settings of the window."""
    return Path(settings.fileName()).parent


def patient(rule: DecoderRule | None) -> DecoderRule | None:
    """A rule without time limit, for one message on a thread."""
    return rule if rule is None else replace(rule, mask=rule.mask.judged_by(Patience()))


@dataclass(frozen=True, slots=True)
class FileRules:
    """Content of the file of rules; ``fault`` is why it cannot be used."""

    stamp: Stamp
    rules: tuple[DecoderRule, ...] = ()
    fault: str = ""


def stamp_of(path: Path) -> Stamp:
    """Changes when the file changes."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError:
        return -1, -1  # there may be rules: reading them says why they cannot be had
    return found.st_mtime_ns, found.st_size


def rules_of_file(path: Path, known: FileRules | None) -> FileRules:
    """The current rules; a known file is not read again unless it was unusable."""
    stamp = stamp_of(path)
    if known is not None and known.stamp == stamp and not known.fault:
        return known
    try:
        return FileRules(stamp, read_rules(path))
    except UsageError as error:
        return FileRules(stamp, fault=error.message)


class DecoderBook(QObject):
    """The rules of one settings folder, for one window. A thread reads and writes the file.

    All bodies are hidden until the first read. Each `refresh` checks the file, so that all pages and windows agree.

    Signals:
        changed: The rules changed: shown data must follow.
        judged: More values were checked.
        saved: The rules were written and are in use.
        refused: The rules were not written; carries the error.
    """

    changed = Signal()
    judged = Signal()
    saved = Signal()
    refused = Signal(object)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.path = folder / RULES_FILE
        """The file of the rules; it may be missing."""
        self._known: FileRules | None = None
        self._is_looking = self._look_again = self._is_judging = False
        # Without parents: they must outlive a window that is closed during their work.
        self._look, self._write, self._judging = BackgroundCall(), BackgroundCall(), BackgroundCall()
        self._look.done.connect(self._looked)
        self._write.done.connect(self._written)
        self._write.failed.connect(self._not_written)
        self._judging.done.connect(self._judged)
        self._judge = Judge(
            self._judge_beside,
            not_yet=lambda: tr("{mask}, not checked yet", mask=MASK),
            not_ended=lambda: tr("{mask}, the mask did not end", mask=MASK),
        )
        self.refresh()

    # ---- the rules -------------------------------------------------------------------------------------------------

    @property
    def is_read(self) -> bool:
        return self._known is not None

    @property
    def rules(self) -> tuple[DecoderRule, ...]:
        return () if self._known is None else self._known.rules

    @property
    def fault(self) -> str:
        """Why the rules are not used, and bodies are hidden; empty when they are used."""
        return "" if self._known is None else self._known.fault

    @property
    def masks(self) -> bool:
        return not self.is_read or bool(self.fault) or any(rule.mask for rule in self.rules)

    def rule(self, topic: str, properties: Mapping[str, str] = MappingProxyType({})) -> DecoderRule | None:
        """The rule for a message, or for the messages of a topic; one that hides everything while the rules are not known.

        Its mask takes little time on the GUI thread; `patient` makes one for other threads.
        """
        if not self.is_read or self.fault:
            return UNKNOWN_RULE
        found = rule_of_message(self.rules, topic, properties)
        return found if found is None else replace(found, mask=found.mask.judged_by(self._judge))

    def mask_of(self, detail: MessageDetail) -> ListMask:
        return ListMask(self.rule(detail.topic, detail.properties))

    def refresh(self) -> None:
        """Check the file for changes, which are reported a moment later. Call it at each read."""
        if self._is_looking:
            self._look_again = True
            return
        self._is_looking, self._look_again = True, False
        path, known = self.path, self._known
        self._look.start(lambda: rules_of_file(path, known))

    def save(self, rules: Sequence[DecoderRule]) -> None:
        """Replace all rules unless another window changed the file meanwhile; emits `saved` or `refused`."""
        path, known, wanted = self.path, self._known, tuple(rules)

        def write() -> FileRules:
            if known is not None and stamp_of(path) != known.stamp:
                raise UsageError(
                    f"the rules in {path} were changed by another window meanwhile; save again to replace them", path=str(path)
                )
            write_rules(path, wanted)
            return FileRules(stamp_of(path), wanted)

        self._write.start(write)

    def _looked(self, found: FileRules) -> None:
        self._is_looking = False
        self._use(found)
        if self._look_again:
            self.refresh()

    def _written(self, found: FileRules) -> None:
        self._use(found)
        self.refresh()  # what is being read may be older
        self.saved.emit()

    def _not_written(self, error: UsageError) -> None:
        self.refresh()
        self.refused.emit(error)

    def _use(self, found: FileRules) -> None:
        before, self._known = self._known, found
        if before is None or (before.rules, before.fault) != (found.rules, found.fault):
            self.changed.emit()

    # ---- what takes long -------------------------------------------------------------------------------------------

    def _judge_beside(self) -> None:
        if not self._is_judging:
            self._is_judging = True
            self._judging.start(lambda: self._judge.judge_waiting(JUDGED_SECONDS))

    def _judged(self) -> None:
        self._is_judging = False
        if self._judge.has_waiting:
            self._judge_beside()
        self.judged.emit()


class ListMasks(QObject):
    """What lists may show of messages, by topic; computed once for each.

    Signals:
        changed: The rules changed, or more was judged: shown data must follow.
    """

    changed = Signal()

    def __init__(self, book: DecoderBook, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._book = book
        self._known: dict[str, ListMask] = {}
        book.changed.connect(self._changed)
        book.judged.connect(self._judged)

    def refresh(self) -> None:
        """Check the rules for changes. Call it at each read."""
        self._book.refresh()

    def of(self, topic: str) -> ListMask:
        found = self._known.get(topic)
        if found is None:
            found = self._known[topic] = ListMask(self._book.rule(topic))
        return found

    def plain(self, topics: Iterable[str], texts: Iterable[str]) -> Iterator[str]:
        """The distinct texts in which nothing is masked."""
        for topic, text in dict.fromkeys(zip(topics, texts, strict=True)):
            if self.of(topic).text(text) == text:
                yield text

    def _changed(self) -> None:
        self._known.clear()
        self.changed.emit()

    def _judged(self) -> None:
        # Another list may have requested it: this one is not concerned if it masks nothing.
        if any(self._known.values()):
            self.changed.emit()


class BodyReader(QObject):
    """Reads one body at a time; a later request voids the previous one.

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
        """Read a body; ``encoding`` overrides that of the rule."""
        if encoding:
            rule = replace(rule or DecoderRule("*"), encoding=encoding)
        self._number += 1
        number, schemas = self._number, self._schemas
        takes_long = rule is not None and bool(rule.reading == "protobuf" or rule.mask.expressions)
        if len(body) <= SMALL_BYTES and not announced(body) and not takes_long:
            self.read.emit(read_shown(body, rule, schemas))
            return
        mask = MaskRules() if rule is None else rule.mask
        # The caller masks more of the message with this mask on the GUI thread.
        self._call.start(lambda: (number, replace(read_shown(body, patient(rule), schemas), mask=mask)))

    def _done(self, result: tuple[int, ShownBody]) -> None:
        if result[0] == self._number:
            self.read.emit(result[1])
