from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

STORY_COLUMNS = (
    "store", "topic", "real_topic", "retry_topic", "queue_id", "queue_offset", "physical_offset", "store_time", "born_time",
    "born_host", "kind", "keys", "unique_key", "tag", "reconsume_times", "check_times", "deliver_time", "prepared_offset",
    "decided_offsets", "cancelled_key", "body_bytes", "member_key",
)  # fmt: skip


def story(messages: DataFrame, key: str) -> DataFrame:
    """Records of a business key or unique key, with the decisions on their half messages, oldest first.

    Records of one unique key belong together even if a copy lacks the business key; cancellations of a timer message and op
    records refer to it by other columns.
    """
    cancelled = F.element_at(F.split("cancelled_key", r"\+"), -1)
    member = F.col("member_key").eqNullSafe(key)
    named = F.array_contains("keys", key) | F.col("unique_key").eqNullSafe(key) | member | cancelled.eqNullSafe(key)
    # Members of a batch share one unique key, so it identifies no message.
    ids = messages.where(named).where("unique_key is not null and member_key is null").select("unique_key").distinct()
    own = messages.where(named).unionByName(messages.where(~named).join(ids, "unique_key", "left_semi"))
    halves = own.where("kind = 'half'").select("store", F.col("queue_offset").cast("string").alias("decided"))
    ops = messages.where("kind = 'op'")
    decided = ops.select("store", "physical_offset", F.explode(F.split("decided_offsets", ",")).alias("decided"))
    places = decided.join(halves, ["store", "decided"], "left_semi")
    decisions = ops.join(places, ["store", "physical_offset"], "left_semi")  # once, however many halves it decides
    rows = own.unionByName(decisions).withColumn("keys", F.concat_ws(" ", "keys"))
    return rows.orderBy("store_time", "store", "physical_offset")
