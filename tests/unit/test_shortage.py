"""A process that gets no more memory, addresses or threads says so in one line, with the limit."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from functools import partial

import pytest

from broker_core.children import environment, main_command
from broker_core.platform import machine
from broker_core.shortage import shortage_text
from tests.support.store_writer import StoreWriter

LIMIT_BYTES = 300 << 20
SECONDS = 60
NO_THREAD = RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("error", "limit_bytes", "words"),
    [
        (OSError(errno.ENOMEM, "Cannot allocate memory"), LIMIT_BYTES, "300 MiB of addresses"),
        (NO_THREAD, LIMIT_BYTES, "300 MiB of addresses"),
        (NO_THREAD, None, "ulimit -u"),
        (MemoryError(), None, "memory"),
    ],
)
def test_the_limit_that_is_reached_is_named(monkeypatch, error, limit_bytes, words):
    monkeypatch.setattr(machine, "address_bytes", lambda: limit_bytes)
    assert words in shortage_text(error)


@pytest.mark.parametrize("error", [RuntimeError("size changed"), OSError(errno.ENOENT, "no such file"), KeyError("a")])
def test_other_errors_are_none_of_its_own(error):
    assert shortage_text(error) == ""


@pytest.mark.environment
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit of addresses of Linux")
@pytest.mark.parametrize(
    "words",
    [
        ("store", "dump", "{store}"),
        ("search", "size > 0", "--store", "{store}"),
        ("report", "keys", "--store", "{store}", "--estimate"),
        ("broker", "--store", "{store}-new", "--ns-port", "0", "--port", "0", "--grpc-port", "0"),
    ],
    ids=" ".join,
)
def test_a_command_whose_addresses_are_limited_names_the_limit(tmp_path, words):
    writer = StoreWriter(tmp_path / "store", file_bytes=1 << 30)
    writer.append("orders", b"x")
    writer.flush()
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    command = main_command(*(word.format(store=tmp_path / "store") for word in words))
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, check=False, timeout=SECONDS, preexec_fn=limit
    )
    assert done.returncode in (1, 3)
    assert "300 MiB of addresses" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
