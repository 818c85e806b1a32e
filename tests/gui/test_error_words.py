"""Errors are told in the language of the window, with what to do; the words of whoever found them stay as the detail."""

from __future__ import annotations

import errno
import re

import pytest

from broker_core.api import (
    ConnectionLostError,
    FilterError,
    OrbitError,
    RemoteError,
    ResponseCode,
    StoreFullError,
    WorkerError,
)
from gui.gallery.sources import REASON
from gui.views.list_read import say_not_read
from gui.widgets.notice import Notice
from gui.words.error_words import _OF_CODES, _OF_KINDS, _OF_SYSTEM, error_line, error_text
from tests.support.languages import shown_in

CHINESE = re.compile("[\u4e00-\u9fff]")
PUBLIC = {kind for kind, of in OrbitError.kinds.items() if of.__module__ == "broker_core.errors"}
RAW = "no room for 4,096 bytes at /data: xyzzy"


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("kind", sorted(PUBLIC))
def test_every_class_of_errors_has_a_chinese_sentence_and_keeps_its_words(kind):
    sentence, _, detail = error_text(OrbitError.kinds[kind](RAW)).partition("\n")
    assert CHINESE.search(sentence), sentence
    assert detail == RAW


def test_every_class_of_the_tree_is_known_by_its_own_name_or_that_of_its_parent():
    assert PUBLIC | {"OrbitError"} == set(_OF_KINDS)


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("code", list(_OF_CODES))
def test_a_response_code_says_what_to_do(code):
    sentence, _, detail = error_text(RemoteError(RAW, code=int(code))).partition("\n")
    assert f"（{int(code)}）" in sentence
    assert detail == RAW


def test_an_english_error_speaks_for_itself_but_for_what_other_brokers_say():
    assert error_text(StoreFullError(RAW)) == RAW
    refused = RemoteError("the consumer is away", code=int(ResponseCode.CONSUMER_NOT_ONLINE))
    assert error_text(refused) == "No consumer of the group is online (206). Start one, then try again.\nthe consumer is away"
    assert error_line(refused).endswith("try again. (the consumer is away)")
    assert error_text(RemoteError("who knows", code=99)) == "who knows"


@pytest.mark.usefixtures("chinese")
def test_a_text_of_a_known_form_or_in_chinese_already_stands_alone():
    assert "\n" not in error_text(WorkerError(REASON))
    assert CHINESE.search(error_text(WorkerError(REASON)))
    assert error_text(FilterError("过滤条件有误")) == "过滤条件有误"
    refused = "cannot connect to 10.0.0.1:9876 (Connection refused): is a server running there?"
    assert CHINESE.search(error_text(ConnectionLostError(refused)))
    assert "Connection refused" not in error_text(ConnectionLostError(refused))


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("number", sorted(_OF_SYSTEM))
def test_errors_of_the_system_say_what_to_do(number):
    assert CHINESE.search(error_text(OSError(number, "words of the system")))
    assert error_text(OSError(number, "words of the system")).endswith("words of the system")


def test_an_unknown_error_of_the_system_is_told_by_its_own_words(qapp):
    assert error_text(OSError(errno.EXDEV, "Invalid cross-device link")) == "Invalid cross-device link"
    assert error_text(ValueError("odd")) == "odd"


def test_what_was_not_read_can_be_read_again_and_follows_the_language(qtbot, theme, qapp):
    asked = []
    notice = Notice(theme)
    qtbot.addWidget(notice)
    say_not_read(notice, lambda: "title", StoreFullError(RAW), lambda: asked.append(1))
    notice.show()
    assert notice.button.text() == "Retry"
    notice.button.click()
    assert asked == [1]

    with shown_in("zh"):
        qtbot.waitUntil(lambda: notice.button.text() == "重试")
        assert CHINESE.search(notice.text)
    qtbot.waitUntil(lambda: notice.button.text() == "Retry")
    notice.set("something else")
    assert not notice.button.isVisible()
