"""What the kernel `broker_core.native.sends` shares with Python: why it stopped, and the columns of its tables."""

from __future__ import annotations

from typing import Final

from broker_core.native.lanes import L_OWN_COLUMNS, OWN_COLUMNS
from broker_core.native.queue_rows import IN_TOUCHED

# Why it stopped.
ALL: Final = 0
"""No whole frame is left."""
NOT_PLAIN: Final = 1
NO_LANE: Final = 2
"""There is no lane for the frame, or it is closed."""
LOG_FULL: Final = 3
"""The log has no room for the records, whose bytes are in `WANTED_BYTES`."""
TAIL_FULL: Final = 4
"""The queue of the lane has no room for as many units as `WANTED_UNITS` has."""
OUT_FULL: Final = 5
"""There is no room for another answer, or for another queue in the table of touched ones."""
GO_ON: Final = -1
"""It did not stop, or there is room again: it is to be called again."""

# Columns of the state that are its own. The log's file is mapped; places in it count from its first byte.
LOG_BASE: Final = OWN_COLUMNS
"""Physical offset of the first byte of the file."""
LOG_AT: Final = OWN_COLUMNS + 1
"""Where the next record goes."""
LOG_LIMIT: Final = OWN_COLUMNS + 2
"""Where records end at most."""
LOG_BYTES: Final = OWN_COLUMNS + 3
"""Size of the file."""
STORE_HOST: Final = OWN_COLUMNS + 4
"""Eight bytes, as records have it."""
BORN_HOST: Final = OWN_COLUMNS + 5
BODY_BYTES_MAX: Final = OWN_COLUMNS + 6
WANTED_BYTES: Final = OWN_COLUMNS + 7
# Parts of a frame.
TIME_AT: Final = OWN_COLUMNS + 8
TEXT_AT: Final = OWN_COLUMNS + 9
TEXT_BYTES: Final = OWN_COLUMNS + 10
END_AT: Final = OWN_COLUMNS + 11
"""What comes after the properties, up to the opaque in JSON."""
END_BYTES: Final = OWN_COLUMNS + 12
LAST_AT: Final = OWN_COLUMNS + 13
"""In JSON what comes after the opaque."""
LAST_BYTES: Final = OWN_COLUMNS + 14
OPAQUE_AT: Final = OWN_COLUMNS + 15
OPAQUE_BYTES: Final = OWN_COLUMNS + 16
BODY_AT: Final = OWN_COLUMNS + 17
FRAME_END: Final = OWN_COLUMNS + 18
END_LANE: Final = OWN_COLUMNS + 19
"""Row of the lane of the end, as `LANE`."""
TAGS_CODE: Final = OWN_COLUMNS + 20
UNWRITTEN_MAX: Final = OWN_COLUMNS + 21
"""Units of a queue that may wait to be written."""
IS_BEHIND: Final = OWN_COLUMNS + 22
"""1 where more wait."""
TAKEN_KIND: Final = OWN_COLUMNS + 23
"""Of the last send that was served."""
IS_BATCH: Final = OWN_COLUMNS + 24
"""1 where the frame is a batch's."""
WANTED_UNITS: Final = OWN_COLUMNS + 25

# Columns of a send's lane.
L_SYS_FLAG: Final = L_OWN_COLUMNS
L_MAGIC: Final = L_OWN_COLUMNS + 1
L_TOPIC_AT: Final = L_OWN_COLUMNS + 2
"""The topic in the form of records, with its length."""
L_TOPIC_BYTES: Final = L_OWN_COLUMNS + 3
L_OPEN_AS: Final = L_OWN_COLUMNS + 4
"""Serial number of the queue."""
L_OWN_AT: Final = L_OWN_COLUMNS + 5
"""The broker's own properties, for clients before 5.0 and, two columns later, for others."""
L_OWN_BYTES: Final = L_OWN_COLUMNS + 6
# Columns of the lane of an end.
L_VERSION: Final = L_OWN_COLUMNS
"""Of the client, which only a JSON header says at its end."""
L_LANGUAGE: Final = L_OWN_COLUMNS + 1

# Columns of a queue that a read touched.
T_QUEUE: Final = 0
"""Its row."""
T_FIRST: Final = 1
"""Queue offset of the first new message."""
TOUCHED_COLUMNS: Final = 2
TOUCHED_MAX: Final = 1024
IN_READ: Final = 2 * IN_TOUCHED
"""In `LISTED`: the row is in the table of queues that this read touched."""

ANSWER_BYTES_MAX: Final = 2048
"""Of an answer to one message; Python makes no lane for longer ones."""
MEMBERS_MAX: Final = 1024
"""Of a plain batch: its answer fits in 36 KiB."""
MESSAGE_ID_BYTES: Final = 33
"""Of a message id in an answer, with the comma before the next."""
