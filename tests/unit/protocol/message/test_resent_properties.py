"""What a message keeps when it is sent again."""

from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX
from broker_core.protocol.message.resent_properties import ORIGIN_LINK, ROOM_OF_BROKERS, resent_properties

LINK_BYTES = len(f"\x02{ORIGIN_LINK}\x01ID1")


def with_long(free):
    return {"long": "v" * (PROPERTIES_BYTES_MAX - free - len("long\x01"))}


def test_a_message_is_linked_to_its_origin():
    assert resent_properties({"a": "1", "CLUSTER": "c"}, "ID1", without_delay=True) == {"a": "1", ORIGIN_LINK: "ID1"}


def test_a_link_takes_no_room_that_a_broker_needs():
    fits, tight = with_long(LINK_BYTES + ROOM_OF_BROKERS), with_long(LINK_BYTES + ROOM_OF_BROKERS - 1)
    assert ORIGIN_LINK in resent_properties(fits, "ID1", without_delay=True)
    assert resent_properties(tight, "ID1", without_delay=True) == tight
