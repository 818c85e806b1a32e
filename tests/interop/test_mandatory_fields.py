"""What real brokers and name servers refuse for want of a header field, ours refuses too; on demand."""

import asyncio

import pytest

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.transport.client import connect
from tests.support.broker_process import running_broker
from tests.support.every_request import BROKER, NAME_SERVER, Asked
from tests.support.real_peer import running_peer_addresses

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(600)]

RISKY = {Q.DELETE_TOPIC_IN_BROKER, Q.WIPE_WRITE_PERM_OF_BROKER, Q.CLEAN_EXPIRED_CONSUMEQUEUE, Q.UPDATE_BROKER_CONFIG}
"""Change the broker for all that is asked after them."""
OF_5X = {Q.BROKER_HEARTBEAT, Q.REGISTER_TOPIC_IN_NAMESRV, Q.GET_BROKER_MEMBER_GROUP}
"""A name server of 4.x answers nothing to a request that it does not know."""


async def refused_without(name_server, address, left_out):
    """Request and field, where the request is served and is refused without the field."""
    client, names = await connect(address), await connect(name_server)
    asked = Asked(client, names)
    try:
        await asked.fill()
        found = []
        for connection, table in ((client, BROKER), (names, NAME_SERVER)):
            rows = {code: row[:2] for code, row in table.items() if row[0] and code not in left_out}
            found += [await _needed(asked, connection, code, *row) for code, row in rows.items()]
    finally:
        client.close()
        names.close()
    return set().union(*found)


async def _needed(asked, connection, code, fields, body):
    whole = await asked.ask(connection, code, fields, body)
    if whole.code == R.REQUEST_CODE_NOT_SUPPORTED:
        return set()
    found = set()
    for name in fields:
        answer = await asked.ask(connection, code, {key: value for key, value in fields.items() if key != name}, body)
        if answer.code != R.SUCCESS and (answer.code, answer.remark) != (whole.code, whole.remark):
            found.add((code.name, name))
    return found


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("ours") / "store") as broker:
        return asyncio.run(refused_without(broker.name_server, broker.broker, RISKY))


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_ours_refuses_what_a_real_one_refuses(ours, tmp_path, version):
    with running_peer_addresses(version, tmp_path / "peer") as (name_server, address):
        left_out = RISKY | OF_5X if version < "5" else RISKY
        real = asyncio.run(refused_without(name_server, address, left_out))
    assert len(real) > 60
    assert real - ours == set()
