from broker_core.worker.embedded.catalog import take_inventory
from tests.support.engine import Engine


def topic_rows(engine: Engine) -> list[tuple[str, int]]:
    return take_inventory(engine, 1).queues


def test_every_queue_of_a_topic_is_listed_before_it_has_messages(engine: Engine):
    engine.add_topic("orders", 3)
    assert topic_rows(engine) == [("orders", 0), ("orders", 1), ("orders", 2)]


def test_system_topics_are_listed_with_the_queues_that_exist_only(engine: Engine):
    engine.put("BenchmarkTest", 7, b"x")
    inventory = take_inventory(engine, 1)
    assert "SCHEDULE_TOPIC_XXXX" in inventory.catalog.topics
    assert inventory.queues == [("BenchmarkTest", 7)]
    assert inventory.catalog.topic_is_system[inventory.catalog.topics.index("BenchmarkTest")]


def test_a_queue_beyond_the_topics_number_is_listed_when_it_has_messages(engine: Engine):
    engine.add_topic("orders", 1)
    engine.put("orders", 5, b"x")
    engine.put("forgotten", 0, b"x")
    catalog = take_inventory(engine, 1).catalog
    assert topic_rows(engine) == [("forgotten", 0), ("orders", 0), ("orders", 5)]
    assert catalog.topic_write_queues[catalog.topics.index("forgotten")] == 0


def test_positions_are_committed_offsets_and_subscribed_queues(engine: Engine):
    engine.add_topic("orders", 2)
    engine.add_topic("payments", 1)
    engine.offsets.commit("billing", "orders", 1, 5)
    engine.offsets.commit("billing", "gone", 0, 5)
    engine.join("audit", "c1", ["payments", "unknown"])
    inventory = take_inventory(engine, 1)
    assert [(group, inventory.queues[row]) for group, row in inventory.positions] == [
        ("audit", ("payments", 0)),
        ("billing", ("orders", 1)),
    ]
    groups = inventory.catalog.groups
    assert [groups[index] for index in inventory.catalog.position_group] == ["audit", "billing"]


def test_broadcasting_groups_have_no_positions(engine: Engine):
    engine.add_topic("orders", 2)
    engine.join("screens", "c1", ["orders"], model="BROADCASTING")
    inventory = take_inventory(engine, 1)
    assert inventory.catalog.groups == ["screens"]
    assert inventory.positions == []


def test_the_brokers_own_groups_are_listed_when_in_use(engine: Engine):
    assert take_inventory(engine, 1).catalog.groups == []
    engine.add_topic("orders", 1)
    engine.offsets.commit("TOOLS_CONSUMER", "orders", 0, 1)
    catalog = take_inventory(engine, 1).catalog
    assert (catalog.groups, catalog.group_is_system) == (["TOOLS_CONSUMER"], [True])
