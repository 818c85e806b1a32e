from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from broker_core.client.instance import ClientSecurity
from broker_core.cluster.access import access_of_line
from broker_core.cluster.details import kept_as_of, security_of
from broker_core.transport.proxies import SocksProxy, SshTunnel
from gui.connections.cluster import (
    ATTACHED,
    CONNECTIONS_MAX,
    EMBEDDED,
    STORES_MAX,
    Cluster,
    changed_to,
    details_of,
    kept_cluster,
    kept_text,
    remembered,
    secret_owners,
    settled,
)
from gui.operations.clusters import Clusters


def test_the_current_store_comes_first_and_each_once():
    assert remembered(["/a", "/b", "", "/c"], "/b") == ["/b", "/a", "/c"]


def test_a_changed_connection_takes_the_place_of_the_one_before():
    before, other = kept_text(Cluster(ATTACHED, "h:1", title="old")), kept_text(Cluster(ATTACHED, "h:2"))
    now = kept_text(Cluster(ATTACHED, "h:1", read_only=True, title="new"))
    assert remembered([before, other], now) == [now, other]


def test_a_connection_stays_the_same_under_other_name_servers():
    first = Cluster(ATTACHED, "h:1", title="Stage", access_key="ann")
    moved = changed_to(first, replace(first, address="h:2;h:3"))
    assert (moved.place, moved.kept_under) == (first.place, "h:1")
    assert kept_cluster(kept_text(moved)) == moved
    assert remembered([kept_text(first), kept_text(Cluster(ATTACHED, "h:4"))], kept_text(moved))[:1] == [kept_text(moved)]
    assert len(remembered([kept_text(first)], kept_text(moved))) == 1
    assert changed_to(moved, replace(moved, address="h:5", kept_as="")).kept_under == "h:1"
    assert changed_to(moved, replace(moved, address="h:1", kept_as="")) == first
    line = details_of(moved, {"ann": "hidden"}).encode()
    assert (kept_as_of(line), access_of_line(line).kept_as) == ("h:1", "h:1")
    assert kept_as_of(details_of(first, {"ann": "hidden"}).encode()) == ""


def test_a_new_connection_shares_nothing_with_one_that_had_its_name_servers_once():
    moved = Cluster(ATTACHED, "h:2", kept_as="h:1")
    assert settled(Cluster(ATTACHED, "h:3"), [moved]).kept_under == "h:3"
    again = settled(Cluster(ATTACHED, "h:1"), [moved, Cluster(EMBEDDED, "/a")])
    assert (again.address, again.kept_under) == ("h:1", "h:1#2")
    assert settled(Cluster(ATTACHED, "h:1"), [moved, replace(again, address="h:9")]).kept_under == "h:1#3"
    assert settled(Cluster(ATTACHED, "h:2", title="New"), [moved]) == replace(moved, title="New"), "it changes that one"
    clusters = Clusters(known=lambda: [moved, again])
    assert [clusters.at(name) for name in ("h:1", "h:2", "h:3")] == [again, moved, None]
    assert Clusters(known=lambda: [moved]).at("h:1") == moved, "a link of before leads there"


def test_a_worker_reads_the_details_that_the_window_writes():
    cluster = Cluster(ATTACHED, "h:1", access_key="ann", tls=True, verify=False, addresses=(("a:1", "b:1"),))
    security = security_of(details_of(cluster, {"ann": "hidden"}).encode())
    assert security.credentials is not None
    assert security.credentials.secret_key == "hidden"
    assert security.tls is not None
    assert security.addresses == {"a:1": "b:1"}
    assert "hidden" not in kept_text(cluster)


def test_the_details_of_a_plain_connection_say_where_it_is_alone():
    plain = Cluster(ATTACHED, "h:1", True, title="Prod", colour="#c0273a", production=True)
    assert json.loads(details_of(plain, {})) == {"nameServers": "h:1", "readOnly": True}
    assert security_of(details_of(plain, {}).encode()) == ClientSecurity()


def test_a_proxy_and_a_tunnel_reach_the_worker_with_their_secrets():
    proxied = Cluster(ATTACHED, "h:1", socks="p:1080", socks_user="bob")
    assert secret_owners(proxied) == {"socksPassword": "socks:bob"}
    assert security_of(details_of(proxied, {"socks:bob": "hidden"}).encode()).way == SocksProxy("p", 1080, "bob", "hidden")
    tunnelled = Cluster(ATTACHED, "h:1", ssh="s:22", ssh_user="bob", ssh_key="/k", ssh_known_hosts="/hosts")
    assert secret_owners(tunnelled) == {"sshPassphrase": "ssh:/k"}
    way = security_of(details_of(tunnelled, {"ssh:/k": "hidden"}).encode()).way
    assert way == SshTunnel("s", 22, "bob", Path("/k"), "hidden", Path("/hosts"))
    assert "hidden" not in f"{way}{kept_text(tunnelled)}"


def test_only_the_newest_stores_are_kept():
    assert remembered([f"/{number}" for number in range(50)], "/now") == ["/now", *(f"/{n}" for n in range(STORES_MAX - 1))]


def test_connections_give_way_to_no_store():
    connections = [kept_text(Cluster(ATTACHED, f"h:{port}", title="T")) for port in range(1, 20)]
    kept = remembered([*connections, *(f"/{number}" for number in range(50))], "/now")
    assert kept == ["/now", *connections, *(f"/{number}" for number in range(STORES_MAX - 1))]
    more = [kept_text(Cluster(ATTACHED, f"h:{port}")) for port in range(1, CONNECTIONS_MAX + 9)]
    assert remembered(more, "/now") == ["/now", *more[:CONNECTIONS_MAX]]


def test_a_store_is_called_by_the_folder_that_tells_it_from_others():
    assert Cluster(EMBEDDED, "/home/ann/orbit/store").name == "orbit"
    assert Cluster(EMBEDDED, "/data/shop").name == "shop"


@pytest.mark.parametrize(
    "cluster",
    [
        Cluster(EMBEDDED, "/data/shop"),
        Cluster(ATTACHED, "10.0.0.5:9876;10.0.0.6:9876"),
        Cluster(ATTACHED, "[::1]:9876", read_only=True),
        Cluster(ATTACHED, "h:9876", title="Prod & more = ü?", colour="#c0273a", access_key="ann"),
        Cluster(ATTACHED, "h:9876", read_only=True, tls=True, verify=False, authority="/a b.pem", key="/k", certificate="/c"),
        Cluster(ATTACHED, "h:9876", production=True, socks="127.0.0.1:1080", socks_user="ü &"),
        Cluster(ATTACHED, "h:9876", ssh="s:22", ssh_user="bob", ssh_key="/k", ssh_known_hosts="/h"),
        Cluster(ATTACHED, "h:9876", tls=True, addresses=(("172.17.0.3:10911", "10.0.0.1:1"), ("[::1]:2", "[::2]:2"))),
    ],
)
def test_what_is_kept_is_the_same_cluster_again(cluster):
    assert kept_cluster(kept_text(cluster)) == cluster


def test_an_attached_cluster_is_called_by_its_address_and_known_as_such():
    attached = Cluster(ATTACHED, "h:9876")
    assert attached.name == "h:9876"
    assert Clusters(known=lambda: [attached, Cluster(EMBEDDED, "/a")]).attached == attached
    assert Clusters(known=lambda: [Cluster(EMBEDDED, "/a"), attached]).attached is None
    assert Clusters().attached is None
