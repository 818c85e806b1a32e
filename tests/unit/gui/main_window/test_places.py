from __future__ import annotations

from gui.main_window.places import PLACES_MAX, PagePlace, PlaceTrail


def visited(*page_ids: str) -> PlaceTrail:
    places = PlaceTrail()
    for page_id in page_ids:
        places.visit(PagePlace(page_id))
    return places


def test_nothing_was_visited():
    places = PlaceTrail()
    assert places.current is None
    assert places.back() is None
    assert places.forward() is None


def test_back_and_forward_walk_the_same_way():
    places = visited("overview", "topics", "messages")
    assert places.back() == PagePlace("topics")
    assert places.back() == PagePlace("overview")
    assert not places.can_go_back
    assert places.forward() == PagePlace("topics")
    assert places.can_go_forward


def test_a_new_place_forgets_what_was_ahead():
    places = visited("overview", "topics")
    places.back()
    places.visit(PagePlace("reports"))
    assert not places.can_go_forward
    assert places.back() == PagePlace("overview")


def test_the_same_place_twice_counts_once():
    places = visited("overview", "topics", "topics")
    assert places.back() == PagePlace("overview")


def test_arguments_make_another_place():
    places = visited("topics")
    places.visit(PagePlace("topics", {"topic": "orders"}))
    assert places.back() == PagePlace("topics")


def test_the_list_is_bounded():
    places = visited(*(f"page-{i}" for i in range(PLACES_MAX + 10)))
    steps = 0
    while places.back() is not None:
        steps += 1
    assert steps == PLACES_MAX - 1
