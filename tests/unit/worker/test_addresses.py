import ipaddress

import pytest

from broker_core.worker.addresses import advertised_host


def test_a_given_address_is_told_as_it_is():
    assert advertised_host("10.1.2.3") == "10.1.2.3"


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", ""])
def test_for_a_broker_that_listens_everywhere_an_address_of_this_machine_is_told(bind: str):
    assert not ipaddress.ip_address(advertised_host(bind)).is_unspecified
