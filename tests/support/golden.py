"""Stores written by real RocketMQ brokers, with what the broker served from them."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[1] / "data" / "golden"
GOLDEN_NAMES = (
    "normal",
    "normal-5",
    "bigkeys",
    "cleaned",
    "consume",
    "consume-5",
    "crash",
    "delay",
    "delay-5",
    "filter",
    "ipv6",
    "lmq",
    "torn",
    "transaction",
    "transaction-5",
)


JAVAS_LOOPBACK = "[0:0:0:0:0:0:0:1]"
"""The one IPv6 host of the descriptions, which Java wrote."""


@dataclass(frozen=True, slots=True)
class GoldenMessage:
    """One message as the real broker served it.

    ``columns`` are under the names of the description; IPv6 hosts in them are spelled as RFC 5952 does.
    """

    topic: str
    queue_id: int
    columns: dict[str, Any]

    def body_matches(self, body: bytes) -> bool:
        """Whether a decompressed body is the one described."""
        if self.columns["body"] is not None:
            return body == base64.b64decode(self.columns["body"])
        return bool(hashlib.sha256(body).hexdigest() == self.columns["bodySha256"])


@dataclass(frozen=True, slots=True)
class GoldenStore:
    """An archive and its description."""

    name: str
    archive: Path
    expected: dict[str, Any]

    def unpack(self, directory: Path) -> Path:
        """Root of a fresh copy, modification times as they were."""
        root = directory / self.name
        with tarfile.open(self.archive) as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(root, filter="data")
            else:  # Python 3.11.2, as in Debian 12; the archives are our own
                archive.extractall(root)
        return root

    def messages(self) -> Iterator[GoldenMessage]:
        """All messages of all queues."""
        names = self.expected["messageColumns"]
        for queue in self.expected["queues"]:
            for row in queue["messages"]:
                columns = dict(zip(names, row, strict=True))
                columns |= {name: columns[name].replace(JAVAS_LOOPBACK, "[::1]") for name in ("bornHost", "storeHost")}
                yield GoldenMessage(queue["topic"], queue["queueId"], columns)

    def searches(self) -> Iterator[dict[str, Any]]:
        """Offset-by-time requests and their answers."""
        for row in self.expected["searches"]:
            yield dict(zip(self.expected["searchesColumns"], row, strict=True))

    def queries(self) -> Iterator[dict[str, Any]]:
        """Queries by key and the physical offsets in their answers."""
        for row in self.expected["queries"]:
            yield dict(zip(self.expected["queriesColumns"], row, strict=True))


def golden_store(name: str) -> GoldenStore:
    """A golden store by name."""
    expected = json.loads(gzip.decompress((GOLDEN / f"{name}.expected.json.gz").read_bytes()))
    return GoldenStore(name, GOLDEN / f"{name}.tar.gz", expected)


def contents(root: Path) -> dict[str, tuple[int, bytes, int]]:
    """Size, content hash and modification time of each file below a directory."""
    result = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            stat = path.stat()
            result[str(path.relative_to(root))] = (stat.st_size, hashlib.sha256(path.read_bytes()).digest(), stat.st_mtime_ns)
    return result
