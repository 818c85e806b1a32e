"""`AlertAdoption`: sends the alert rules of an earlier Orbit's settings to the worker, once for each cluster."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal

from broker_core.api import OrbitError, UsageError
from broker_core.worker.questions.alerts import AdoptAlerts
from gui.operations.background import BackgroundCall
from gui.words.error_words import kept_line
from gui.words.text import Words, tr
from monitoring.alert_rules import rules_from_json
from monitoring.sources.base import ClusterSource
from monitoring.webhook import check_url

logger = logging.getLogger(__name__)

FILE_NAME = "alerts.json"
WEBHOOK_KEY = "alerts/webhook"


@dataclass(frozen=True, slots=True)
class _Kept:
    rules: str
    is_damaged: bool = False


class AlertAdoption(QObject):
    """The file stays: each cluster that this window connects to adopts it once.

    Signals:
        ended: The worker has the rules, or refused; `problem` says why.
    """

    ended = Signal()

    def __init__(self, source: ClusterSource, settings: QSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._settings = settings
        self._path = Path(settings.fileName()).with_name(FILE_NAME)
        self._has_begun = False
        self.problem: Words = ""

    def forget(self) -> None:
        """Reset for the next worker, which may ask for the rules again."""
        self._has_begun = False

    def begin(self) -> None:
        """Read the file off the GUI thread and send it; once for a worker, also if it refuses."""
        if self._has_begun:
            return
        self._has_begun = True
        path = self._path
        call = BackgroundCall(self)
        call.done.connect(self._hand_over)
        call.done.connect(lambda _kept: call.deleteLater())
        call.start(lambda: _read(path))

    def _hand_over(self, kept: _Kept) -> None:
        damaged = partial(tr, "The rules of {path} cannot be read; the usual ones are used.", path=str(self._path))
        self.problem = damaged if kept.is_damaged else ""
        command = AdoptAlerts(kept.rules, self._webhook())
        self._source.ask(command).then(lambda _done: self.ended.emit(), self._refused)

    def _webhook(self) -> str:
        url = str(self._settings.value(WEBHOOK_KEY, ""))
        try:
            check_url(url)
        except UsageError:
            return ""
        return url

    def _refused(self, error: OrbitError) -> None:
        logger.warning("the alert rules of %s were not taken over: %s", self._path, error)
        path, told = str(self._path), kept_line(error)
        self.problem = lambda: tr("The alert rules of {path} were not taken over: {reason}", path=path, reason=told())
        self.ended.emit()


def _read(path: Path) -> _Kept:
    """The rules of a file; an unreadable one is renamed and reported."""
    try:
        text = path.read_text(encoding="utf-8")
        rules_from_json(text)
    except FileNotFoundError:
        return _Kept("")
    except (OSError, UsageError, UnicodeDecodeError) as error:
        logger.warning("the alert rules of %s are not used: %s", path, error)
        try:
            path.replace(path.with_suffix(".json.damaged"))
        except OSError as fault:
            logger.warning("%s stays where it is: %s", path, fault)
        return _Kept("", is_damaged=True)
    return _Kept(text)
