import pytest

from broker_core.api import MessageQueue, read_running_info
from broker_core.protocol.json_body import emit
from monitoring.admin.clients import BLOCKED_AFTER_MS, FindingKind, ask_running_info, findings, read_stacks
from tests.support.fake_broker import JSTACK

NOW_MS = 1_795_227_302_640


def info(client: str, *, held: int = 0, consumed_ms: int = NOW_MS, orderly: bool = False, locked: bool = True,
         dropped: bool = False, protocol: str = "", **topics: str):  # fmt: skip
    queue = {"cachedMsgCount": held, "lastConsumeTimestamp": consumed_ms, "locked": locked, "droped": dropped}
    properties = {"PROP_CONSUMEORDERLY": str(orderly).lower()} | ({"PROTOCOL": protocol} if protocol else {})
    return read_running_info(
        client,
        emit(
            {
                "mqTable": {} if protocol else {MessageQueue("t", "b", 3): queue},
                "properties": properties,
                "subscriptionSet": [{"topic": topic, "subString": text} for topic, text in topics.items()],
            }
        ),
    )


def test_stacks_are_asked_for_by_name():
    assert ask_running_info("g", "c", stacks=True).fields == {"consumerGroup": "g", "clientId": "c", "jstackEnable": "true"}


def test_members_that_agree_are_no_finding():
    assert findings([info("a", t="A || B"), info("b", t="B || A")], NOW_MS) == []


def test_filters_and_topics_that_differ_are_found():
    (filters,) = findings([info("a", t="A"), info("b", t="A || B")], NOW_MS)
    assert (filters.kind, filters.topic, filters.clients) == (FindingKind.FILTERS_DIFFER, "t", (("a", "A"), ("b", "A || B")))
    (topics,) = findings([info("a", t="*"), info("b", t="*", u="*")], NOW_MS)
    assert (topics.kind, topics.topic, topics.clients) == (FindingKind.TOPICS_DIFFER, "u", (("a", ""), ("b", "*")))


def test_a_member_without_subscription_is_found_among_others_only():
    assert findings([info("a")], NOW_MS) == []
    (nothing,) = findings([info("a"), info("b", t="*")], NOW_MS)
    assert (nothing.kind, nothing.clients) == (FindingKind.NOTHING_SUBSCRIBED, (("a", ""),))


def test_members_that_pop_beside_members_that_pull_are_found():
    assert findings([info("a", t="*", protocol="gRPC"), info("b", t="*", protocol="gRPC")], NOW_MS) == []
    (both,) = findings([info("b", t="*"), info("a", t="*", protocol="gRPC")], NOW_MS)
    assert (both.kind, both.clients) == (FindingKind.TWO_PROTOCOLS, (("a", "gRPC"), ("b", "remoting")))


def test_a_member_that_holds_messages_and_consumes_none_may_be_blocked():
    long_ago = NOW_MS - BLOCKED_AFTER_MS - 1
    (stuck,) = findings([info("a", held=5, consumed_ms=long_ago, t="*")], NOW_MS)
    assert (stuck.kind, stuck.topic, stuck.clients) == (FindingKind.MAY_BE_BLOCKED, "t", (("a", "3"),))
    (named,) = findings([info("a", held=5, consumed_ms=long_ago, t="*")], NOW_MS, "broker-b {}".format)
    assert named.clients == (("a", "broker-b 3"),)
    assert findings([info("a", held=0, consumed_ms=long_ago, t="*")], NOW_MS) == []
    assert findings([info("a", held=5, consumed_ms=0, t="*")], NOW_MS) == []
    assert findings([info("a", held=5, consumed_ms=long_ago, dropped=True, t="*")], NOW_MS) == []


def test_an_orderly_member_must_have_locked_its_queues():
    (unlocked,) = findings([info("a", orderly=True, locked=False, t="*")], NOW_MS)
    assert unlocked.kind is FindingKind.NOT_LOCKED
    assert findings([info("a", orderly=False, locked=False, t="*")], NOW_MS) == []


def test_equal_stacks_stand_together_the_most_frequent_first():
    waiting, main = read_stacks(JSTACK)
    assert waiting.names == ("ConsumeMessageThread_1", "ConsumeMessageThread_2")
    assert waiting.state == "WAITING"
    assert waiting.frames[0] == "sun.misc.Unsafe.park(Unsafe.java:-2)"
    assert (main.names, main.state) == (("main",), "RUNNABLE")


@pytest.mark.parametrize("text", ["", "\n\n", "one line", "a TID: \n\n\n b"])
def test_any_text_is_taken_for_a_dump(text):
    assert len(read_stacks(text)) <= 2


def test_a_dump_of_a_hostile_client_is_read_once():
    """The square of its length would be hours."""
    assert read_stacks("x" + " " * 1_000_000 + "x\n  at y") != []


def test_a_retry_topic_is_no_disagreement():
    """Clients of remoting subscribe it by themselves, those of gRPC do not."""
    over_remoting = info("a", **{"orders": "*", "%RETRY%g": "*"})
    over_grpc = info("b", orders="*")
    assert findings([over_remoting, over_grpc], NOW_MS) == []
