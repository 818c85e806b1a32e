"""The kernels that write an index file: its slots and items. They run as they are, or as machine code.

Source: docs/spec/store.md §5.1, §5.3.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, fetch, i32, i64, put32, put64, u8
from broker_core.native.keys import HASH, KEY_COLUMNS, OFFSET, STORE_MS
from broker_core.native.records import END, FULL

NO_ROOM: Final = 5
"""The block of a slot has no reserved room on the disk."""

# Columns of the state: the file, its header, and how far the keys are added.
SLOTS: Final = 0
ITEMS: Final = 1
"""Items for which the file has room, the unused first one included."""
NEXT: Final = 2
"""Number of the next item."""
USED_SLOTS: Final = 3
BEGIN_MS: Final = 4
KEY: Final = 5
"""The next key."""
KEYS: Final = 6
"""Where the keys end."""
WANTED: Final = 7
"""Position of the slot without room."""
LAST_OFFSET: Final = 8
"""Physical offset of the item before the next one that is checked."""
EXPECTED: Final = 9
"""The item before the faulty one in its slot."""
SLOT: Final = 10
"""The next slot."""
STATE_COLUMNS: Final = 12

HEADER_BYTES: Final = 40
SLOT_BYTES: Final = 4
ITEM_BYTES: Final = 20
TIME_DIFFERENCE_MAX_S: Final = 0x7FFFFFFF
ROOM_BYTES: Final = 64 * 1024
"""Room on the disk is reserved in blocks of this size."""


def seconds_behind(begin_ms: int, store_ms: int) -> int:
    """Time difference as an item holds it."""
    if begin_ms <= 0 or store_ms < begin_ms:
        return 0
    return min((store_ms - begin_ms) // 1000, TIME_DIFFERENCE_MAX_S)


def slot_position(hashed: int, slots: int) -> int:
    """Where the slot of a key is."""
    return HEADER_BYTES + hashed % slots * SLOT_BYTES


def has_room(keys: Table, state: Table, roomy: Bytes, file: Bytes) -> bool:
    """Whether the slots of all keys have reserved room; else ``state[WANTED]`` is one that lacks it."""
    for key in range(state[KEY], state[KEYS]):
        slot_at = slot_position(keys[key * KEY_COLUMNS + HASH], state[SLOTS])
        if u8(roomy, slot_at // ROOM_BYTES) == 0:
            state[WANTED] = slot_at
            return False
        fetch(file, slot_at, 1)  # all at once, because each is far away
    return True


def add_items(keys: Table, state: Table, roomy: Bytes, file: Bytes) -> int:
    """Add an item for each key, as many as the file has room for.

    Args:
        keys: The columns of each key, as `broker_core.native.keys` finds them.
        state: The columns above.
        roomy: Whether each block has reserved room on the disk. Those of the new items have it.
        file: The index file.

    Returns:
        Why it stopped: `END`, `FULL`, or `NO_ROOM`, and then it has written nothing. ``state[KEY]`` is the first key left.
    """
    if not has_room(keys, state, roomy, file):
        return NO_ROOM
    items_at, number = HEADER_BYTES + state[SLOTS] * SLOT_BYTES, state[NEXT]
    while state[KEY] < state[KEYS] and number < state[ITEMS]:
        row = state[KEY] * KEY_COLUMNS
        hashed, store_ms = keys[row + HASH], keys[row + STORE_MS]
        slot_at, item_at = slot_position(hashed, state[SLOTS]), items_at + number * ITEM_BYTES
        previous = i32(file, slot_at)
        if previous <= 0 or previous >= number:
            previous = 0
            state[USED_SLOTS] += 1
        put32(file, item_at, hashed)
        put64(file, item_at + 4, keys[row + OFFSET])
        put32(file, item_at + 12, seconds_behind(state[BEGIN_MS], store_ms))
        put32(file, item_at + 16, previous)
        put32(file, slot_at, number)
        if number == 1:
            state[BEGIN_MS] = store_ms  # the first item's time counts from the file before
        number += 1
        state[KEY] += 1
    state[NEXT] = number
    return END if state[KEY] == state[KEYS] else FULL


def fill_slots(state: Table, file: Bytes) -> int:
    """Hang all items before the next one into their slots, which are empty; returns how many slots are used."""
    items_at, used = HEADER_BYTES + state[SLOTS] * SLOT_BYTES, 0
    for number in range(1, state[NEXT]):
        slot_at = slot_position(i32(file, items_at + number * ITEM_BYTES), state[SLOTS])
        used += i32(file, slot_at) == 0
        put32(file, slot_at, number)
    return used


def has_items(keys: Table, state: Table, file: Bytes) -> int:
    """Whether the items from ``state[NEXT]`` on are those of keys, as `add_items` would write them; 1 or 0.

    Only the time of the first item of a file is not looked at, because it counts from the file before.
    """
    items_at = HEADER_BYTES + state[SLOTS] * SLOT_BYTES
    for key in range(state[KEYS]):
        row, number = key * KEY_COLUMNS, state[NEXT] + key
        item_at = items_at + number * ITEM_BYTES
        if i32(file, item_at) != keys[row + HASH] or i64(file, item_at + 4) != keys[row + OFFSET]:
            return 0
        if number > 1 and i32(file, item_at + 12) != seconds_behind(state[BEGIN_MS], keys[row + STORE_MS]):
            return 0
    return 1


def check_slots(state: Table, file: Bytes, newest: Table) -> int:
    """Compare slots with the newest item of each, from ``state[SLOT]`` on; returns the first other one plus 1, 0 for none.

    Slots with items are counted in ``state[USED_SLOTS]``. Arguments as of `check_items`.
    """
    for slot in range(state[SLOT], state[SLOTS]):
        state[USED_SLOTS] += newest[slot] != 0
        if i32(file, HEADER_BYTES + slot * SLOT_BYTES) != newest[slot]:
            state[SLOT] = slot + 1
            return int(slot + 1)
    state[SLOT] = state[SLOTS]
    return 0


def check_items(state: Table, file: Bytes, newest: Table) -> int:
    """Check the items from ``state[KEY]`` to the next one; returns the number of the first with a fault, 0 for none.

    A hash is not negative, an item names the one before it in its slot, and no physical offset lies before that of the item
    before it. The check goes on behind the faulty item.

    Args:
        state: The columns above.
        file: The index file.
        newest: The newest item of each slot so far.
    """
    items_at = HEADER_BYTES + state[SLOTS] * SLOT_BYTES
    for number in range(state[KEY], state[NEXT]):
        item_at = items_at + number * ITEM_BYTES
        hashed, physical, slot = i32(file, item_at), i64(file, item_at + 4), i32(file, item_at) % state[SLOTS]
        is_good = hashed >= 0 and i32(file, item_at + 16) == newest[slot] and physical >= state[LAST_OFFSET]
        state[EXPECTED] = newest[slot]
        newest[slot] = number
        if not is_good:
            state[KEY] = number + 1
            return int(number)
        state[LAST_OFFSET] = physical
    state[KEY] = state[NEXT]
    return 0
