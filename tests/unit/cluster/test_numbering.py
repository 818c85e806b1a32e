import pytest

from broker_core.cluster.numbering import BrokerNumbers
from broker_core.errors import UsageError


def test_numbers_of_the_first_broker_are_its_own():
    numbers = BrokerNumbers()
    numbers.see(["a"])
    assert (numbers.shown_queue("a", 7), numbers.shown_place("a", 1 << 40)) == (7, 1 << 40)
    assert (numbers.queue_of(7), numbers.place_of(1 << 40)) == (("a", 7), ("a", 1 << 40))


def test_a_broker_keeps_its_number_when_others_come():
    numbers = BrokerNumbers()
    numbers.see(["c", "b"])
    numbers.see(["a", "b"])
    assert numbers.names == ["b", "c", "a"]
    assert numbers.queue_of(numbers.shown_queue("a", 3)) == ("a", 3)
    assert numbers.place_of(numbers.shown_place("c", 5)) == ("c", 5)
    assert (numbers.shown_queue("c", 3), numbers.shown_place("c", 5)) == (10_003, (1 << 56) + 5)


@pytest.mark.parametrize("shown", [-1, 10_000])
def test_a_number_of_no_broker_is_refused(shown):
    numbers = BrokerNumbers()
    numbers.see(["a"])
    with pytest.raises(UsageError, match="none of the 1 brokers"):
        numbers.queue_of(shown)
    with pytest.raises(UsageError, match="none of the 1 brokers"):
        numbers.place_of(-1)
    with pytest.raises(UsageError, match="no broker x; it has a"):
        numbers.shown_queue("x", 0)
