"""Columns of the Clients page."""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.api import names as reserved
from gui.models.table import CellKind, Column, known_number, number_column
from gui.theme.tokens import State
from gui.words.text import UNKNOWN, TimeZoneChoice, byte_rate_text, count_text, duration_text, rate_number, tr
from monitoring.admin.connections import NAME_SERVER, ClientRow, ConnectionNote, MixRow, Role

SECTIONS = {
    Role.PRODUCER: "Producers",
    Role.CONSUMER: "Consumers",
    Role.OTHER: "Other connections",
    Role.OUT: "Connections out",
}
NOTE_NAMES = {ConnectionNote.OLD: "Old", ConnectionNote.SILENT: "Silent"}


EMBEDDED_ONLY = frozenset({"requests", "in", "out", "connected"})
"""Columns that an attached cluster cannot fill."""


def columns_to_hide(rows: Sequence[ClientRow], *, is_outside: bool) -> frozenset[str]:
    """Keys of empty columns: of an attached cluster `EMBEDDED_ONLY`, and those of gRPC where no client uses it."""
    known = {
        "protocol": any(row.protocol for row in rows),
        "streams": any(row.streams >= 0 for row in rows),
        "leases": any(row.leases >= 0 for row in rows),
    }
    return frozenset(key for key, is_known in known.items() if not is_known) | (EMBEDDED_ONLY if is_outside else frozenset())


def client_columns(times: TimeZoneChoice) -> list[Column[ClientRow]]:
    note = Column("note", "Note", note_text, kind=CellKind.CHIP, state=_note_state, tip=_note_tip, width=78)
    return [*_identity_columns(), *_traffic_columns(), *_time_columns(times), note]


def _identity_columns() -> list[Column[ClientRow]]:
    return [
        Column("client", "Client ID", lambda row: row.client_id or row.address, kind=CellKind.MONO),
        Column("group", "Client group", lambda row: row.group or UNKNOWN, kind=CellKind.STRONG, width=196),
        Column("protocol", "Protocol", protocol_text, width=78),
        Column("kind", "Type", kind_text, tip=kind_tip, width=78, gives_way=1),
        Column("version", "Version", lambda row: row.program or UNKNOWN, tip=_version_tip, width=108),
        Column(
            "address",
            "Address",
            lambda row: row.address,
            kind=CellKind.MONO,
            dim=True,
            tip=_address_tip,
            width=142,
            gives_way=4,
        ),
        Column("topics", "Topics and filter", topics_text, dim=True, width=124, gives_way=3),
    ]


def _traffic_columns() -> list[Column[ClientRow]]:
    return [
        number_column(
            "requests",
            "Req /s",
            lambda row: row.traffic.requests,
            rate_number,
            tip=lambda row: tr("{count} requests since it connected", count=count_text(row.requests)),
            width=66,
        ),
        number_column(
            "in",
            "Bytes in",
            lambda row: row.traffic.bytes_in,
            byte_rate_text,
            tip=lambda row: tr("{count} bytes", count=count_text(row.bytes_in)),
            dim=True,
            width=90,
            gives_way=5,
        ),
        number_column(
            "out",
            "Bytes out",
            lambda row: row.traffic.bytes_out,
            byte_rate_text,
            tip=lambda row: tr("{count} bytes", count=count_text(row.bytes_out)),
            dim=True,
            width=90,
            gives_way=6,
        ),
        number_column("streams", "Streams", lambda row: row.streams, known=True, tip=_streams_tip, width=76, gives_way=2),
        number_column("leases", "Leases", lambda row: row.leases, known=True, tip=_leases_tip, width=64, gives_way=2),
    ]


def _time_columns(times: TimeZoneChoice) -> list[Column[ClientRow]]:
    """Ages of the last heartbeat and of the connection."""
    return [
        Column(
            "heartbeat",
            "Heartbeat",
            heartbeat_text,
            sort=lambda row: known_number(row.heartbeat_ms),
            tip=lambda row: times.full(row.heartbeat_ms) if row.heartbeat_ms >= 0 else "",
            right=True,
            dim=True,
            width=82,
        ),
        Column(
            "connected",
            "Connected",
            connected_text,
            sort=lambda row: -row.connected_ms if row.connected_ms >= 0 else None,
            tip=lambda row: times.full(row.connected_ms) if row.connected_ms >= 0 else "",
            right=True,
            dim=True,
            width=100,
            gives_way=7,
        ),
    ]


def mix_columns() -> list[Column[MixRow]]:
    return [
        Column("client", "Language and version", lambda row: row.client, kind=CellKind.STRONG, wants=112),
        Column("share", "Share", lambda row: f"{row.share:.0%}", sort=lambda row: row.share, kind=CellKind.BAR,
               value=lambda row: row.share, width=100, gives_way=1),
        number_column("count", "Connections", lambda row: row.connections, str, width=92),
    ]  # fmt: skip


def protocol_text(row: ClientRow) -> str:
    return tr(row.protocol) if row.protocol else UNKNOWN


def kind_text(row: ClientRow) -> str:
    """The type of a client in a word; its section says producer or consumer."""
    return tr(row.kind.partition(" ")[0]) if row.kind else UNKNOWN


def kind_tip(row: ClientRow) -> str:
    return tr(row.kind) if row.kind else ""


def section_of(row: ClientRow) -> str:
    return SECTIONS[row.role]


def topics_text(row: ClientRow) -> str:
    """The subscriptions of a consumer; for the broker's own connections, their purpose."""
    if row.role is Role.OUT:
        return tr("registers at the name server")
    if row.role is Role.OTHER:
        return tr("at the name server") if row.side == NAME_SERVER else tr("in no group")
    # Without the retry topic of its group, to which every consumer subscribes: it would hide the differences.
    own = [(topic, filter_) for topic, filter_ in row.topics if not topic.startswith(reserved.RETRY_PREFIX)]
    return ", ".join(f"{topic} {filter_}".strip() for topic, filter_ in own) or UNKNOWN


def heartbeat_text(row: ClientRow) -> str:
    """Age of the last heartbeat."""
    return UNKNOWN if row.heartbeat_ms < 0 else duration_text(max(0, row.taken_ms - row.heartbeat_ms))


def connected_text(row: ClientRow) -> str:
    """How long the connection has lasted."""
    return UNKNOWN if row.connected_ms < 0 else duration_text(max(0, row.taken_ms - row.connected_ms))


def note_text(row: ClientRow) -> str:
    return "" if row.note is ConnectionNote.NONE else tr(NOTE_NAMES[row.note])


def _note_state(row: ClientRow) -> State | None:
    return None if row.note is ConnectionNote.NONE else State.WARNING


def _note_tip(row: ClientRow) -> str:
    if row.note is ConnectionNote.OLD:
        return tr("Java clients before 4.9 lack fixes of rebalance and of name server addresses")
    return tr("No heartbeat for more than 60 s; the broker drops it after 120 s") if row.note is ConnectionNote.SILENT else ""


def _version_tip(row: ClientRow) -> str:
    return row.program or tr("It has not sent a request yet, so it has not said what it is")


def _streams_tip(row: ClientRow) -> str:
    return "" if row.streams >= 0 else tr("Only connections of gRPC have streams")


def _leases_tip(row: ClientRow) -> str:
    if row.leases >= 0:
        return tr("Deliveries that the broker keeps invisible until this client acknowledges them")
    return tr("The messages that it holds are counted by group: see In flight of its group")


def _address_tip(row: ClientRow) -> str:
    return tr("{address}, connected to {local}", address=row.address, local=row.local_address)
