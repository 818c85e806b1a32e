from __future__ import annotations

import pytest

from broker_core.protocol.message.sys_flag import (
    Compression,
    TransactionType,
    compression_number,
    enters_queue,
    transaction_type,
)
from broker_core.protocol.message.sys_flag import with_compression as mark


@pytest.mark.parametrize(
    ("kind", "enters"),
    [
        (TransactionType.NONE, True),
        (TransactionType.PREPARED, False),
        (TransactionType.COMMIT, True),
        (TransactionType.ROLLBACK, False),
    ],
)
def test_prepared_and_rollback_do_not_enter_the_queue(kind, enters):
    assert transaction_type(kind | 0x33) is kind
    assert enters_queue(kind | 0x33) is enters


def test_compression_replaces_what_was_there_and_keeps_the_rest():
    flag = mark(mark(0x30, Compression.ZLIB), Compression.LZ4)
    assert flag == 0x30 | 0x1 | 0x100
    assert compression_number(flag) == Compression.LZ4
