"""Time of a report from command line to folder, by stage: ``python -m benchmarks.spark_report [MESSAGES]``.

Writes a store of that many messages (about 330 bytes a record), runs the program twice and prints the stages of both: the
first run may find nothing in the page cache, the second does. Run ``main.py report --prepare`` before to measure with
Java's prepared classes.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.store_writer import StoreWriter

ROOT = Path(__file__).resolve().parent.parent
START_MS, STEP_MS = 1_700_000_000_000, 4
TOPICS = ("orders", "payments", "shipments", "audit-log", "metrics")


def write_store(root: Path, messages: int) -> int:
    """Write the store; return its bytes."""
    writer = StoreWriter(root, file_bytes=1 << 30)
    chance = random.Random(1)
    noise = chance.randbytes(4096)
    for index in range(messages):
        body_bytes = chance.randrange(60, 220)
        properties = {"KEYS": f"K{index % 1000} O{index}", "UNIQ_KEY": f"7F0000010000{index:020X}", "CLUSTER": "DefaultCluster"}
        properties["TAGS"] = f"tag{index % 7}"
        topic = TOPICS[int(chance.random() ** 2 * len(TOPICS))]
        stored = START_MS + index * STEP_MS
        writer.append(topic, noise[body_bytes : 2 * body_bytes], properties, queue_id=index % 8, store_ms=stored)
    writer.flush()
    return writer.position


def run_once(store: Path, out: Path) -> dict[str, float]:
    """Run the report; seconds by stage and in all."""
    began = time.monotonic()
    command = [sys.executable, "-m", "spark_reports", "throughput", "--store", str(store), "--out", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    elapsed = time.monotonic() - began
    manifest = json.loads((out / "manifest.json").read_text())
    return {stage["key"]: stage["seconds"] for stage in manifest["stages"]} | {"process": round(elapsed, 3)}


def main() -> None:
    """Measure and print."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory(prefix="orbit-bench-") as folder:
        store = Path(folder, "store")
        store_bytes = write_store(store, messages)
        print(f"{messages:,} messages, {store_bytes / 2**20:,.0f} MiB")
        for label in ("first", "second"):
            print(label, json.dumps(run_once(store, Path(folder, label))))


if __name__ == "__main__":
    main()
