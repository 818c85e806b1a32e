"""The tables of docs/broker.md say what the program says."""

import dataclasses
import re
from pathlib import Path

import pytest

from broker_core.config import BrokerConfig, RemotingLimits, StoreConfig, setting_text
from broker_core.engine.grpc.receives import CROWDED_POLL_MS
from broker_core.engine.nameserver.settings import NameServerSettings
from broker_core.protocol.http2.connection import Http2Limits
from broker_core.transport.message_room import CONNECTION_BYTES_MAX

PAGE = Path(__file__).resolve().parents[4] / "docs" / "broker.md"
ROW = re.compile(r"\| `([^`]+)` \| (?:`([^`]+)`)? ?\| ([^|]*) ?\| (.*) \|")


def rows_of(title):
    section = PAGE.read_text(encoding="utf-8").split(f"### {title}\n")[1].split("\n#")[0]
    return {match[1]: (match[2] or "", match[3].strip(), match[4]) for match in map(ROW.match, section.splitlines()) if match}


def shown(live):
    return "yes" if live is True else f"{live[0]:,} to {live[1]:,}" if live else ""


@pytest.mark.parametrize(("title", "settings"), [("Broker", BrokerConfig), ("Store", StoreConfig)])
def test_every_setting_is_there_with_its_default_and_bounds(title, settings):
    fields = [field for field in dataclasses.fields(settings) if "key" in field.metadata]
    expected = {
        field.metadata["key"]: (setting_text(field.default).removeprefix("."), shown(field.metadata["live"]))
        for field in fields
    }
    rows = rows_of(title)
    assert {key: row[:2] for key, row in rows.items()} == expected
    assert all(row[2] for row in rows.values()), "and says what it does"


def test_settings_of_the_name_server():
    section = PAGE.read_text(encoding="utf-8").split("### Name server\n")[1].split("\n## ")[0]
    documented = dict(re.findall(r"\| `(\w+)` \| `(\w+)` \|", section))
    text = NameServerSettings().to_text()
    assert documented == dict(line.split("=", 1) for line in text.splitlines() if line.split("=", 1)[0] in documented)
    assert len(documented) == 4


def test_limits_of_connections():
    text, limits = PAGE.read_text(encoding="utf-8"), RemotingLimits()
    assert f"| frame | {limits.frame_bytes_max >> 20} MiB" in text
    assert f"| header | {limits.header_bytes_max >> 10} KiB" in text
    streams = Http2Limits()
    first = f"{streams.held_bytes_max >> 10} KiB for its open calls, their first {streams.first_window_bytes >> 10} KiB"
    assert first in text
    crowd = streams.streams_max * 3 // 4
    assert f"calls of one gRPC connection | {streams.streams_max}; above {crowd}, receives" in text
    assert f"wait for {CROWDED_POLL_MS} ms only" in text
    assert f"message of gRPC | {CONNECTION_BYTES_MAX >> 10} KiB, or one message, of each connection" in text
    assert f"does not read | {limits.unsent_bytes_high >> 10} KiB and an answer" in text
    assert f"| connections | {limits.connections_max:,} for each port" in text
    assert f"{limits.partial_bytes_free >> 10} KiB, more while the {limits.partial_bytes_max >> 20} MiB" in text
    assert f"from {limits.partial_bytes_in_memory >> 10} KiB on" in text
    assert f"does not end it | {limits.frame_ms // 1000} s" in text
    assert f"| silent connection | {limits.idle_ms // 1000} s" in text
