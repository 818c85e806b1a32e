"""What the kernel `broker_core.native.pulls` shares with Python: why it stopped, and the columns of its tables."""

from __future__ import annotations

from typing import Final

from broker_core.native import lanes

# Why it stopped.
ALL: Final = 0
"""No whole frame is left."""
NOT_PLAIN: Final = 1
NO_LANE: Final = 2
"""The key of the frame is in the scratch."""
NO_UNITS: Final = 3
"""The units of the pull are not in memory."""
OTHER_FILE: Final = 4
"""The record at ``state[WANTED]`` lies in another file of the log."""
NOT_SEEN: Final = 5
"""Whether the piece of the log at ``state[WANTED]`` is in memory has not been looked at."""
OUT_FULL: Final = 6
LARGE: Final = 7
"""The body of the last answer is not copied; its pieces are listed."""

# Own columns of the state.
BASE: Final = lanes.OWN_COLUMNS
"""Physical offset of the first byte of the log's file."""
LOG_END: Final = lanes.OWN_COLUMNS + 1
"""Physical offset behind the last record of the file that may be read."""
REACH_FROM: Final = lanes.OWN_COLUMNS + 2
"""Records before this physical offset count as on the disk."""
NEAR_FROM: Final = lanes.OWN_COLUMNS + 3
"""Records from this physical offset on are in memory."""
BYTES_MAX: Final = lanes.OWN_COLUMNS + 4
"""Of an answer; its first record may be larger."""
UNITS_IN_FILE: Final = lanes.OWN_COLUMNS + 5
"""Of a consume queue; one answer has records of one file."""
GENERATION: Final = lanes.OWN_COLUMNS + 6
"""Lanes of another one have to be admitted again."""
OPAQUE_AT: Final = lanes.OWN_COLUMNS + 7
"""The three numbers of a pull: their places, digits and values; the opaque of a binary header has four bytes."""
OPAQUE_BYTES: Final = lanes.OWN_COLUMNS + 8
OFFSET_AT: Final = lanes.OWN_COLUMNS + 9
OFFSET_BYTES: Final = lanes.OWN_COLUMNS + 10
OFFSET: Final = lanes.OWN_COLUMNS + 11
COMMIT_AT: Final = lanes.OWN_COLUMNS + 12
COMMIT_BYTES: Final = lanes.OWN_COLUMNS + 13
COMMIT: Final = lanes.OWN_COLUMNS + 14
WANTED: Final = lanes.OWN_COLUMNS + 15
"""A physical offset that `OTHER_FILE` and `NOT_SEEN` are about."""
CONSUMED: Final = lanes.OWN_COLUMNS + 16
"""Units from the offset of the last pull to that of the next one."""
FOUND: Final = lanes.OWN_COLUMNS + 17
"""Records of the last answer, their bytes and their pieces."""
FOUND_BYTES: Final = lanes.OWN_COLUMNS + 18
PIECES: Final = lanes.OWN_COLUMNS + 19

# Own columns of a lane.
P_GENERATION: Final = lanes.L_OWN_COLUMNS
P_COUNT_MAX: Final = lanes.L_OWN_COLUMNS + 1
P_SCAN_MAX: Final = lanes.L_OWN_COLUMNS + 2
"""Units looked at to find that many messages."""
P_CODES_AT: Final = lanes.L_OWN_COLUMNS + 3
P_CODES: Final = lanes.L_OWN_COLUMNS + 4
"""Tags codes of the filter; 0: every message passes."""
P_LAST_PART_AT: Final = lanes.L_OWN_COLUMNS + 5
P_LAST_PART_BYTES: Final = lanes.L_OWN_COLUMNS + 6
"""The fifth part of an answer in JSON."""
P_PULLS: Final = lanes.L_OWN_COLUMNS + 7
"""Served since Python set it to 0, with their messages and bytes, and the offset that the last one commits."""
P_MESSAGES: Final = lanes.L_OWN_COLUMNS + 8
P_BYTES: Final = lanes.L_OWN_COLUMNS + 9
P_COMMITTED: Final = lanes.L_OWN_COLUMNS + 10
P_SERIAL: Final = lanes.L_OWN_COLUMNS + 11
"""The number that the row of its queue is open as (`broker_core.native.queue_rows`)."""

SEEN_PIECES: Final = 4096
"""Rows of pieces that were found in memory, by piece modulo their number: the piece, and until when that counts."""
PIECE_BYTES: Final = 256 * 1024
NOW: Final = lanes.NOW_MS

DATA_BYTES: Final = 64 * 1024
"""Of one read of a socket; what does not fit is served by another call."""
OUT_BYTES: Final = 256 * 1024
"""Of the answers of one call; a peer reads them before its next requests are served."""
PIECES_MAX: Final = 1024
COPIED_BYTES_MAX: Final = 64 * 1024
"""Larger bodies are passed to the system in pieces."""
FRAME_BYTES_MAX: Final = 2048
"""A longer frame is not plain."""
ANSWER_BYTES_MAX: Final = 512
"""Of the header of an answer."""
ADDRESS_MAX: Final = -(1 << 31) - 1
"""A tags code up to this one is an address in the extension of its queue."""

MARKS: Final = b'\0\x0bqueueOffset\0\0\0\0\x0ccommitOffset\0\0\0"queueOffset":""commitOffset":""opaque":'
"""Texts in front of the numbers of a pull."""
