"""Every setting of RocketMQ 4.9 and 5.3 is live, takes effect at a start, or is refused with a reason that the page lists."""

import re
from pathlib import Path

import pytest

from broker_core.config import BrokerConfig, StoreConfig, live_settings, setting_keys
from broker_core.engine.nameserver.settings import BLACK_LIST as NAME_SERVER_BLACK_LIST
from broker_core.engine.nameserver.settings import FIXED_SETTINGS, NameServerSettings
from broker_core.engine.processors.live_settings import BLACK_LIST
from broker_core.engine.processors.refused_settings import AT_START, REFUSED_SETTINGS, why_not_live
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from tests.support.broker_bench import RecordingPeer

ROOT = Path(__file__).resolve().parents[4]
REAL = ROOT / "tests" / "data" / "settings"
"""The keys that the real ones print, one a line."""
VERSIONS = ["4.9.4", "5.3.3"]
OWN = {*setting_keys(BrokerConfig), *setting_keys(StoreConfig)}
ROW = re.compile(r"^\| ([^`|]+) \| ((?:`\w+`(?:, )?)+) \|$", re.MULTILINE)


def real_keys(server, version):
    return (REAL / f"{server}-{version}.txt").read_text().split()


def page_rows(title):
    section = (ROOT / "docs" / "broker.md").read_text(encoding="utf-8").split(f"### {title}\n")[1].split("\n#")[0]
    return {match[1]: tuple(re.findall(r"`(\w+)`", match[2])) for match in ROW.finditer(section)}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_key_of_a_real_broker_has_one_place(version):
    refused = [key for keys in REFUSED_SETTINGS.values() for key in keys]
    assert len(refused) == len(set(refused))
    assert not set(refused) & OWN
    assert set(real_keys("broker", version)) - {*refused, *OWN, *BLACK_LIST} == set()


@pytest.mark.parametrize("key", ["transactionCheckMax", "rejectTransactionMessage", "flushIntervalCommitLog", "popPollingSize"])
def test_what_takes_effect_at_once_is_live(key):
    assert key in live_settings()


@pytest.mark.parametrize("key", ["haListenPort", "storeType", "flushDiskType", "no such key"])
def test_a_refusal_states_the_reason(bench, key):
    answer = bench.answer(RecordingPeer(), Q.UPDATE_BROKER_CONFIG, body=f"{key}=1\n".encode())
    assert (answer.code, why_not_live(key) in answer.remark) == (R.NO_PERMISSION, True)


def test_reasons_tell_start_and_unknown_keys_apart():
    assert why_not_live("flushDiskType") == AT_START
    assert len({why_not_live(key) for key in ("haListenPort", "storeType", "flushDiskType", "no such key")}) == 4


def test_the_page_lists_them_all():
    for title, groups in (("Settings that do not change", REFUSED_SETTINGS), ("Name server", FIXED_SETTINGS)):
        assert page_rows(title) == {reason: tuple(sorted(keys)) for reason, keys in groups.items()}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_name_server_prints_what_a_real_one_prints(version):
    shown = {line.split("=")[0] for line in NameServerSettings().to_text().splitlines()}
    assert set(real_keys("name-server", version)) - shown <= NAME_SERVER_BLACK_LIST, "a running one adds its paths"


@pytest.mark.parametrize(("reason", "key"), [(reason, key) for reason, keys in FIXED_SETTINGS.items() for key in keys])
def test_the_name_server_refuses_with_the_reason(reason, key):
    with pytest.raises(RequestRefusedError, match=re.escape(reason)) as refused:
        NameServerSettings().change(f"{key}=1")
    assert refused.value.code == R.NO_PERMISSION
