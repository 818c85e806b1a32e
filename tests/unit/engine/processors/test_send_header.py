import pytest

from broker_core.engine.processors.send_header import parse_send_header
from broker_core.errors import RequestRefusedError
from broker_core.protocol.frame import RemotingCommand
from tests.support.broker_bench import send_fields


def test_the_quick_way_through_the_header_reads_what_the_careful_one_does():
    quick = {name: str(value) for name, value in send_fields("T", 3, properties="k\x01v").items()}
    careful = quick | {"j": "00"}
    assert parse_send_header(RemotingCommand(310, quick)) == parse_send_header(RemotingCommand(310, careful))


def test_a_header_without_a_topic_is_refused():
    with pytest.raises(RequestRefusedError, match="b is missing"):
        parse_send_header(RemotingCommand(310, {n: str(v) for n, v in send_fields("").items()}))


def test_the_limit_of_a_client_before_version_121_does_not_count():
    fields = {name: str(value) for name, value in send_fields(limit=2).items()}
    assert parse_send_header(RemotingCommand(310, fields, version=121)).reconsume_times_max == 2
    assert parse_send_header(RemotingCommand(310, fields, version=120)).reconsume_times_max is None
