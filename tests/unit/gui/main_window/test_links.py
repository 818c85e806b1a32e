"""Links are read as they were written, and never act."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.main_window.links import LINK_CHARACTERS_MAX, LinkError, cluster_of, is_link, link_to, place_of
from gui.main_window.places import PagePlace

NAMES = st.text(min_size=1, max_size=40).filter(lambda name: name.strip("/") and not name.isspace())


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ("orbit://overview", PagePlace("overview", {})),
        ("orbit://delay?show=timers", PagePlace("delay", {"show": "timers"})),
        ("orbit://topic/orders", PagePlace("topic", {"topic": "orders"})),
        ("orbit://topic/%25RETRY%25billing", PagePlace("topic", {"topic": "%RETRY%billing"})),
        ("orbit://topics?topic=orders", PagePlace("topics", {"topic": "orders"})),
        ("orbit://group/4711", PagePlace("consumers", {"group": "4711"})),
        ("orbit://message/orders/3/4711", PagePlace("messages", {"topic": "orders", "queue": 3, "offset": 4_711})),
        ("orbit://message?physical_offset=77", PagePlace("message", {"physical_offset": 77})),
        ("orbit://messages?physical_offset=77", PagePlace("messages", {"physical_offset": 77})),
    ],
)
def test_a_link_and_its_place(link, place):
    assert place_of(link) == place
    assert link_to(place) == link


def test_an_id_is_written_in_large_letters_and_spaces_around_a_link_do_not_count():
    assert place_of("  ORBIT://message/7f000001 ") == PagePlace("messages", {"message_id": "7F000001"})


@pytest.mark.parametrize(("link", "name"), [("orbit://connection/prod", "prod"), ("orbit://connection/a%20%2F%20b", "a / b")])
def test_a_link_to_a_connection_shows_its_first_page(link, name):
    assert (cluster_of(link), place_of(link)) == (name, PagePlace("overview", {}))


@given(topic=NAMES, queue=st.integers(0, 10**6), offset=st.integers(0, 10**17), group=NAMES)
def test_what_was_copied_leads_back(topic, queue, offset, group):
    for place in (
        PagePlace("topic", {"topic": topic}),
        PagePlace("topics", {"topic": topic}),
        PagePlace("consumers", {"group": group}),
        PagePlace("messages", {"topic": topic, "queue": queue, "offset": offset}),
        PagePlace("delay", {"level": queue, "show": topic}),
    ):
        assert place_of(link_to(place)) == place


def test_a_link_never_acts():
    assert place_of("orbit://reports?report=throughput&run=1") == PagePlace("reports", {"report": "throughput"})
    assert link_to(PagePlace("topic", {"create": True, "topic": "a"})) == "orbit://topic/a"


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("https://topic/orders", "begins with orbit://"),
        ("orbit://", "a link to a page"),
        ("orbit://overview/deeper", "a link to a page"),
        ("orbit://topic", "names one"),
        ("orbit://topic/a/b", "names one"),
        ("orbit://connection", "names one"),
        ("orbit://connection/a/b", "names one"),
        ("orbit://message/orders/x/1", "a link to a message"),
        ("orbit://message/a/b", "a link to a message"),
        ("orbit://[", "cannot be read"),
        ("orbit://topic/" + "a" * LINK_CHARACTERS_MAX, "are the most"),
    ],
)
def test_what_is_no_link_is_refused_with_its_reason(link, reason):
    with pytest.raises(LinkError, match=reason):
        place_of(link)


@given(st.text(max_size=60))
def test_any_text_is_a_place_or_refused(text):
    for link in (text, f"orbit://{text}"):
        try:
            place = place_of(link)
        except LinkError:
            continue
        assert is_link(link)
        assert place.page_id
