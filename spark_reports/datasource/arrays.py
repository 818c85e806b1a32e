"""Columns of broker_core as numpy arrays, without a copy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Int64s = npt.NDArray[np.int64]


def array_of(column: memoryview) -> Int64s:
    """The numbers of a column."""
    return np.frombuffer(column, dtype=np.int64)
