import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.tables.heartbeat import parse_heartbeat
from broker_core.errors import CodecError
from broker_core.protocol.json_body import emit

JAVA = (
    b'{"clientID":"192.0.2.2@7#12345","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_FIRST_OFFSET","consumeType":'
    b'"CONSUME_PASSIVELY","groupName":"CG","messageModel":"CLUSTERING","subscriptionDataSet":[{"classFilterMode":false,'
    b'"codeSet":[2598919,2598920],"expressionType":"TAG","subString":"TagA || TagB","subVersion":1700000000000,'
    b'"tagsSet":["TagA","TagB"],"topic":"TopicTest"}],"unitMode":false}],"producerDataSet":[{"groupName":"PG"}]}'
)


def test_what_a_java_client_sends():
    beat = parse_heartbeat(JAVA)
    (consumer,) = beat.consumers
    (subscription,) = consumer.subscriptions
    assert (beat.client_id, beat.producer_groups, consumer.group) == ("192.0.2.2@7#12345", ("PG",), "CG")
    assert (subscription.codes, subscription.version) == (frozenset({2598919, 2598920}), 1700000000000)
    assert not consumer.broadcasting


@pytest.mark.parametrize("model", [0, "BROADCASTING", "BroadCasting"])
def test_enums_come_by_ordinal_as_from_cpp_and_in_any_case_as_from_go(model):
    consumer = {"groupName": "G", "messageModel": model, "consumeType": 0}
    beat = parse_heartbeat(emit({"clientID": "c", "consumerDataSet": [consumer]}))
    assert beat.consumers[0].broadcasting
    assert beat.consumers[0].consume_type == "CONSUME_ACTIVELY"


def test_codes_of_tags_are_added_when_a_client_leaves_them_out():
    item = {"topic": "T", "subString": "TagA", "tagsSet": ["TagA"]}
    beat = parse_heartbeat(emit({"clientID": "c", "consumerDataSet": [{"groupName": "G", "subscriptionDataSet": [item]}]}))
    assert beat.consumers[0].subscriptions[0].codes == {2598919}


SIMPLE = st.none() | st.booleans() | st.integers() | st.text()
JSON = st.recursive(SIMPLE, lambda s: st.lists(s) | st.dictionaries(st.text(), s))
GROUPS = JSON | st.lists(st.fixed_dictionaries({"groupName": JSON, "subscriptionDataSet": JSON}))


@given(st.fixed_dictionaries({"clientID": JSON, "producerDataSet": JSON, "consumerDataSet": GROUPS}))
def test_any_body_parses_or_is_refused(value):
    try:
        beat = parse_heartbeat(emit(value))
    except CodecError:
        return
    assert beat.client_id == value["clientID"]
    assert len(beat.consumers) == len(value["consumerDataSet"] or ())
