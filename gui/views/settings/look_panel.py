"""Sections about the window itself: appearance, language and time, notifications."""

from __future__ import annotations

import datetime as dt

from PySide6.QtCore import QTime
from PySide6.QtWidgets import QCheckBox, QComboBox, QSizePolicy, QTimeEdit, QWidget

from gui.settings.quiet_hours import QuietHours, keep_quiet_hours, read_quiet_hours
from gui.settings.values import SCALE_KEY, SCALES_PERCENT, STAY_KEY, SYSTEM_NOTICES_KEY, is_on, whole_number
from gui.theme.manager import ThemeMode
from gui.theme.tokens import Density, Size
from gui.views.page import PageContext
from gui.widgets.basic import column, fill, form_layout, label, row, show_text
from gui.widgets.inputs import SegmentedControl
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, push_button, said, said_label, say, segments
from gui.words.plain_text import tip_text
from gui.words.text import LANGUAGES, shown_language

THEME_NAMES = {ThemeMode.SYSTEM: "Follow the system", ThemeMode.LIGHT: "Light", ThemeMode.DARK: "Dark"}
DENSITY_NAMES = {Density.COMPACT: "Compact", Density.NORMAL: "Standard", Density.ROOMY: "Roomy"}
TIME_WIDTH = 82
LOCAL, UTC = "local", "utc"


class _Section(Panel):
    def __init__(self, title: str, *notes: str) -> None:
        super().__init__(" ")
        said(self, title=title)
        self._form = form_layout(down=10, across=16)
        self.note = label(role="caption", wrap=True)
        fill(self.content, self._form, self.note, 1)
        say(self, "set_note", *notes)

    def set_note(self, *texts: str) -> None:
        show_text(self.note, " ".join(texts))

    def add(self, name: str, *fields: QWidget) -> None:
        """Add a line; the name is English."""
        self._form.addRow(said_label(name, ""), row(*fields, 1))


class AppearancePanel(_Section):
    """Theme, scale, layout; all but the scale apply at once."""

    def __init__(self, context: PageContext) -> None:
        super().__init__("Appearance", "The scale counts from the next start of Orbit; everything else at once.")
        self._context = context
        self.theme = segments({mode.value: THEME_NAMES[mode] for mode in ThemeMode})
        self.theme.chosen.connect(lambda mode: context.actions.run(f"view.theme.{mode}"))
        self.density = segments({density.name.lower(): DENSITY_NAMES[density] for density in Density})
        self.density.chosen.connect(lambda density: context.actions.run(f"view.density.{density}"))
        self.scale = said(QComboBox(), name="Scale")
        self.scale.addItems([f"{scale} %" for scale in SCALES_PERCENT])
        self.scale.activated.connect(lambda place: context.settings.setValue(SCALE_KEY, SCALES_PERCENT[place]))
        self.reset = push_button("Reset the layout", lambda: context.actions.run("window.reset_layout"))
        self.add("Theme", self.theme)
        self.add("Rows of tables", self.density)
        self.add("Scale", self.scale)
        self.add("Layout", self.reset)
        on_language(self, self.refresh)

    def refresh(self) -> None:
        self.theme.choose(self._context.theme.mode.value)
        self.density.choose(self._context.theme.density.name.lower())
        percent = whole_number(self._context.settings, SCALE_KEY, SCALES_PERCENT[0])
        self.scale.setCurrentIndex(SCALES_PERCENT.index(percent) if percent in SCALES_PERCENT else 0)


class LanguagePanel(_Section):
    """Language, and whether times are local."""

    def __init__(self, context: PageContext) -> None:
        super().__init__("Language and time", "Names from the broker, topics, groups and keys, are never translated.")
        self._context = context
        self.language = SegmentedControl(list(LANGUAGES.items()))
        self.language.chosen.connect(context.set_language)
        self.zone = segments({LOCAL: "Local time", UTC: "UTC"})
        self.zone.chosen.connect(lambda zone: context.times.set_utc(zone == UTC))
        self.add("Language", self.language)
        self.add("Times in", self.zone)
        on_language(self, self.refresh)

    def refresh(self) -> None:
        self.language.choose(shown_language())
        self.zone.choose(UTC if self._context.times.utc else LOCAL)


class LookPanels(QWidget):
    """Appearance, and language with time, one above the other."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self.appearance, self.language = AppearancePanel(context), LanguagePanel(context)
        for panel in (self.appearance, self.language):
            panel.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.setLayout(column(self.appearance, self.language, 1, spacing=Size.GAP))

    def refresh(self) -> None:
        self.appearance.refresh()
        self.language.refresh()


class NotificationsPanel(_Section):
    """Channels of alerts, also without a window; the rules themselves are on their page."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(
            "Notifications",
            "The desktop shows warnings and alerts while this window is behind others, or in the tray.",
            "In quiet hours it shows nothing: notices wait under the bell, and the web hook is called as always.",
        )
        self._settings = context.settings
        self._actions = context.actions
        self.desktop = said(QCheckBox(), text="Notify through the desktop")
        self.desktop.toggled.connect(lambda on: context.settings.setValue(SYSTEM_NOTICES_KEY, on))
        self.tray = said(QCheckBox(), text="Stay in the tray: the broker, its history and its alerts go on")
        self.tray.clicked.connect(lambda _on: context.actions.run("view.tray"))
        self.quiet = said(QCheckBox(), text="Every day from", name="Quiet hours")
        self.quiet_from, self.quiet_to = _time_field(), _time_field()
        self._until = said_label("to", "")
        self.rules = push_button("Open the alerts", lambda: context.navigate("alerts"))
        self.add("Warnings and alerts", self.desktop)
        self.add("Quiet hours", self.quiet, self.quiet_from, self._until, self.quiet_to)
        self.add("When the window is closed", self.tray)
        self.add("Rules and web hook", self.rules)
        self.quiet.toggled.connect(lambda _on: self._keep_quiet_hours())
        for field in (self.quiet_from, self.quiet_to):
            field.timeChanged.connect(lambda _time: self._keep_quiet_hours())
        said(self.quiet_from, name="Begin of the quiet hours, local time")
        said(self.quiet_to, name="End of the quiet hours, local time")
        on_language(self, self.refresh)

    def refresh(self) -> None:
        self.desktop.setChecked(is_on(self._settings, SYSTEM_NOTICES_KEY, default=True))
        hours = read_quiet_hours(self._settings)
        for field, value in ((self.quiet_from, hours.begin), (self.quiet_to, hours.end)):
            field.blockSignals(True)
            field.setTime(QTime(value.hour, value.minute))
            field.blockSignals(False)
            field.setEnabled(hours.is_on)
        self.quiet.setChecked(hours.is_on)
        action = self._actions.get("view.tray")
        why_not = action.blocked() if action is not None else ""
        self.tray.setEnabled(not why_not)
        self.tray.setToolTip(tip_text(why_not))
        self.tray.setChecked(not why_not and is_on(self._settings, STAY_KEY, default=False))

    def _keep_quiet_hours(self) -> None:
        begin, end = (dt.time(field.time().hour(), field.time().minute()) for field in (self.quiet_from, self.quiet_to))
        keep_quiet_hours(self._settings, QuietHours(self.quiet.isChecked(), begin, end))
        self.refresh()


def _time_field() -> QTimeEdit:
    made = QTimeEdit()
    made.setDisplayFormat("HH:mm")
    made.setFixedWidth(TIME_WIDTH)
    return made
