import json
from collections import Counter

from broker_core.client.demo_shop import AUDIT, INVENTORY, ORDERS, TOPIC_SHARES, Shop, lacks_stock
from broker_core.client.message import message_properties


def test_the_same_seed_makes_the_same_messages():
    first, again, other = (Shop(seed, lambda: 5).next_messages(200) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_messages_are_sendable_json_with_chinese_text_tags_and_keys():
    messages = Shop(1, lambda: 5).next_messages(500)
    for message in messages:
        assert json.loads(message.body)["at"] == 5
        assert message.tags
        assert message.keys
        assert message_properties(message, "ID")
    assert any("耳机" in message.body.decode() for message in messages)
    assert len({message.tags for message in messages if message.topic == ORDERS}) > 2


def test_topics_get_their_shares():
    counts = Counter(message.topic for message in Shop(3, lambda: 5).next_messages(20_000))
    for topic, percent in TOPIC_SHARES.items():
        assert abs(counts[topic] / 200 - percent) < 2


def test_one_article_stands_out_and_long_entries_will_be_compressed():
    messages = Shop(3, lambda: 5).next_messages(5_000)
    articles = Counter(message.properties["sku"] for message in messages if message.topic == INVENTORY)
    assert articles["SKU-10027"] > sum(articles.values()) / 2
    assert all(len(message.body) >= 4096 for message in messages if message.topic == AUDIT)


def test_some_reservations_fail_once_and_a_few_each_time():
    reservations = [message for message in Shop(3, lambda: 5).next_messages(20_000) if message.topic == INVENTORY]
    failed = [[message.keys[-1] for message in reservations if lacks_stock(message.keys, times)] for times in (0, 1, 2)]
    assert 5 < len(failed[0]) < 40
    assert 0 < len(failed[1]) < len(failed[0])
    assert failed[1] == failed[2]
    assert set(failed[1]) < set(failed[0])


def test_reservations_of_others_go_well():
    assert not any(lacks_stock(keys, 0) for keys in ([], ["mine"], ["ORD-"], ["ORD-²"], ["7", "ORD-9x"]))
