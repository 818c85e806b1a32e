from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import Qt

from gui.words.plain_text import (
    LABEL_CHARACTERS_MAX,
    LABEL_LINES_MAX,
    LINE_CHARACTERS_MAX,
    TIP_CHARACTERS_MAX,
    TIP_LINE_LENGTH_MAX,
    TIP_LINES_MAX,
    button_text,
    file_name,
    label_text,
    notice_text,
    tip_text,
    title_text,
)

HTML = (
    '<img src="file:///etc/hostname">', "<h1>big</h1>", '<a href="http://x">y</a>', "a &lt; b", "<table border=1>",
    " \n<b>x</b>", '<?xml version="1.0"?><b>x</b>', "<!DOCTYPE html>", "x <BR/> y", "＜b＞<b\t>",
)  # fmt: skip


@pytest.mark.parametrize("text", HTML)
def test_html_is_no_rich_text_in_a_tool_tip_and_reads_the_same(text):
    assert Qt.mightBeRichText(text)
    assert not Qt.mightBeRichText(tip_text(text))
    assert tip_text(text).replace("\u2060", "") == text


@given(st.text(alphabet=st.sampled_from("<>&;!?/ \n\tabimgrsltx-=\u2060\u200b"), max_size=60))
def test_no_text_is_rich_text_in_a_tool_tip(text):
    assert not Qt.mightBeRichText(tip_text(text))


@pytest.mark.parametrize(
    "text", ["", "orders", "a < b", "<0.1/s", "tom & jerry", "one\ntwo\tthree", "名 😀", "x" * TIP_LINE_LENGTH_MAX]
)
def test_other_texts_stay_as_they_are(text):
    assert tip_text(text) == text


@pytest.mark.parametrize("text", ["x\n" * 100_000, "y" * 1_000_000, "\n" * 1_000_000, "<b>" * 1_000_000, "a\u202eb" * 10_000])
def test_a_tool_tip_is_bounded_and_says_that_it_was_cut(text):
    shown = tip_text(text).replace("\u2060", "")
    assert len(shown) <= TIP_CHARACTERS_MAX + TIP_LINES_MAX
    assert len(shown.split("\n")) <= TIP_LINES_MAX
    assert max(map(len, shown.split("\n"))) <= TIP_LINE_LENGTH_MAX + 1
    assert shown.endswith("…")


def test_control_characters_and_turns_of_direction_are_seen_and_turn_nothing():
    assert tip_text("a\0b\x1b[31m\u202ecba\u2066") == "a\ufffdb\ufffd[31m\ufffdcba\ufffd"
    assert tip_text("one\r\ntwo") == "one\ntwo"


@pytest.mark.parametrize("text", ["x\n" * 100_000, "y" * 1_000_000, "\n" * 1_000_000])
def test_the_text_of_a_label_is_bounded_and_says_that_it_was_cut(text):
    shown = label_text(text)
    assert len(shown) <= LABEL_CHARACTERS_MAX + 1
    assert len(shown.split("\n")) <= LABEL_LINES_MAX
    assert shown.endswith("…")


@pytest.mark.parametrize("text", ["", "one\ntwo", "<b>x</b> & y", "x" * LABEL_CHARACTERS_MAX, "\n" * (LABEL_LINES_MAX - 1)])
def test_the_text_of_a_label_stays_as_it_is(text):
    assert label_text(text) == text


def test_a_notice_of_the_desktop_has_no_markup():
    shown = notice_text("<img src='file:///x'> a &lt; b & c")
    assert "<" not in shown
    assert "&lt;" not in shown
    assert shown.replace("\u2060", "").replace("‹", "<") == "<img src='file:///x'> a &lt; b & c"
    assert len(notice_text("x" * 1_000_000)) <= TIP_CHARACTERS_MAX + TIP_LINES_MAX


@pytest.mark.parametrize(
    ("text", "name"),
    [("orders", "orders"), ("%RETRY%pay-settle_1", "%RETRY%pay-settle_1"), ("名", "名"), ("/etc/cron.d/x", "_etc_cron.d_x"),
     ("../../.profile", "_.._.profile"), (".bashrc", "bashrc"),
     ("<img src=&#47;x>", "_img_src___47_x_"), ("a\0\n\\b", "a___b")],
)  # fmt: skip
def test_a_name_from_outside_names_a_file_of_the_chosen_folder(text, name):
    assert file_name(text) == name


def test_marks_of_titles_and_shortcuts_of_buttons_are_doubled():
    assert title_text("a[*]b") == "a[*][*]b"
    assert button_text("a & b") == "a && b"


@pytest.mark.parametrize("made", [title_text, button_text])
def test_titles_and_buttons_are_one_bounded_line_without_control_characters(made):
    assert made("a\tb\nc\0d\u202ee") == "a b c\ufffdd\ufffde"
    assert made("x" * 1_000_000) == "x" * LINE_CHARACTERS_MAX + "…"
