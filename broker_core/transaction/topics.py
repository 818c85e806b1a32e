"""Where transactions live in a store: three topics, one queue each, and the group that owns the progress.

Source: docs/spec/broker.md §4.1.
"""

from __future__ import annotations

HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DISCARD_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
QUEUE_ID = 0

CHECK_GROUP = "CID_RMQ_SYS_TRANS"
"""Its offsets in half and op topic say what is done with; they are kept in ``consumerOffset.json`` like any group's."""
