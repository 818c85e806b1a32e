"""The design tokens: every colour and size of the window, in two frozen values.

Nothing else names a colour. The style sheet, the palette, the delegates and the plots all read one of the two `Tokens` values
below, so that a theme switch exchanges one object.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    """Meaning of a chip, dot or glyph. Never shown by colour alone: see `STATE_GLYPHS`."""

    PENDING = "pending"
    HEALTHY = "healthy"
    COMMITTED = "committed"
    IDLE = "idle"
    CHECKING = "checking"
    DELAYED = "delayed"
    INFO = "info"
    RETRY = "retry"
    CRITICAL = "critical"
    WARNING = "warning"
    PLAIN = "plain"


STATE_GLYPHS: dict[State, str] = {
    State.PENDING: "circle-half",
    State.HEALTHY: "check-circle",
    State.COMMITTED: "check-circle",
    State.IDLE: "circle-dashed",
    State.CHECKING: "question",
    State.DELAYED: "clock",
    State.INFO: "info",
    State.RETRY: "repeat",
    State.CRITICAL: "warning-octagon",
    State.WARNING: "warning",
    State.PLAIN: "",
}


_STATE_COLOURS = {State.INFO: "delayed", State.PLAIN: "text_2"}
"""Names of the colours of states that have none of their own name."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Colours of one theme, as ``#RRGGBB``."""

    name: str
    dark: bool

    window: str
    chrome: str
    panel: str
    raised: str
    inset: str
    hover: str
    selected: str
    border: str
    border_strong: str
    text_1: str
    text_2: str
    text_3: str
    accent: str
    accent_fill: str
    on_accent: str
    danger_fill: str

    pending: str
    committed: str
    healthy: str
    idle: str
    checking: str
    delayed: str
    retry: str
    critical: str
    warning: str
    """Amber: only what needs a person."""
    mark: str
    """Ground of found words, and of rows that differ."""

    series: tuple[str, str, str, str, str, str, str]
    """Line colours of a chart; from the sixth on also dashed, the seventh is “other”."""
    tint_percent: int
    """Share of a state's colour in the ground of its chip."""

    def state(self, state: State) -> str:
        colour: str = getattr(self, _STATE_COLOURS.get(state, state.value))
        return colour


DARK = Tokens(
    name="dark",
    dark=True,
    window="#0E1116",
    chrome="#12161C",
    panel="#151A21",
    raised="#1B212A",
    inset="#10141A",
    hover="#222A35",
    selected="#1D3257",
    border="#28303B",
    border_strong="#3A4554",
    text_1="#E7EBF1",
    text_2="#AAB4C3",
    text_3="#8591A3",
    accent="#6AA0FF",
    accent_fill="#2F6BE0",
    on_accent="#FFFFFF",
    danger_fill="#C3283A",
    pending="#90A8DC",
    committed="#3FC79A",
    healthy="#4CC38A",
    idle="#A3ACBA",
    checking="#B79BFF",
    delayed="#58BDEB",
    retry="#F5924E",
    critical="#FF6B73",
    warning="#E6B450",
    mark="#2FB7A3",
    series=("#6AA0FF", "#EFC94C", "#5FE0C0", "#E8507D", "#FFB986", "#9A7FD0", "#8C8A3F"),
    tint_percent=16,
)

LIGHT = Tokens(
    name="light",
    dark=False,
    window="#F2F4F7",
    chrome="#E9ECF1",
    panel="#FFFFFF",
    raised="#F8F9FB",
    inset="#F6F7FA",
    hover="#EDF0F5",
    selected="#DCE8FF",
    border="#DCE1E9",
    border_strong="#BFC8D5",
    text_1="#151B26",
    text_2="#475263",
    text_3="#5F6B7D",
    accent="#1D5BD8",
    accent_fill="#2563EB",
    on_accent="#FFFFFF",
    danger_fill="#C3283A",
    pending="#3F5C94",
    committed="#0A6E50",
    healthy="#0F6E42",
    idle="#566173",
    checking="#6A3FC8",
    delayed="#0A6A9A",
    retry="#A8460A",
    critical="#BC2336",
    warning="#855600",
    mark="#0A8F80",
    series=("#1D5BD8", "#B4600A", "#097E7E", "#A3195B", "#31107A", "#4F4500", "#5A6678"),
    tint_percent=8,
)


class Density(Enum):
    """Row height of tables, in px at 100 % scale."""

    COMPACT = 24
    NORMAL = 28
    ROOMY = 34


class Size:
    """Sizes in px at 100 % scale."""

    CAPTION = 11
    SECONDARY = 12
    BODY = 13
    CARD_TITLE = 15
    PAGE_TITLE = 19
    HEADLINE = 21

    TOOL_BAR = 46
    SIDE_BAR = 208
    SIDE_BAR_COLLAPSED = 52
    TAB_STRIP = 33
    STATUS_BAR = 26
    ROW = Density.NORMAL.value
    HEADER = 30
    CONTROL = 28
    CONTROL_SMALL = 24
    CHIP = 20

    GAP = 12
    PAGE_PADDING_X = 16
    PAGE_PADDING_Y = 14
    RADIUS_CHIP = 4
    RADIUS_CONTROL = 6
    RADIUS_PANEL = 8
    RADIUS_DIALOG = 10

    ICON_SIDE_BAR = 17
    ICON_BUTTON = 15
    ICON_CHIP = 13


def mix(over: str, ground: str, percent: float) -> str:
    """Colour of ``over`` laid on ``ground`` at ``percent`` opacity, as ``#RRGGBB``."""
    share = percent / 100
    channels = zip(_channels(over), _channels(ground), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02X}" for a, b in channels)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
