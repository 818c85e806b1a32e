"""Moving groups: resets, copies, corrections, and where members say they stand."""

import pytest

from broker_core.errors import NetworkError
from broker_core.protocol.codes import LanguageCode
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit, parse_object
from tests.support.broker_bench import RecordingPeer, consumer_heartbeat

TOOL = RecordingPeer("10.0.0.1:1")
QUEUES = [MessageQueue("T", "broker-a", number) for number in range(4)]


@pytest.fixture
def filled(bench):
    """Five messages in each of two queues, a second apart; the group has consumed three of each."""
    bench.state.groups.find("CG")
    for _ in range(5):
        for queue_id in (0, 1):
            bench.put(queue_id=queue_id)
        bench.clock.advance(1_000)
    for queue_id in (0, 1):
        bench.state.offsets.commit("CG", "T", queue_id, 3)
    return bench


def member(bench, client_id="me", **settings):
    peer = RecordingPeer(f"10.0.0.7:{len(client_id)}", **settings)
    command = RemotingCommand(Q.HEART_BEAT, {}, emit(consumer_heartbeat(client_id, T="*")), language=peer.language)
    bench.dispatcher.handle(peer, command)
    peer.pushed.clear()
    return peer


def reset(bench, timestamp, *, force=True, **more):
    fields = {"topic": "T", "group": "CG", "timestamp": timestamp, "isForce": str(force).lower()} | more
    return bench.answer(TOOL, Q.INVOKE_BROKER_TO_RESET_OFFSET, fields)


def pushed_table(peer):
    (push,) = peer.pushed
    assert push.code == Q.RESET_CONSUMER_CLIENT_OFFSET
    return parse_object(push.body)["offsetTable"]


def test_every_member_is_told_the_offsets_of_a_time(filled):
    start = filled.clock() - 5_000
    first, second = member(filled, "a"), member(filled, "bb")
    first.pushed.clear()
    answer = reset(filled, start + 1_000)
    wanted = {QUEUES[0]: 1, QUEUES[1]: 1, QUEUES[2]: 0, QUEUES[3]: 0}
    assert answer.code == R.SUCCESS
    assert parse_object(answer.body)["offsetTable"] == wanted
    assert pushed_table(first) == pushed_table(second) == wanted
    assert filled.state.offsets.get("CG", "T", 0) == 3, "members commit the offsets themselves"


class Untold(RecordingPeer):
    """A client of gRPC, which takes no notices."""

    def send_oneway(self, _command):
        return False


def test_the_broker_sets_the_offsets_of_members_that_do_not(filled):
    peer = Untold("10.0.0.7:1")
    filled.dispatcher.handle(peer, RemotingCommand(Q.HEART_BEAT, {}, emit(consumer_heartbeat("me", T="*"))))
    assert reset(filled, 0).code == R.SUCCESS
    assert [filled.state.offsets.get("CG", "T", queue_id) for queue_id in (0, 1)] == [0, 0]


def test_the_broker_sets_the_offsets_of_members_that_pop(filled):
    member(filled)
    mode = {"consumerGroup": "CG", "topic": "T", "mode": "POP", "popShareQueueNum": 0}
    assert filled.answer(TOOL, Q.SET_MESSAGE_REQUEST_MODE, {}, emit(mode)).code == R.SUCCESS
    assert reset(filled, 0).code == R.SUCCESS
    assert [filled.state.offsets.get("CG", "T", queue_id) for queue_id in (0, 1)] == [0, 0]


@pytest.mark.parametrize(
    ("after_ms", "offset"), [(-9, 0), (0, 0), (1, 1), (499, 1), (1_000, 1), (4_000, 4), (4_001, 5), (1 << 45, 5)]
)
def test_a_reset_goes_to_the_first_message_at_or_after_a_time(filled, after_ms, offset):
    member(filled)
    start = filled.clock() - 5_000
    assert parse_object(reset(filled, start + after_ms).body)["offsetTable"][QUEUES[0]] == offset


def test_queues_that_are_only_read_while_a_topic_shrinks_are_reset_too(filled):
    member(filled)
    shrunk = {"topic": "T", "readQueueNums": 4, "writeQueueNums": 1, "perm": 6, "topicFilterType": "SINGLE_TAG"}
    assert filled.answer(TOOL, Q.UPDATE_AND_CREATE_TOPIC, {**shrunk, "defaultTopic": "TBW102"}).code == R.SUCCESS
    assert set(parse_object(reset(filled, 0).body)["offsetTable"]) == set(QUEUES[:4])


