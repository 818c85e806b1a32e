"""What a broker of ours announces of itself, and what a cluster attached to it then offers."""

import asyncio

import pytest

from broker_core.config import BrokerConfig, StoreConfig, with_settings
from broker_core.errors import UsageError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit, parse_object
from broker_core.transport.client import connect
from broker_core.worker.questions.abilities import Ability
from tests.support.attached import attached, sampled
from tests.support.broker_bench import SMALL_FILES, consumer_heartbeat
from tests.support.embedded import started

OF_5X = {Ability.TIMERS, Ability.POP, Ability.RESET_ONE_QUEUE}


def config(folder, **settings):
    plain = BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=folder, **SMALL_FILES))
    return with_settings(plain, settings)


@pytest.mark.parametrize(
    ("settings", "ordinal", "name", "lacks"),
    [({}, 479, "V5_3_3", set()), ({"orbitAnnouncedVersion": "4.9.8"}, 409, "V4_9_8", OF_5X)],
)
def test_heartbeats_tools_and_attached_windows_learn_the_same_version(tmp_path, settings, ordinal, name, lacks):
    async def scenario():
        async with started(config(tmp_path, **settings)) as broker:
            client = await connect(broker.broker_address)
            beat = await client.request(RemotingCommand(Q.HEART_BEAT, body=emit(consumer_heartbeat("c"))), 20_000)
            runtime = parse_object((await client.request(RemotingCommand(Q.GET_BROKER_RUNTIME_INFO), 20_000)).body)["table"]
            client.close()
            assert (beat.code, beat.version) == (0, ordinal)
            assert (runtime["brokerVersion"], runtime["brokerVersionDesc"]) == (str(ordinal), name)
            async with attached(broker.name_server_address) as cluster:
                await sampled(cluster)
                assert OF_5X & {Ability(one) for one in cluster.figures.of("broker-a").cannot} == lacks

    asyncio.run(scenario())


def test_a_version_that_is_none_of_these_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"5\.3\.3 or 4\.9\.8"):
        config(tmp_path, orbitAnnouncedVersion="6.0.0")
