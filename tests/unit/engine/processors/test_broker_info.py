from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.json_body import parse_object
from tests.support.broker_bench import RecordingPeer, pull_fields

PEER = RecordingPeer()


def runtime(bench):
    return parse_object(bench.answer(PEER, Q.GET_BROKER_RUNTIME_INFO).body)["table"]


def test_every_figure_is_text_and_what_tools_parse_is_there(bench):
    table = runtime(bench)
    assert all(isinstance(value, str) for value in table.values())
    assert (table["brokerVersionDesc"], table["putMessageTimesTotal"], table["earliestMessageTimeStamp"]) == (
        "V5_3_3",
        "0",
        "-1",
    )
    for key in ("putTps", "getTotalTps", "getTransferedTps"):
        assert [float(part) for part in table[key].split(" ")]


def test_traffic_and_time_show(bench):
    start = bench.clock()
    for _ in range(20):
        bench.put()
    bench.answer(PEER, Q.PULL_MESSAGE, pull_fields())
    for _ in range(10):
        bench.clock.advance(1_000)
        bench.state.counters.sample(bench.clock())
    bench.clock.advance(90_061_000 - 10_000)
    table = runtime(bench)
    assert (table["putMessageTimesTotal"], table["msgGetTotalTodayNow"]) == ("20", "20")
    assert table["putTps"] == "2.0"
    assert table["earliestMessageTimeStamp"] == str(start)
    assert table["runtime"] == "[ 1 days, 1 hours, 1 minutes, 1 seconds ]"
    assert table["commitLogMaxOffset"] == str(bench.state.store.commit_log_max_offset)


def test_settings_come_under_their_rocketmq_keys(bench):
    response = bench.answer(PEER, Q.GET_BROKER_CONFIG)
    lines = dict(line.split("=", 1) for line in bytes(response.body).decode().splitlines())
    assert (lines["brokerName"], lines["autoCreateTopicEnable"], lines["flushDiskType"]) == ("broker-a", "true", "ASYNC_FLUSH")
    assert lines["maxMessageSize"] == "4194304"
    assert "counter" in response.ext_fields["version"]