def test_minus_one_goes_to_the_end_and_without_force_nobody_skips_ahead(filled):
    peer = member(filled)
    assert parse_object(reset(filled, -1).body)["offsetTable"][QUEUES[0]] == 5
    peer.pushed.clear()
    assert parse_object(reset(filled, -1, force=False).body)["offsetTable"][QUEUES[0]] == 3
    assert parse_object(reset(filled, 0, force=False).body)["offsetTable"][QUEUES[0]] == 0


def test_a_client_in_c_gets_a_list(filled):
    peer = member(filled, language=LanguageCode.CPP)
    reset(filled, 0)
    assert {"brokerName": "broker-a", "offset": 0, "queueId": 1, "topic": "T"} in pushed_table(peer)


def test_a_group_that_is_offline_is_not_online(filled):
    answer = reset(filled, 0)
    assert (answer.code, "Consumer not online" in answer.remark) == (R.CONSUMER_NOT_ONLINE, True)


def test_unknown_topics_and_groups_are_refused(filled):
    assert reset(filled, 0, topic="Other").code == R.SYSTEM_ERROR
    answer = reset(filled, 0, group="Nobody")
    assert (answer.code, answer.remark) == (R.SYSTEM_ERROR, "THe consumer group <Nobody> not exist")


def test_one_queue_goes_to_a_given_offset(filled):
    peer = member(filled)
    reset(filled, 0, queueId=1, offset=2)
    assert pushed_table(peer) == {QUEUES[1]: 2}


@pytest.mark.parametrize("offset", [4, 0, 1 << 40])
def test_an_offset_without_its_queue_is_none(filled, offset):
    """Else an offset of one queue would be that of all, also beyond their ends."""
    mode = {"consumerGroup": "CG", "topic": "T", "mode": "POP", "popShareQueueNum": 0}
    assert filled.answer(TOOL, Q.SET_MESSAGE_REQUEST_MODE, {}, emit(mode)).code == R.SUCCESS
    member(filled)
    assert reset(filled, filled.clock() - 4_000, offset=offset).code == R.SUCCESS
    assert [filled.state.offsets.get("CG", "T", queue_id) for queue_id in range(4)] == [1, 1, 0, 0]


@pytest.mark.parametrize("more", [{}, {"offset": 0}, {"offset": 7}])
def test_a_queue_that_is_not_there_is_refused_and_gets_no_offset(filled, more):
    peer = member(filled)
    assert reset(filled, 0, queueId=9, **more).code != R.SUCCESS
    assert (peer.pushed, filled.state.offsets.get("CG", "T", 9)) == ([], -1)


def test_online_and_offline_resets_end_at_the_same_offsets(filled):
    """The client path takes what the broker pushes, the offline path what a tool searches and commits."""
    member(filled)
    for timestamp in (filled.clock() - 4_400, filled.clock() - 4_600, 0, 1 << 45, -2, -(1 << 63)):
        online = parse_object(reset(filled, timestamp).body)["offsetTable"]
        for queue in QUEUES:
            search = {"topic": "T", "queueId": queue.queue_id, "timestamp": timestamp}
            offset = int(filled.answer(TOOL, Q.SEARCH_OFFSET_BY_TIMESTAMP, search).ext_fields["offset"])
            place = {"consumerGroup": "CG", "topic": "T", "queueId": queue.queue_id}
            filled.answer(TOOL, Q.UPDATE_CONSUMER_OFFSET, place | {"commitOffset": offset})
            assert filled.state.offsets.get("CG", "T", queue.queue_id) == online[queue]


# ---- where members stand ----


def ask_status(bench, tool, **more):
    return bench.ask(tool, Q.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, {"topic": "T", "group": "CG"} | more)


def test_members_are_asked_and_their_answers_put_together(filled):
    tool, first, second = RecordingPeer(), member(filled, "a"), member(filled, "bb")
    assert ask_status(filled, tool) is None
    (question, answered), (_, failed) = first.asked[0], second.asked[0]
    assert (question.code, question.ext_fields["group"]) == (Q.GET_CONSUMER_STATUS_FROM_CLIENT, "CG")
    answered(question.reply(body=emit({"messageQueueTable": {QUEUES[0]: 7}})))
    assert tool.sent == []
    failed(NetworkError("gone"))
    (answer,) = tool.sent
    assert parse_object(answer.body)["consumerTable"] == {"a": {QUEUES[0]: 7}}


