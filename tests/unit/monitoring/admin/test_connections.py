"""Connections as rows: roles, traffic, notes, the mix of clients."""

from dataclasses import replace

import pytest

from broker_core.protocol.names import INNER_PRODUCER_GROUP
from monitoring.admin.connections import (
    ConnectionNote,
    ConnectionRates,
    Role,
    Traffic,
    client_rows,
    language_text,
    mix_of,
    version_text,
)
from tests.support.fake_operations import TAKEN_MS, fake_connections


def rows_of(page):
    return client_rows(page, ConnectionRates().add(page))


def test_a_client_has_a_row_for_each_of_its_groups_and_a_connection_without_one_has_its_own():
    rows = rows_of(fake_connections())

    assert [row.role for row in rows] == [Role.PRODUCER] * 2 + [Role.CONSUMER] * 4 + [Role.OTHER] * 2 + [Role.OUT]
    assert [row.group for row in rows if row.address.startswith("10.23.4.13")] == ["notify-sms", "points-calc"]
    assert rows[4].topics == (("shipment-notify", "PAID || REFUND"),)
    assert len({row.key for row in rows}) == len(rows)


def test_the_producer_inside_a_java_client_has_a_row_only_where_nothing_else_is_known():
    page = fake_connections()
    groups = list(page.member_group)
    for member, row in enumerate(page.member_row):
        if page.member_row.count(row) > 1 and member == page.member_row.index(row):
            groups[member] = INNER_PRODUCER_GROUP
    rows = rows_of(replace(page, member_group=groups))
    assert INNER_PRODUCER_GROUP in groups
    assert INNER_PRODUCER_GROUP not in {row.group for row in rows}
    alone = [
        INNER_PRODUCER_GROUP if page.member_row.count(row) == 1 else group
        for row, group in zip(page.member_row, page.member_group, strict=True)
    ]
    assert INNER_PRODUCER_GROUP in {row.group for row in rows_of(replace(page, member_group=alone))}, "a tool"


def test_old_and_silent_clients_have_a_note():
    notes = {row.client_id: row.note for row in rows_of(fake_connections()) if row.client_id}

    assert notes["pay@10.23.4.21#991"] is ConnectionNote.OLD
    assert notes["c1@10.23.4.40"] is ConnectionNote.SILENT
    assert notes["order-api@10.23.4.9#7781"] is ConnectionNote.NONE


def test_a_client_in_another_language_is_not_old_by_javas_numbers():
    page = fake_connections()
    rows = rows_of(replace(page, language=["GO"] * len(page.side)))
    assert ConnectionNote.OLD not in {row.note for row in rows}


def test_the_mix_counts_connections_not_groups():
    mix = mix_of(rows_of(fake_connections()))

    assert [(one.client, one.connections) for one in mix] == [("Java 4.9.8", 4), ("Go 5.1.2", 1), ("Java 4.7.1", 1)]
    assert sum(one.share for one in mix) == pytest.approx(1)


def test_traffic_is_unknown_until_there_are_two_readings():
    rates = ConnectionRates()
    page = fake_connections()
    first = rates.add(page)
    later = replace(page, taken_ms=TAKEN_MS + 2_000, bytes_in=[value + 4_096 for value in page.bytes_in])
    second = rates.add(later)

    assert str(first[0]) == str(Traffic())
    assert second[0] == Traffic(2_048.0, 0.0, 0.0)


def test_a_new_connection_of_the_same_address_begins_anew():
    rates = ConnectionRates()
    page = fake_connections()
    rates.add(page)
    again = replace(page, taken_ms=TAKEN_MS + 1_000, bytes_in=[10] * len(page.side))
    assert str(rates.add(again)[0]) == str(Traffic())


@pytest.mark.parametrize(
    ("name", "shown"),
    [("V4_9_8", "4.9.8"), ("V5_0_0_SNAPSHOT", "5.0.0-SNAPSHOT"), ("HIGHER_VERSION", "HIGHER_VERSION"), ("", "")],
)
def test_versions_are_written_with_dots(name, shown):
    assert version_text(name) == shown


def test_languages_have_the_names_that_people_write():
    assert [language_text(name) for name in ("JAVA", "CPP", "NODE_JS", "COBOL")] == ["Java", "C++", "Node.js", "Cobol"]


def test_protocol_type_streams_and_leases_are_those_of_the_page():
    page = fake_connections()
    count = len(page.side)
    page = replace(
        page,
        version=["5.0.8"] * count,
        protocol=["gRPC", *["remoting"] * (count - 1)],
        streams=[3, *[-1] * (count - 1)],
        leases=[7, *[-1] * (count - 1)],
        member_kind=["simple consumer", *["push consumer"] * (len(page.member_row) - 1)],
    )
    first, second = rows_of(page)[:2]
    assert (first.protocol, first.kind, first.streams, first.leases) == ("gRPC", "simple consumer", 3, 7)
    assert (first.program, first.client) == ("Java 5.0.8", "Java 5.0.8 gRPC")
    assert (second.client, second.streams, second.leases) == ("Java 5.0.8", -1, -1)


def test_an_sdk_of_grpc_has_versions_of_its_own():
    page = fake_connections()
    everywhere = replace(page, version=["1.0.3"] * len(page.side))
    assert rows_of(everywhere)[0].note is ConnectionNote.OLD
    assert rows_of(replace(everywhere, protocol=["gRPC"] * len(page.side)))[0].note is ConnectionNote.NONE


def test_a_page_without_protocols_has_none():
    page = replace(fake_connections(), protocol=[], streams=[], leases=[], member_kind=[])
    row = rows_of(page)[0]
    assert (row.protocol, row.kind, row.streams, row.leases) == ("", "", -1, -1)
