"""Texts in another language than English, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QCoreApplication

from gui.words.language import LanguageSwitch


@contextmanager
def shown_in(language: str) -> Iterator[None]:
    """Show the texts of the window in a language; needs the application object."""
    application = QCoreApplication.instance()
    assert application is not None
    switch = LanguageSwitch(application, language)
    try:
        yield
    finally:
        switch.use("en")
        switch.deleteLater()
