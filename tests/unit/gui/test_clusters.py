from __future__ import annotations

import pytest

from gui.main_window.clusters import (
    ATTACHED,
    EMBEDDED,
    STORES_MAX,
    Cluster,
    Clusters,
    attached_cluster,
    kept_cluster,
    kept_text,
    remembered,
)


def test_the_current_store_comes_first_and_each_once():
    assert remembered(["/a", "/b", "", "/c"], "/b") == ["/b", "/a", "/c"]


def test_only_the_newest_stores_are_kept():
    assert remembered([f"/{number}" for number in range(50)], "/now") == ["/now", *(f"/{n}" for n in range(STORES_MAX - 1))]


def test_a_store_is_called_by_the_folder_that_tells_it_from_others():
    assert Cluster(EMBEDDED, "/home/ann/orbit/store").name == "orbit"
    assert Cluster(EMBEDDED, "/data/shop").name == "shop"


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(EMBEDDED, "/data/shop"),
        Cluster(ATTACHED, "10.0.0.5:9876;10.0.0.6:9876"),
        Cluster(ATTACHED, "[::1]:9876", read_only=True),
    ],
)
def test_what_is_kept_is_the_same_cluster_again(cluster):
    assert kept_cluster(kept_text(cluster)) == cluster


def test_an_attached_cluster_is_called_by_its_address_and_known_as_such():
    attached = Cluster(ATTACHED, "h:9876")
    assert attached.name == "h:9876"
    assert attached_cluster(Clusters(known=lambda: [attached, Cluster(EMBEDDED, "/a")])) == attached
    assert attached_cluster(Clusters(known=lambda: [Cluster(EMBEDDED, "/a"), attached])) is None
    assert attached_cluster(Clusters()) is None
