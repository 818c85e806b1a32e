from __future__ import annotations

import pytest

from gui.theme.tokens import DARK, LIGHT, STATE_GLYPHS, State, Tokens, mix

THEMES = pytest.mark.parametrize("tokens", [DARK, LIGHT], ids=["dark", "light"])


def luminance(colour: str) -> float:
    def linear(channel: int) -> float:
        value = channel / 255
        return value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[i : i + 2], 16)) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@THEMES
@pytest.mark.parametrize("text", ["text_1", "text_2", "text_3", "accent"])
@pytest.mark.parametrize("ground", ["window", "panel", "raised", "inset"])
def test_text_can_be_read_on_every_surface(tokens: Tokens, text: str, ground: str):
    assert contrast(getattr(tokens, text), getattr(tokens, ground)) >= 4.5


@THEMES
@pytest.mark.parametrize("state", [state for state in State if state is not State.PLAIN], ids=lambda state: state.value)
def test_chip_text_can_be_read_on_its_tint(tokens: Tokens, state: State):
    colour = tokens.state(state)
    assert contrast(colour, mix(colour, tokens.panel, tokens.tint_percent)) >= 4.5


@THEMES
def test_series_stand_out_from_the_plot(tokens: Tokens):
    assert all(contrast(colour, tokens.panel) >= 4.5 for colour in tokens.series[:5])
    assert len(set(tokens.series)) == 7


@THEMES
def test_buttons_can_be_read(tokens: Tokens):
    assert contrast(tokens.on_accent, tokens.accent_fill) >= 4.5
    assert contrast(tokens.on_accent, tokens.danger_fill) >= 4.5


def test_every_state_but_plain_has_a_glyph():
    assert {state for state in State if not STATE_GLYPHS[state]} == {State.PLAIN}


def test_mix_goes_from_ground_to_colour():
    assert mix("#FFFFFF", "#000000", 0) == "#000000"
    assert mix("#FFFFFF", "#000000", 100) == "#FFFFFF"
    assert mix("#FF0000", "#000000", 50) == "#800000"
