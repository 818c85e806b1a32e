"""Trace records: what clients of different age write, and what is no trace."""

from hypothesis import given
from hypothesis import strategies as st

from broker_core.worker.lifeline.traces import Trace, TraceKind, read_traces


def body(*records: list[str]) -> bytes:
    return "".join("\x01".join(fields) + "\x02" for fields in records).encode()


PUB = ["Pub", "1000", "DefaultRegion", "shop", "orders", "U1", "PAID", "k1", "10.0.0.1:10911", "120", "7", "0", "OFF1", "true"]
BEFORE = ["SubBefore", "2000", "DefaultRegion", "billing", "R1", "U1", "2", "k1"]
AFTER = ["SubAfter", "R1", "U1", "148", "false", "k1", "4", "2148", "billing"]
END = [
    "EndTransaction",
    "3000",
    "DefaultRegion",
    "shop",
    "orders",
    "U1",
    "PAID",
    "k1",
    "h",
    "2",
    "T1",
    "COMMIT_MESSAGE",
    "true",
]


def test_all_kinds_of_records_of_one_body_are_read():
    assert read_traces(body([*PUB, "10.0.0.9"], BEFORE, AFTER, END), 77) == [
        Trace(
            kind=TraceKind.PUB, position=77, message_id="U1", at_ms=1000, group="shop", cost_ms=7, is_success=True,
            host="10.0.0.9",
        ),
        Trace(kind=TraceKind.BEFORE, position=77, message_id="U1", at_ms=2000, group="billing", request_id="R1", retry_times=2),
        Trace(
            kind=TraceKind.AFTER, position=77, message_id="U1", at_ms=2148, group="billing", request_id="R1", cost_ms=148,
        ),
        Trace(
            kind=TraceKind.END, position=77, message_id="U1", at_ms=3000, group="shop", state="COMMIT_MESSAGE", from_check=True,
        ),
    ]  # fmt: skip


def test_records_of_old_clients_lack_what_came_later():
    old_pub = [*PUB[:12], "true"]
    found = read_traces(body(old_pub, AFTER[:5]), 0)

    assert (found[0].is_success, found[0].host) == (True, "")
    assert (found[1].cost_ms, found[1].at_ms, found[1].group) == (148, -1, "")


def test_a_record_that_is_too_short_or_of_another_kind_is_left_out():
    assert read_traces(body(PUB[:8], ["Recall", "1", "2"], BEFORE), 0)[0].kind is TraceKind.BEFORE


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(data):
    assert all(trace.position == 5 for trace in read_traces(data, 5))


@given(st.lists(st.lists(st.sampled_from([*PUB, *BEFORE, *AFTER, "", "x", "-1"]), min_size=1, max_size=16), max_size=5))
def test_shuffled_fields_are_read_without_an_error(records):
    assert all(trace.cost_ms >= -1 and trace.at_ms >= -1 for trace in read_traces(body(*records), 0))
