"""The route table: registration, liveness, and what queries see."""

from broker_core.engine.nameserver.registration import DataVersion, Registration
from broker_core.engine.nameserver.route_info import QUEUES_MAX, BrokerIdentity, RouteInfo
from broker_core.protocol.admin.topics import TopicConfig

MASTER = BrokerIdentity("C", "a", 0, "10.0.0.1:10911")
SLAVE = BrokerIdentity("C", "a", 1, "10.0.0.2:10911")
OTHER = BrokerIdentity("C", "b", 0, "10.0.0.3:10911")


def table(*names, counter=1, queues=4, permission=6):
    topics = {name: TopicConfig(name, queues, queues, permission) for name in names}
    return Registration(DataVersion(0, counter), topics)


def register(routes, identity, registration, *, now_ms=0, connection=None):
    return routes.register(
        identity, registration, ha_address=f"ha-{identity.broker_id}", connection=connection or identity, now_ms=now_ms
    )


def shape(route):
    return [(q.broker_name, q.write_queues, q.permission) for q in route.queues], [
        (b.broker_name, b.addresses) for b in route.brokers
    ]


def test_a_registered_topic_has_a_route():
    routes = RouteInfo()
    register(routes, MASTER, table("T"))
    assert shape(routes.route("T")) == ([("a", 4, 6)], [("a", {0: "10.0.0.1:10911"})])
    assert routes.route("U") is None
    assert (routes.topics(), routes.clusters()) == (["T"], {"C": ["a"]})


def test_a_route_names_every_broker_of_the_topic():
    routes = RouteInfo()
    register(routes, MASTER, table("T"))
    register(routes, SLAVE, table("T"))
    register(routes, OTHER, table("T", queues=2))
    queues, brokers = shape(routes.route("T"))
    assert queues == [("a", 4, 6), ("b", 2, 6)]
    assert brokers == [("a", {0: "10.0.0.1:10911", 1: "10.0.0.2:10911"}), ("b", {0: "10.0.0.3:10911"})]


def test_queues_that_can_be_read_on_all_brokers():
    routes = RouteInfo()
    register(routes, OTHER, table("T", queues=1))
    register(routes, MASTER, table("T", "W", queues=2))
    register(routes, BrokerIdentity("C", "c", 0, "10.0.0.4:10911"), table("T", permission=2))
    assert routes.readable_queues("T") == [("T", "a", 0), ("T", "a", 1), ("T", "b", 0)], "not those that are write-only"
    assert routes.readable_queues("U") == []
    register(routes, MASTER, table("H", queues=(1 << 31) - 1, counter=2))
    assert len(routes.readable_queues("H")) == QUEUES_MAX, "no number of a registration keeps the broker busy"


def test_a_table_is_taken_over_when_its_version_changed_only():
    routes = RouteInfo()
    register(routes, MASTER, table("T"))
    register(routes, MASTER, table("T", "U", queues=8))
    assert shape(routes.route("T"))[0] == [("a", 4, 6)]
    register(routes, MASTER, table("T", queues=8, counter=2))
    assert shape(routes.route("T"))[0] == [("a", 8, 6)]


def test_topics_that_are_missing_from_a_new_table_stay():
    routes = RouteInfo()
    register(routes, MASTER, table("T", "U"))
    register(routes, MASTER, table("T", counter=2))
    assert routes.route("U") is not None


def test_a_slave_brings_no_topics_and_learns_of_its_master():
    routes = RouteInfo()
    assert register(routes, SLAVE, table("T")).master_address is None
    assert routes.route("T") is None
    register(routes, MASTER, table("T"))
    answer = register(routes, SLAVE, table("T"))
    assert (answer.master_address, answer.ha_address) == (MASTER.address, "ha-0")


def test_a_slave_that_becomes_master_keeps_its_address_under_one_id():
    routes = RouteInfo()
    register(routes, SLAVE, table())
    promoted = BrokerIdentity("C", "a", 0, SLAVE.address)
    register(routes, promoted, table("T"))
    assert shape(routes.route("T"))[1] == [("a", {0: SLAVE.address})]


def test_a_silent_broker_is_dropped_after_120_s():
    routes = RouteInfo()
    register(routes, MASTER, table("T"), now_ms=0, connection="x")
    register(routes, OTHER, table("T"), now_ms=1)
    assert routes.expire(120_000) == []
    assert routes.expire(120_001) == [(MASTER.address, "x")]
    assert shape(routes.route("T"))[0] == [("b", 4, 6)]


def test_hearing_of_a_broker_in_any_way_keeps_it():
    routes = RouteInfo()
    register(routes, MASTER, table("T"), now_ms=0)
    assert routes.touch(MASTER.address, DataVersion(0, 1), now_ms=100_000) == (False, DataVersion(0, 1))
    assert routes.expire(130_000) == []
    routes.heard(MASTER.address, now_ms=200_000)
    assert routes.expire(310_000) == []


def test_another_version_is_reported_and_keeps_nothing_alive():
    routes = RouteInfo()
    register(routes, MASTER, table("T"), now_ms=0)
    assert routes.touch(MASTER.address, DataVersion(0, 2), now_ms=100_000) == (True, DataVersion(0, 1))
    assert routes.touch("nobody", DataVersion(0, 2), now_ms=0) == (True, None)
    assert [address for address, _ in routes.expire(130_000)] == [MASTER.address]


