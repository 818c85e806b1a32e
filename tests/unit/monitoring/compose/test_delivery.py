from __future__ import annotations

from monitoring.compose.delivery import queue_of_key


def test_a_sharding_key_goes_to_the_queue_of_the_java_client():
    # "polygenelubricants".hashCode() is Integer.MIN_VALUE, "abc".hashCode() 96354, "订单".hashCode() 1129459.
    assert queue_of_key("abc", 8) == 96_354 % 8
    assert queue_of_key("polygenelubricants", 7) == (1 << 31) % 7
    assert queue_of_key("订单", 100) == (31 * ord("订") + ord("单")) % 100


def test_every_queue_exists():
    assert {queue_of_key(f"order-{number}", 4) for number in range(100)} == {0, 1, 2, 3}
    assert {queue_of_key(f"order-{number}", 1) for number in range(10)} == {0}
