import pytest

from broker_core.engine.nameserver import kv_config
from broker_core.engine.nameserver.kv_config import KvConfig
from broker_core.errors import RequestRefusedError


def test_items_come_and_go_and_each_change_is_told():
    changes = []
    kv = KvConfig(changed=lambda: changes.append(1))
    kv.put("N", "k", "v")
    assert (kv.get("N", "k"), kv.get("N", "x"), kv.namespace("N")) == ("v", None, {"k": "v"})
    kv.delete("N", "k")
    kv.delete("N", "k")
    assert (kv.get("N", "k"), kv.namespace("N"), len(changes)) == (None, None, 2)


def test_what_is_saved_loads_again():
    kv, loaded = KvConfig(), KvConfig()
    kv.put("N", "k", "v")
    loaded.load(kv.to_json())
    assert loaded.namespace("N") == {"k": "v"}


def test_there_is_a_bound(monkeypatch):
    monkeypatch.setattr(kv_config, "ITEMS_MAX", 1)
    kv = KvConfig()
    kv.put("N", "k", "1")
    kv.put("N", "k", "2")
    with pytest.raises(RequestRefusedError):
        kv.put("M", "k", "1")