def test_only_one_member_is_asked_when_named_and_nobody_is_there_to_ask(filled):
    tool, first, second = RecordingPeer(), member(filled, "a"), member(filled, "bb")
    assert ask_status(filled, tool, clientAddr="bb") is None
    assert (len(first.asked), len(second.asked)) == (0, 1)
    answer = ask_status(filled, tool, group="Nobody")
    assert (answer.code, "No Any Consumer online" in answer.remark) == (R.SYSTEM_ERROR, True)


# ---- copies and corrections ----


def clone(bench, **fields):
    return bench.answer(TOOL, Q.CLONE_GROUP_OFFSET, {"srcGroup": "CG", "destGroup": "Copy", "topic": "T"} | fields)


def test_offsets_are_copied_to_another_group(filled):
    assert clone(filled).code == R.SUCCESS
    assert filled.state.offsets.get("Copy", "T", 1) == 3
    filled.state.offsets.commit("CG", "Gone", 0, 9)
    assert clone(filled, topic="", destGroup="All").code == R.SUCCESS
    assert filled.state.offsets.topics_of("All") == ["T"], "a topic that is gone is left out"


def test_a_copy_needs_a_group_that_may_be(filled):
    assert clone(filled, destGroup="../x").code == R.SYSTEM_ERROR
    filled.state.groups.auto_create = False
    assert clone(filled, destGroup="New").code == R.SUBSCRIPTION_GROUP_NOT_EXIST


def test_the_least_offset_of_all_groups(filled):
    filled.state.offsets.commit("Slow", "T", 0, 1)
    fields = {"topic": "T", "compareGroup": "CG"}
    found = parse_object(filled.answer(TOOL, Q.QUERY_CORRECTION_OFFSET, fields).body)["correctionOffsets"]
    assert found == {"0": 1, "1": 3}
    fields |= {"filterGroups": "Slow,Other"}
    found = parse_object(filled.answer(TOOL, Q.QUERY_CORRECTION_OFFSET, fields).body)["correctionOffsets"]
    assert found == {"0": 3, "1": 3}
    assert filled.state.offsets.get("Slow", "T", 0) == 1, "leaving a group out forgets nothing"


def test_one_queue_of_a_group_that_is_offline_is_set_where_it_is_told(bench):
    """Tools of 5.x name queue and offset and do not set them a second way."""
    bench.state.topics.ensure("T", queues=2)
    bench.state.groups.find("CG")
    for _ in range(8):
        bench.put(queue_id=1)
    fields = {"topic": "T", "group": "CG", "timestamp": 0, "isForce": "true", "queueId": 1, "offset": 7}
    assert bench.answer(TOOL, Q.INVOKE_BROKER_TO_RESET_OFFSET, fields).code == R.SUCCESS
    assert [bench.state.offsets.get("CG", "T", queue_id) for queue_id in (0, 1)] == [-1, 7]
    for queue_id in (-1, 2):
        answer = bench.answer(TOOL, Q.INVOKE_BROKER_TO_RESET_OFFSET, fields | {"queueId": queue_id})
        assert answer.code == R.CONSUMER_NOT_ONLINE, "of all queues, or of one that is not there"


@pytest.mark.parametrize("offset", [0, 1, 9, 1 << 62])
def test_no_queue_is_set_before_its_begin_or_behind_its_end(bench, monkeypatch, offset):
    bench.state.topics.ensure("T", queues=1)
    bench.state.groups.find("CG")
    for _ in range(8):
        bench.put()
    monkeypatch.setattr(bench.state.store, "min_offset", lambda _topic, _queue_id: 2)
    fields = {"topic": "T", "group": "CG", "timestamp": 0, "isForce": "true", "queueId": 0, "offset": offset}
    answer = bench.answer(TOOL, Q.INVOKE_BROKER_TO_RESET_OFFSET, fields)
    assert (answer.code, answer.remark) == (R.SYSTEM_ERROR, f"Target offset {offset} not in consume queue range [2-8]")
    assert bench.state.offsets.items() == []


def test_a_copy_leaves_out_what_its_queue_cannot_have(bench):
    bench.state.topics.ensure("T", queues=2)
    bench.state.groups.find("Copied")
    bench.put()
    for queue_id in (0, 1):
        bench.state.offsets.commit("CG", "T", queue_id, 1)
    fields = {"srcGroup": "CG", "destGroup": "Copied", "topic": "T", "offline": "true"}
    assert bench.answer(TOOL, Q.CLONE_GROUP_OFFSET, fields).code == R.SUCCESS
    assert [bench.state.offsets.get("Copied", "T", queue_id) for queue_id in (0, 1)] == [1, -1]
