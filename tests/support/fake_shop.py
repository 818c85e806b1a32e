"""A small shop for tests: its topics, its groups, and the moment in which it is looked at."""

from __future__ import annotations

from broker_core.worker.questions.lifecycle import Ready

TAKEN_MS = 1_795_227_302_640
"""2026-11-21 02:15:02.640 UTC."""

# name, write and read queues, put/s, kept, average bytes, milliseconds since the last write
TOPICS: tuple[tuple[str, int, float, int, int, int], ...] = (
    ("orders", 8, 612.0, 4_318_220, 1_946, 200),
    ("payments", 8, 311.0, 2_190_774, 1_229, 200),
    ("order-timeout", 4, 142.0, 998_102, 640, 100),
    ("inventory-reserve", 16, 118.0, 822_640, 812, 300),
    ("shipment-notify", 4, 54.0, 377_180, 2_458, 400),
    ("pay-result", 4, 24.0, 168_930, 1_126, 600),
    ("user-points", 4, 14.0, 97_655, 388, 1_100),
    ("audit-log", 2, 7.2, 50_211, 5_734, 2_000),
    ("coupon-grant", 4, 0.0, 8_012, 800, 3 * 86_400_000),
    ("%RETRY%payment-settle", 1, 2.2, 1_602, 1_331, 4_000),
    ("%RETRY%stock-worker", 1, 0.9, 840, 921, 11_000),
    ("%DLQ%stock-worker", 1, 0.0, 21, 921, 14 * 60_000),
    ("%DLQ%payment-settle", 1, 0.0, 12, 1_229, 52 * 60_000),
)
# name, topic, lag, behind ms, out/s, members (-1 offline)
GROUPS: tuple[tuple[str, str, float, float, float, int], ...] = (
    ("payment-settle", "payments", 16_870.0, 131_000.0, 382.0, 2),
    ("stock-worker", "inventory-reserve", 903.0, 7_700.0, 118.0, 4),
    ("order-service", "orders", 412.0, 700.0, 611.0, 3),
    ("notify-sms", "shipment-notify", 217.0, 4_000.0, 54.0, 2),
    ("timeout-cancel", "order-timeout", 0.0, 0.0, 142.0, 1),
    ("points-calc", "user-points", 0.0, 0.0, 14.0, 1),
    ("risk-scan", "inventory-reserve", 0.0, 0.0, 118.0, 1),
    ("bi-export", "orders", float("nan"), float("nan"), 0.0, -1),
)
READY = Ready(
    name_server="127.0.0.1:9876",
    broker="127.0.0.1:10911",
    store_directory="/var/lib/orbit/store",
    cluster_name="DefaultCluster",
    broker_name="broker-a",
    started_ms=TAKEN_MS - (2 * 60 + 14) * 60_000,
    startup_ms=800,
)
PAYMENT_SHARES = (12, 31, 4_079, 28, 612, 4_696, 5_092, 2_320)
"""Lag of payment-settle by queue of payments; sums to 16,870."""
