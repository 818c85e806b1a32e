"""`LanguageSwitch`: changes the language of the window while it runs."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QObject, QTranslator, Signal

from gui.words.text import LANGUAGE_PROPERTY, LANGUAGES, CatalogueTranslator, load_catalogue, shown_language

_QT_TEXTS = {"zh": "qtbase_zh_CN"}


def system_language() -> str:
    """The language of the desktop, English where Orbit does not have it."""
    name = QLocale.system().name()[:2]
    return name if name in LANGUAGES else "en"


class LanguageSwitch(QObject):
    """Installs and removes the translators; Qt then sends every widget a LanguageChange event.

    Signals:
        changed: Another language is in use; carries its code.
    """

    changed = Signal(str)

    def __init__(self, application: QCoreApplication, language: str) -> None:
        super().__init__(application)
        self._application = application
        self._translators: list[QTranslator] = []
        application.setProperty(LANGUAGE_PROPERTY, "en")
        self.use(language if language in LANGUAGES else "en")

    @property
    def language(self) -> str:
        return shown_language()

    def use(self, language: str) -> None:
        """Use a language of `LANGUAGES`."""
        if language == self.language:
            return
        for translator in self._translators:
            self._application.removeTranslator(translator)
            translator.deleteLater()
        self._translators = []
        # Before the translators: widgets write their texts again when Qt reports those.
        self._application.setProperty(LANGUAGE_PROPERTY, language)
        if language != "en":
            self._install(CatalogueTranslator(load_catalogue(language), self))
            qt_texts = QTranslator(self)
            if qt_texts.load(_QT_TEXTS[language], QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
                self._install(qt_texts)
        self.changed.emit(language)

    def _install(self, translator: QTranslator) -> None:
        self._application.installTranslator(translator)
        self._translators.append(translator)
