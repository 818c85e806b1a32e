import pytest

from broker_core.protocol.codes import MQ_VERSION, RETRYABLE_SEND_CODES, STORED_CODES, ResponseCode, version_name


@pytest.mark.parametrize(
    ("ordinal", "name"),
    [
        (28, "V3_0_7_SNAPSHOT"), (37, "V3_0_11"), (62, "V3_1_8_SNAPSHOT"), (121, "V3_4_9"), (213, "V4_0_0"),
        (232, "V4_1_0_SNAPSHOT"), (252, "V4_2_0_SNAPSHOT"), (273, "V4_3_0"), (277, "V4_3_2"), (293, "V4_4_0"),
        (317, "V4_5_2"), (333, "V4_6_0"), (355, "V4_7_1"), (373, "V4_8_0"), (401, "V4_9_4"), (409, "V4_9_8"),
        (413, "V5_0_0"), (437, "V5_1_2"), (453, "V5_2_0"), (479, "V5_3_3"), (612, "HIGHER_VERSION"), (9, "UNKNOWN_9"),
    ],
)  # fmt: skip
def test_versions_have_the_names_of_their_releases(ordinal, name):
    assert version_name(ordinal) == name


def test_our_own_version_allows_sql_filters_and_strict_routes():
    assert MQ_VERSION >= 401


def test_a_stored_message_is_never_sent_again():
    assert not STORED_CODES & RETRYABLE_SEND_CODES
    assert ResponseCode.SYSTEM_BUSY not in RETRYABLE_SEND_CODES
