from __future__ import annotations

from gui.main_window.clusters import EMBEDDED, STORES_MAX, Cluster, remembered


def test_the_current_store_comes_first_and_each_once():
    assert remembered(["/a", "/b", "", "/c"], "/b") == ["/b", "/a", "/c"]


def test_only_the_newest_stores_are_kept():
    assert remembered([f"/{number}" for number in range(50)], "/now") == ["/now", *(f"/{n}" for n in range(STORES_MAX - 1))]


def test_a_store_is_called_by_the_folder_that_tells_it_from_others():
    assert Cluster(EMBEDDED, "/home/ann/orbit/store").name == "orbit"
    assert Cluster(EMBEDDED, "/data/shop").name == "shop"
