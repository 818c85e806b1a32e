"""Lives of the messages of real brokers' stores: every record of a message leads to the same story."""

from collections import defaultdict

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.transaction.history import LifeState, read_history
from broker_core.worker.lifeline.gather import gather
from broker_core.worker.lifeline.join import join
from broker_core.worker.lifeline.model import EventKind, Story
from tests.support.golden import contents, golden_store

HALF, DISCARDED, DELAYS = "RMQ_SYS_TRANS_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SCHEDULE_TOPIC_XXXX"


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    """Stories of the messages of a store, by physical offset; each store is opened once."""
    known = {}

    def read(name):
        if name not in known:
            golden = golden_store(name)
            root = golden.unpack(tmp_path_factory.mktemp("golden"))
            before = contents(root)
            with MessageStore.open(StoreConfig(root=root), read_only=True) as store:
                places = [message.columns["physicalOffset"] for message in golden.messages()]
                known[name] = golden, {place: join(gather(store, place), ()) for place in places}
            assert contents(root) == before
        return known[name]

    return read


def kinds(story: Story) -> list[EventKind]:
    return [event.kind for event in story.events]


@pytest.mark.parametrize("name", ["transaction", "transaction-5", "consume", "consume-5", "delay", "delay-5"])
def test_all_records_of_a_message_tell_the_same_story(stories, name):
    golden, found = stories(name)
    by_key = defaultdict(set)
    for message in golden.messages():
        story = found[message.columns["physicalOffset"]]
        places = {event.physical_offset for event in story.events}
        if not message.topic.startswith("RMQ_SYS_TRANS_OP"):
            assert message.columns["physicalOffset"] in places
            by_key[message.columns["properties"].get("UNIQ_KEY", str(message.columns["physicalOffset"]))].add(story.events)
        assert [event.at_ms for event in story.events] == sorted(event.at_ms for event in story.events)
    assert {key: len(told) for key, told in by_key.items() if len(told) > 1} == {}


@pytest.mark.parametrize("name", ["transaction", "transaction-5"])
def test_transactions_end_as_their_history_says(stories, tmp_path, name):
    golden, found = stories(name)
    with MessageStore.open(StoreConfig(root=golden.unpack(tmp_path)), read_only=True) as store:
        lives = read_history(store, count=1_000).lives
    ends = {EventKind.COMMITTED: "committed", EventKind.ROLLED_BACK: "rolled back", EventKind.GIVEN_UP: "given up"}
    for life in lives:
        for place in life.half_places:
            told = {ends[kind] for kind in kinds(found[place]) if kind in ends}
            if life.state is LifeState.COMMITTED:
                # A 5.x broker loses decisions that it had only collected, and gives up what was committed; both are told.
                told.discard("given up")
            assert told == {life.state.value} & set(ends.values())
    assert {life.state for life in lives} >= {
        LifeState.COMMITTED,
        LifeState.ROLLED_BACK,
        LifeState.GIVEN_UP,
        LifeState.CHECKING,
    }


@pytest.mark.parametrize("name", ["transaction", "transaction-5"])
def test_a_message_that_was_given_up_shows_all_its_checks(stories, name):
    golden, found = stories(name)
    discarded = [message for message in golden.messages() if message.topic == DISCARDED]
    assert discarded
    for message in discarded:
        told = found[message.columns["physicalOffset"]]
        assert [event.number for event in told.events if event.kind is EventKind.CHECKED] == [1, 2, 3, 4, 5, 6]
        assert kinds(told)[-1] is EventKind.GIVEN_UP


@pytest.mark.parametrize("name", ["consume", "consume-5"])
def test_a_dead_letter_shows_its_attempts_and_retries_in_turn(stories, name):
    golden, found = stories(name)
    dead = [message for message in golden.messages() if message.topic.startswith("%DLQ%")]
    assert dead
    for message in dead:
        story = found[message.columns["physicalOffset"]]
        last = story.events[-1]
        assert (last.kind, last.topic) == (EventKind.DEAD, message.topic)
        attempts = [event for event in story.events if event.kind is EventKind.ATTEMPT]
        assert [event.number for event in attempts] == list(range(1, last.number + 1))
        assert {event.outcome for event in attempts} == {"failed"}
        retries = [event for event in story.events if event.kind is EventKind.RETRY]
        assert [event.number for event in retries] == list(range(1, last.number))
        assert all(0 <= event.at_ms - event.until_ms < 5_000 for event in retries)


@pytest.mark.parametrize("name", ["delay", "delay-5"])
def test_a_delayed_message_says_when_it_is_due_and_how_late_it_came(stories, name):
    golden, found = stories(name)
    delivered = waiting = 0
    for message in golden.messages():
        if message.topic != DELAYS:
            continue
        story = found[message.columns["physicalOffset"]]
        wait = next(event for event in story.events if event.kind is EventKind.DELAYED)
        assert wait.until_ms > wait.at_ms
        if kinds(story)[-1] is EventKind.DELIVERED:
            delivered += 1
            assert -1_000 <= story.events[-1].at_ms - wait.until_ms < 5_000
        else:
            waiting += 1
    assert delivered
    assert waiting
