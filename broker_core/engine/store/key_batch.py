"""Keys of records for the index files, and the arithmetic of their hashes (Source: docs/spec/store.md §5.2). Loads numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.layout import Int64s

Hashes = npt.NDArray[np.uint32]

POWERS: Hashes = np.full(1 << 15, 31, dtype=np.uint32)
"""31 to the power of each possible length of a property, modulo 2^32."""
POWERS[0] = 1
np.multiply.accumulate(POWERS, out=POWERS, dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class KeyBatch:
    """Keys of consecutive records, each for one item. The records end at offset ``end`` of the log."""

    key_hash: Int64s
    physical_offset: Int64s
    store_ms: Int64s
    end: int

    def __len__(self) -> int:
        return len(self.key_hash)


def absolute(hashes: Hashes) -> Int64s:
    """Java's hashes as in index files: absolute values, 0 where that overflows."""
    signed: Int64s = np.abs(hashes.view(np.int32).astype(np.int64))
    signed[signed == 1 << 31] = 0
    return signed