def test_a_lost_connection_drops_its_brokers_and_their_topics():
    routes = RouteInfo()
    register(routes, MASTER, table("T"), connection="x")
    register(routes, OTHER, table("U"), connection="y")
    assert routes.connection_lost("x") == [MASTER.address]
    assert (routes.topics(), routes.clusters()) == (["U"], {"C": ["b"]})
    routes.connection_lost("y")
    assert (routes.topics(), routes.clusters(), routes.brokers()) == ([], {}, {})


def test_topics_stay_while_a_slave_of_the_name_is_alive():
    routes = RouteInfo()
    register(routes, MASTER, table("T"))
    register(routes, SLAVE, table("T"))
    routes.unregister(MASTER)
    assert shape(routes.route("T")) == ([("a", 4, 6)], [("a", {1: SLAVE.address})])
    routes.unregister(SLAVE)
    assert routes.route("T") is None


def test_write_permission_is_taken_and_given_back():
    routes = RouteInfo()
    register(routes, MASTER, table("T", "U", permission=7))
    register(routes, OTHER, table("T"))
    assert routes.wipe_write_permission("a") == 2
    assert shape(routes.route("T"))[0] == [("a", 4, 5), ("b", 4, 6)]
    assert routes.add_write_permission("a") == 2
    assert shape(routes.route("T"))[0] == [("a", 4, 6), ("b", 4, 6)]
    assert routes.wipe_write_permission("nobody") == 0


def test_a_topic_is_deleted_everywhere_or_on_one_cluster():
    routes = RouteInfo()
    register(routes, MASTER, table("T", "U"))
    register(routes, BrokerIdentity("D", "b", 0, "10.0.0.3:1"), table("T"))
    routes.delete_topic("T", "D")
    assert shape(routes.route("T"))[0] == [("a", 4, 6)]
    routes.delete_topic("T")
    routes.delete_topic("never there")
    assert (routes.route("T"), routes.topics()) == (None, ["U"])


def test_topics_of_a_cluster():
    routes = RouteInfo()
    register(routes, MASTER, table("T"))
    register(routes, BrokerIdentity("D", "b", 0, "10.0.0.3:1"), table("U"))
    assert (routes.topics_of_cluster("C"), routes.topics_of_cluster("X")) == (["T"], [])


def test_a_silent_broker_is_dropped_after_120_s_and_a_5x_one_after_its_own_time():
    routes = RouteInfo()
    table = Registration(DataVersion(1, 1), {"T": TopicConfig("T", 4, 4)})
    for name, silence_ms in (("a", None), ("b", 10_000)):
        identity = BrokerIdentity("C", name, 0, f"{name}:1")
        routes.register(identity, table, ha_address="", connection=name, now_ms=0, silence_max_ms=silence_ms)
    assert [address for address, _ in routes.expire(10_001)] == ["b:1"]
    assert routes.expire(120_000) == []
    assert [address for address, _ in routes.expire(120_001)] == ["a:1"]
    assert routes.route("T") is None


def test_a_set_that_lost_its_master_keeps_its_routes():
    routes = RouteInfo()
    table = Registration(DataVersion(1, 1), {"T": TopicConfig("T", 4, 4)})
    routes.register(BrokerIdentity("C", "a", 0, "m:1"), table, ha_address="", connection="m", now_ms=0)
    routes.register(BrokerIdentity("C", "a", 1, "s:1"), table, ha_address="", connection="s", now_ms=0)
    assert routes.connection_lost("m") == ["m:1"]
    route = routes.route("T")
    assert (route.brokers[0].addresses, len(route.queues)) == ({1: "s:1"}, 1)


def test_topics_are_found_by_the_bits_of_their_flag():
    routes = RouteInfo()
    flags = {"plain": 0, "unit": 1, "sub": 2, "both": 3}
    table = {name: TopicConfig(name, 1, 1, sys_flag=flag) for name, flag in flags.items()}
    routes.register(
        BrokerIdentity("C", "a", 0, "a:1"), Registration(DataVersion(1, 1), table), ha_address="", connection="a", now_ms=0
    )
    assert (routes.topics_with_flag(1), routes.topics_with_flag(2), routes.topics_with_flag(2, 1)) == (
        ["unit", "both"],
        ["sub", "both"],
        ["sub"],
    )


def test_topics_of_a_registered_master_are_routed_at_once_and_those_of_others_not():
    routes = RouteInfo()
    made = [TopicConfig("Made", 3, 2)]
    routes.add_topics("a", MASTER.address, made)
    assert routes.route("Made") is None
    register(routes, SLAVE, table())
    routes.add_topics("a", SLAVE.address, made)
    assert routes.route("Made") is None
    register(routes, MASTER, table())
    routes.add_topics("a", OTHER.address, made)
    assert routes.route("Made") is None
    routes.add_topics("a", MASTER.address, made)
    assert shape(routes.route("Made"))[0] == [("a", 2, 6)]
