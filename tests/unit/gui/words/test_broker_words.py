"""Notices of the worker in the language of the window."""

from __future__ import annotations

import re

from gui.words.broker_words import broker_text
from tests.support.languages import shown_in

PARTLY = (
    "Brokers tell of clients in groups only. Connections without a group, those of the name server, and how much goes through "
    "a connection are known inside a broker only."
)
LOST = "Not all brokers answered, and what they hold is missing here. broker-a: no answer since 82 s: the connection is lost"


def test_a_notice_before_that_of_lost_brokers_is_translated(qapp):
    del qapp
    with shown_in("zh"):
        text = broker_text(f"{PARTLY} {LOST}")
        assert text == f"{broker_text(PARTLY)} {broker_text(LOST)}"
        before, name, _reason = text.partition("broker-a")
        assert name
        assert not re.search("Brokers tell|Not all", before)
