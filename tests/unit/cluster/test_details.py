"""How a worker is told to reach a cluster: parts of the line, refusals, and a broker that is reached with them."""

import asyncio
import json
import os

import pytest

from broker_core.cluster.details import read_line, security_of
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.errors import RemoteError, UsageError
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from tests.support.attached import BROKER, QUICK, broker_on
from tests.support.embedded import started


def line(**parts):
    return json.dumps(parts).encode()


def read_from_pipe(data):
    reading, writing = os.pipe()
    try:
        os.write(writing, data)
        os.close(writing)
        return read_line(reading), os.read(reading, 100)
    finally:
        os.close(reading)


def test_the_line_is_read_and_what_follows_is_left_to_the_channel():
    assert read_from_pipe(b"{}\n\x00\x01rest") == (b"{}", b"\x00\x01rest")


def test_an_input_that_ends_early_is_refused():
    with pytest.raises(UsageError, match="end before their line does"):
        read_from_pipe(b'{"accessKey"')


def test_keys_and_addresses_are_taken():
    security = security_of(line(accessKey="ann", secretKey="hidden", addresses={"172.17.0.3:10911": "10.0.0.1:10911"}))
    assert security.credentials is not None
    assert (security.credentials.access_key, security.credentials.secret_key) == ("ann", "hidden")
    assert security.addresses == {"172.17.0.3:10911": "10.0.0.1:10911"}
    assert security.tls is None
    assert "hidden" not in repr(security)


def test_a_connection_with_nothing_of_its_own_is_plain():
    security = security_of(b"{}")
    assert (security.credentials, security.tls, security.addresses) == (None, None, {})


def test_tls_checks_certificates_unless_told_otherwise():
    checked, unchecked = security_of(line(tls=True)).tls, security_of(line(tls=True, verify=False)).tls
    assert checked is not None
    assert checked.check_hostname
    assert unchecked is not None
    assert not unchecked.check_hostname


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (b"secret words", "no JSON"),
        (b"[]", "no JSON object"),
        (line(password="x"), "password"),
        (line(tls="yes"), "tls"),
        (line(accessKey="ann"), "no secret key"),
        (line(secretKey="x"), "no access key"),
        (line(tls=True, authority="/there/is/none.pem"), "/there/is/none.pem"),
        (line(addresses={"172.17.0.3": "10.0.0.1:1"}), "172.17.0.3"),
        (line(addresses={"172.17.0.3:1": 5}), "172.17.0.3:1"),
    ],
)
def test_what_cannot_be_used_is_refused_without_quoting_it(wrong, reason):
    with pytest.raises(UsageError, match=reason) as refused:
        security_of(wrong)
    assert "secret words" not in str(refused.value)


def test_a_broker_behind_another_address_is_reached_by_the_map(tmp_path):
    async def run():
        async with broker_on(tmp_path / "store") as broker:
            name_server = broker.name_server_address
            # Nobody resolves the name: only the map leads to the server.
            security = security_of(line(addresses={"inside.invalid:9876": name_server}))
            cluster = AttachedCluster(AttachOptions("inside.invalid:9876", QUICK, security))
            try:
                await cluster.connect()
                await cluster.sampling.once()
                assert cluster.figures.faults() == {}
                assert list(cluster.link.brokers) == [BROKER]
            finally:
                await cluster.close()

    asyncio.run(run())


def test_a_broker_with_accounts_answers_the_right_keys_alone(tmp_path):
    rules = tmp_path / "plain_acl.yml"
    rules.write_text("accounts:\n- {accessKey: administrator, secretKey: administrator, admin: true}\n")
    store = StoreConfig(root=tmp_path / "store")
    config = BrokerConfig(listen_port=0, name_server_port=0, store=store, acl_enabled=True, acl_file=rules)

    async def look(name_server, **keys):
        cluster = AttachedCluster(AttachOptions(name_server, QUICK, security_of(line(**keys))))
        try:
            await cluster.connect()
            await cluster.sampling.once()
            return cluster.figures.faults()
        finally:
            await cluster.close()

    async def run():
        async with started(config) as broker:
            name_server = broker.name_server_address
            assert await look(name_server, accessKey="administrator", secretKey="administrator") == {}
            with pytest.raises(RemoteError, match="signature"):
                await look(name_server, accessKey="administrator", secretKey="another")

    asyncio.run(run())
