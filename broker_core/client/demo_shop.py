"""The shop of the demo: an endless, repeatable stream of messages about orders. Values only, no network."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from broker_core.client.message import Message
from broker_core.outside import whole_of
from broker_core.protocol.message.properties import DELAY

ORDERS: Final = "orders"
PAYMENTS: Final = "payments"
INVENTORY: Final = "inventory-reserve"
SHIPMENTS: Final = "shipment-notify"
POINTS: Final = "user-points"
AUDIT: Final = "audit-log"
ORDER_TIMEOUT: Final = "order-timeout"
PAY_RESULT: Final = "pay-result"
DELIVER_MS: Final = "TIMER_DELIVER_MS"
"""Property with the delivery time of a message, ms since the epoch (Source: docs/spec/broker.md §3.6)."""

TOPIC_QUEUES: Final = {
    ORDERS: 8, PAYMENTS: 8, INVENTORY: 16, SHIPMENTS: 4, POINTS: 4, AUDIT: 2, ORDER_TIMEOUT: 4, PAY_RESULT: 4,
}  # fmt: skip
TOPIC_SHARES: Final = {ORDERS: 52, PAYMENTS: 26, INVENTORY: 10, SHIPMENTS: 7, POINTS: 4, AUDIT: 1}
"""Percent of all plain messages per topic; delayed messages and those in transactions are additional."""
assert sum(TOPIC_SHARES.values()) == 100

_CITIES = ("杭州", "上海", "深圳", "成都", "Berlin", "São Paulo", "Nairobi", "Lisboa")
_GOODS = (
    ("SKU-10027", "无线降噪耳机", 129900), ("SKU-10031", "龙井茶 250g", 16800), ("SKU-10044", "Espresso grinder", 89900),
    ("SKU-10058", "机械键盘 87 键", 45900), ("SKU-10063", "Trail running shoes", 74900), ("SKU-10070", "竹纤维毛巾", 2900),
    ("SKU-10082", "E-ink reader", 109900), ("SKU-10095", "手冲咖啡壶", 19900),
)  # fmt: skip
_GOODS_WEIGHTS = (61, 8, 6, 7, 5, 6, 4, 3)
"""One article sells far better than the rest, so that its queue has more messages."""
_NOTES = ("请放门口", "送礼,不要放价格单", "Ring twice", "工作日配送", "", "", "", "易碎品,轻拿轻放")
_ORDER_TAGS = ("CREATED", "PAID", "CANCELLED", "REFUNDED")
_ORDER_WEIGHTS = (55, 35, 7, 3)
_PAY_TAGS = ("ALIPAY", "WECHAT", "CARD", "REFUND")
_PAY_WEIGHTS = (42, 38, 16, 4)
_SHIP_TAGS = ("PAID", "SHIPPED", "DELIVERED")
_SHORT_OF_STOCK, _NEVER_IN_STOCK = 125, 500
"""One order of this many cannot be reserved at once, or not at all: retries, and dead letters."""
_AUDIT_STEPS = 90
_TIMER_SHARE = 0.15
_TIMER_MS_MAX = 70 * 3_600_000
"""Brokers accept delays up to three days."""
_DELAY_LEVELS = tuple(range(1, 19))
_DELAY_WEIGHTS = (2, 4, 6, 12, 14, 10, 6, 5, 8, 4, 4, 4, 3, 8, 6, 8, 4, 2)
"""Weights of the delay levels, 1 s to 2 h, for the timeouts of orders."""


class Shop:
    """Makes messages. Two shops with the same seed make equal messages, except for their times, in ms since the epoch."""

    def __init__(self, seed: int, clock: Callable[[], int]) -> None:
        self._random = random.Random(seed)
        self._clock = clock
        self._orders = 0
        self._topics = list(TOPIC_SHARES)
        self._weights = list(TOPIC_SHARES.values())
        self._makers: dict[str, Callable[[str], Message]] = {
            ORDERS: self._order,
            PAYMENTS: self._payment,
            INVENTORY: self._reservation,
            SHIPMENTS: self._shipment,
            POINTS: self._points,
            AUDIT: self._audit,
        }

    def next_messages(self, count: int) -> list[Message]:
        topics = self._random.choices(self._topics, self._weights, k=count)
        return [self._makers[topic](self._order_id()) for topic in topics]

    def timeout(self) -> Message:
        """Make an order to be checked after its timeout: most by a delay level, some at a delivery time."""
        order_id = self._order_id()
        if self._random.random() < _TIMER_SHARE:
            return self._reminder(order_id)
        level = self._random.choices(_DELAY_LEVELS, _DELAY_WEIGHTS)[0]
        body = {"order": order_id, "action": "cancel unless paid", "at": self._clock()}
        return _message(ORDER_TIMEOUT, "TIMEOUT", (order_id,), body, {DELAY: str(level)})

    def _reminder(self, order_id: str) -> Message:
        body = {"order": order_id, "action": "remind", "at": self._clock()}
        due_ms = self._clock() + round(self._random.random() ** 3 * _TIMER_MS_MAX)
        return _message(ORDER_TIMEOUT, "REMIND", (order_id,), body, {DELIVER_MS: str(due_ms)})

    def pay_result(self) -> Message:
        order_id = self._order_id()
        payment_id = f"PAY-{self._random.randrange(1 << 40):010x}"
        body = {"payment": payment_id, "order": order_id, "amount": self._random.choice(_GOODS)[2], "at": self._clock()}
        return _message(PAY_RESULT, "PAID", (payment_id, order_id), body)

    def _order_id(self) -> str:
        self._orders += 1
        return f"ORD-{2_600_000_000 + self._orders}"

    def _order(self, order_id: str) -> Message:
        pick = self._random
        goods = pick.choices(_GOODS, _GOODS_WEIGHTS, k=pick.choice((1, 1, 1, 2, 3)))
        lines = [(sku, name, price, pick.randint(1, 3)) for sku, name, price in goods]
        customer = f"u-{pick.randint(10_000, 99_999)}"
        body = {
            "order": order_id,
            "customer": customer,
            "items": [{"sku": sku, "name": name, "price": price, "count": count} for sku, name, price, count in lines],
            "total": sum(price * count for _, _, price, count in lines),
            "currency": "CNY",
            "ship_to": {"city": pick.choice(_CITIES), "note": pick.choice(_NOTES)},
            "at": self._clock(),
        }
        tag = pick.choices(_ORDER_TAGS, _ORDER_WEIGHTS)[0]
        return _message(ORDERS, tag, (order_id, customer), body)

    def _payment(self, order_id: str) -> Message:
        tag = self._random.choices(_PAY_TAGS, _PAY_WEIGHTS)[0]
        payment_id = f"PAY-{self._random.randrange(1 << 40):010x}"
        amount = self._random.choice(_GOODS)[2]
        body = {"payment": payment_id, "order": order_id, "channel": tag, "amount": amount, "at": self._clock()}
        return _message(PAYMENTS, tag, (payment_id, order_id), body)

    def _reservation(self, order_id: str) -> Message:
        sku, name, _ = self._random.choices(_GOODS, _GOODS_WEIGHTS)[0]
        body = {"order": order_id, "sku": sku, "name": name, "count": self._random.randint(1, 3), "at": self._clock()}
        return _message(INVENTORY, "RESERVE", (sku, order_id), body, {"sku": sku})

    def _shipment(self, order_id: str) -> Message:
        tag = self._random.choice(_SHIP_TAGS)
        city = self._random.choice(_CITIES)
        body = {"order": order_id, "state": tag, "city": city, "text": f"您的订单 {order_id} 已更新", "at": self._clock()}
        return _message(SHIPMENTS, tag, (order_id,), body)

    def _points(self, order_id: str) -> Message:
        customer = f"u-{self._random.randint(10_000, 99_999)}"
        body = {"customer": customer, "order": order_id, "points": self._random.randint(1, 500), "at": self._clock()}
        return _message(POINTS, "EARN", (customer,), body)

    def _audit(self, order_id: str) -> Message:
        # Long enough that the client compresses it.
        steps = [{"step": number, "service": "order-service", "ms": self._random.randint(1, 90), "result": "ok"}
                 for number in range(_AUDIT_STEPS)]  # fmt: skip
        return _message(AUDIT, "TRACE", (order_id,), {"order": order_id, "steps": steps, "at": self._clock()})


def lacks_stock(keys: Sequence[str], times: int) -> bool:
    """Whether the stock worker fails on a reservation: for some orders the first time, for a few each time.

    The last of ``keys`` is the order's, unless another program sent the message; ``times`` counts earlier attempts.
    """
    number = whole_of(keys[-1].removeprefix("ORD-")) if keys else None
    if number is None:
        return False
    return number % _NEVER_IN_STOCK == 0 or (times == 0 and number % _SHORT_OF_STOCK == 0)


def _message(
    topic: str, tag: str, keys: tuple[str, ...], body: dict[str, Any], properties: dict[str, str] | None = None
) -> Message:
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    return Message(topic, data, tags=tag, keys=keys, properties=properties or {})
