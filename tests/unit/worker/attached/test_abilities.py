"""What brokers cannot do, from what they tell of themselves."""

import asyncio

import pytest

from broker_core.worker.attached.abilities import BrokerNature, broker_cannot, cluster_cannot
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.refusals import OUTSIDE
from tests.support.attached import attached
from tests.support.fake_cluster import V4_9_4, V5_3_3, FakeBroker, FakeCluster

FIVE = {"brokerVersion": str(V5_3_3)}
FOUR = {"brokerVersion": str(V4_9_4)}
ON = {
    "timerWheelEnable": "true",
    "enablePropertyFilter": "true",
    "traceTopicEnable": "true",
    "aclEnable": "true",
    "orbitAtomicTransactions": "true",
}


def test_a_broker_that_has_everything_on_can_do_everything():
    assert broker_cannot("a", BrokerNature(FIVE, ON, ())) == {}


def test_what_is_not_known_is_not_denied():
    assert broker_cannot("a", BrokerNature({}, {}, ())) == {}


def test_an_old_broker_lacks_what_came_with_five():
    cannot = broker_cannot("a", BrokerNature(FOUR, ON, ()))
    assert set(cannot) == {Ability.TIMERS, Ability.POP, Ability.RESET_ONE_QUEUE}
    assert all(reason.startswith("broker a (V4_9_4) ") and "5.0 or later" in reason for reason in cannot.values())


@pytest.mark.parametrize(
    ("setting", "abilities"),
    [
        ("timerWheelEnable", {Ability.TIMERS, Ability.POP}),
        ("enablePropertyFilter", {Ability.SQL_FILTERS}),
        ("traceTopicEnable", {Ability.TRACE}),
        ("aclEnable", {Ability.ACCESS_CONTROL}),
        ("orbitAtomicTransactions", {Ability.ATOMIC_TRANSACTIONS}),
    ],
)
def test_a_setting_that_is_off_or_missing_denies_what_hangs_on_it(setting, abilities):
    for config in ({**ON, setting: "false"}, {key: value for key, value in ON.items() if key != setting}):
        assert set(broker_cannot("a", BrokerNature(FIVE, config, ()))) == abilities


def test_later_access_control_and_a_trace_topic_that_somebody_made_count():
    config = {**ON, "aclEnable": "false", "authenticationEnabled": "true", "traceTopicEnable": "false"}
    assert broker_cannot("a", BrokerNature(FIVE, config, {"RMQ_SYS_TRACE_TOPIC"})) == {}


def test_a_mixed_cluster_can_do_what_all_of_its_brokers_can():
    cannot = cluster_cannot([{"timers": "broker a …"}, {}, {"timers": "broker c …"}])
    assert cannot.pop("timers") == "broker a …; broker c …"
    assert cannot == {ability.value: reason for ability, reason in OUTSIDE.items()}
    many = cluster_cannot({"pop": f"broker {number} …"} for number in range(9))
    assert many["pop"] == "broker 0 …; broker 1 …; broker 2 …; more brokers: 6"


def test_the_catalog_tells_of_each_broker_and_anew_when_one_changes():
    async def scenario():
        old, new = FakeBroker("a", version=V4_9_4), FakeBroker("b", settings=dict(ON))
        async with FakeCluster([old, new]) as cluster, attached(cluster.name_server) as watched:
            await watched.sampling.once()
            catalog = watched.figures.catalog()
            assert (catalog.brokers, catalog.broker_version) == (["a", "b"], ["V4_9_4", "V5_3_3"])
            assert (catalog.broker_address, catalog.broker_slaves) == ([old.address, new.address], [0, 0])
            assert catalog.broker_cannot[1] == {}
            assert "broker a (V4_9_4)" in catalog.cannot[Ability.TIMERS]
            old.version, old.settings = V5_3_3, dict(ON)
            cluster.slaves = {"b": 1}
            await watched.sampling.once()
            catalog = watched.figures.catalog()
            assert (catalog.broker_cannot, set(catalog.cannot)) == ([{}, {}], {ability.value for ability in OUTSIDE})
            assert catalog.broker_slaves == [0, 1]

    asyncio.run(scenario())
