"""Checks the golden stores against their descriptions, from the layouts in docs/spec/store.md alone (standard library only).

    check.py [-v] [NAME | ARCHIVE.tar.gz ...]        default: every *.tar.gz beside this file

For each store the commit log is walked record by record and compared, field by field, with what a real broker served
(NAME.expected.json.gz); then consume queues, index queries, offset-by-time, send results, configuration and checkpoint.
The exit status is the number of stores with mismatches.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import ipaddress
import itertools
import json
import re
import struct
import sys
import tarfile
import tempfile
import zlib
from collections import Counter
from pathlib import Path

V1, V2, BLANK = 0xDAA320A7, 0xDAA320AB, 0xCBD43194
SCHEDULE = "SCHEDULE_TOPIC_XXXX"
DELAYS = [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200]
INNER_QUEUES = "INNER_MULTI_DISPATCH"


def jhash(text: str) -> int:
    """Java String.hashCode (docs/spec/store.md §0)."""
    h = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):
        h = (31 * h + unit) & 0xFFFFFFFF
    return h - (1 << 32) if h >> 31 else h


def key_hash(text: str) -> int:
    h = abs(jhash(text))
    return 0 if h == 1 << 31 else h


def murmur3_low(data: bytes) -> int:
    """Low 64 bits of murmur3 x64 128 with seed 0 (docs/spec/store.md §4.6)."""
    mask, c1, c2 = (1 << 64) - 1, 0x87C37B91114253D5, 0x4CF5AD432745937F

    def rotate(x: int, r: int) -> int:
        return (x << r | x >> (64 - r)) & mask

    def finish(k: int) -> int:
        k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD & mask
        k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 & mask
        return k ^ k >> 33

    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for k1, k2 in struct.iter_unpack("<QQ", data[:whole]):
        h1 = ((rotate(h1 ^ rotate(k1 * c1 & mask, 31) * c2 & mask, 27) + h2) * 5 + 0x52DCE729) & mask
        h2 = ((rotate(h2 ^ rotate(k2 * c2 & mask, 33) * c1 & mask, 31) + h1) * 5 + 0x38495AB5) & mask
    k1, k2 = struct.unpack("<QQ", data[whole:].ljust(16, b"\0"))
    h2 ^= rotate(k2 * c2 & mask, 33) * c1 & mask
    h1 ^= rotate(k1 * c1 & mask, 31) * c2 & mask
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & mask
    h2 = (h2 + h1) & mask
    return (finish(h1) + finish(h2)) & mask


def bloom_positions(group: str, topic: str, hashes: int = 3, bits: int = 112) -> list[int]:
    h = murmur3_low(f"{group}#{topic}".encode())
    result = []
    for i in range(1, hashes + 1):
        c = ((h & 0xFFFFFFFF) + i * (h >> 32)) & 0xFFFFFFFF
        result.append((~c & 0xFFFFFFFF if c >> 31 else c) % bits)
    return result


def properties(raw: str) -> dict[str, str]:
    """docs/spec/store.md §2.6."""
    result = {}
    for part in raw.split("\x02"):
        name, separator, value = part.partition("\x01")
        if len(part) >= 3 and name and separator and value:
            result[name] = value
    return result


def parse_record(data: bytes, at: int, base: int) -> dict:
    """docs/spec/store.md §2.1; raises ValueError when the parts do not add up to TOTALSIZE."""
    size, magic, crc, queue_id, flag, queue_offset, physical, sys_flag, born = struct.unpack_from(">iIiiiqqiq", data, at)
    p = at + 48

    def host(v6: bool) -> str:
        nonlocal p
        n = 16 if v6 else 4
        address = ipaddress.ip_address(data[p : p + n])
        port = struct.unpack_from(">i", data, p + n)[0]
        p += n + 4
        # Java prints all eight groups of an IPv6 address
        return f"[{':'.join(f'{int(g, 16):x}' for g in address.exploded.split(':'))}]:{port}" if v6 else f"{address}:{port}"

    born_host = host(bool(sys_flag & 0x10))
    stored = struct.unpack_from(">q", data, p)[0]
    p += 8
    where = p
    store_host = host(bool(sys_flag & 0x20))
    identity = (data[where:p] + struct.pack(">q", physical)).hex().upper()
    reconsume, prepared, length = struct.unpack_from(">iqi", data, p)
    p += 16
    body = data[p : p + length]
    p += length
    wide = magic == V2
    topic_length = struct.unpack_from(">h" if wide else ">B", data, p)[0]
    p += 2 if wide else 1
    topic = data[p : p + topic_length].decode()
    p += topic_length
    property_length = struct.unpack_from(">h", data, p)[0]
    raw = data[p + 2 : p + 2 + property_length].decode()
    if p + 2 + property_length != at + size:
        raise ValueError(f"record at {base + at}: parts end at {p + 2 + property_length - at}, TOTALSIZE is {size}")
    return {
        "topic": topic, "queueId": queue_id, "queueOffset": queue_offset, "physicalOffset": physical, "storeSize": size,
        "bodyCrc": crc, "sysFlag": sys_flag, "flag": flag, "bornTimestamp": born, "bornHost": born_host,
        "storeTimestamp": stored, "storeHost": store_host, "reconsumeTimes": reconsume, "preparedTransactionOffset": prepared,
        "properties": properties(raw), "storedBodyLength": length, "stored": body, "rawProperties": raw,
        "recordCrc32": zlib.crc32(data[at : at + size]), "offsetMsgId": identity,
    }  # fmt: skip


class Check:
    """One unpacked store and its description."""

    def __init__(self, root: Path, expected: dict) -> None:
        self.root, self.expected = root, expected
        self.v5 = expected["brokerVersion"].startswith("5.")
        self.crashed = (root / "abort").exists()
        self.end = expected["log"]["maxOffset"]
        columns = expected["messageColumns"]
        self.queues = {(q["topic"], q["queueId"]): q for q in expected["queues"]}
        self.messages = {k: [dict(zip(columns, m, strict=True)) for m in q["messages"]] for k, q in self.queues.items()}
        self.mtime = {f["path"]: f["mtimeMs"] for f in expected["files"]}
        self.records: dict[int, dict] = {}
        self.errors: list[str] = []
        self.counts: Counter[str] = Counter()

    def wrong(self, what: str) -> None:
        self.errors.append(what)

    def same(self, what: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.wrong(f"{what}: found {str(found)[:160]}, expected {str(wanted)[:160]}")

    def run(self) -> None:
        self.commit_log()
        self.consume_queues()
        self.sends()
        self.config()
        self.checkpoint()
        if not self.crashed:
            self.searches()
            self.index()
        self.timer_log()

    # -- commit log ---------------------------------------------------------------------------------------------------

    def commit_log(self) -> None:
        files = sorted((self.root / "commitlog").iterdir())
        size = int(self.expected["settings"]["mappedFileSizeCommitLog"])
        for before, after in itertools.pairwise(files):
            self.same("base of next commit-log file", int(after.name), int(before.name) + size)
        self.same("first commit-log file", int(files[0].name), self.expected["log"]["minOffset"])
        for path in files:
            self.counts["log files"] += 1
            data, at = path.read_bytes(), 0
            self.same(f"size of {path.name}", len(data), size)
            while at + 8 <= size:
                total, magic = struct.unpack_from(">iI", data, at)
                if magic == BLANK:
                    self.same(f"filler in {path.name}", total, size - at)
                    self.counts["fillers"] += 1
                    break
                if magic not in (V1, V2):
                    if total or magic:
                        self.counts["torn"] += 1
                    break
                try:
                    record = parse_record(data, at, int(path.name))
                except (ValueError, struct.error, UnicodeDecodeError):
                    if self.crashed:
                        self.counts["torn"] += 1
                        break
                    raise
                self.same(f"PHYSICALOFFSET in {path.name} at {at}", record["physicalOffset"], int(path.name) + at)
                crc = zlib.crc32(record["stored"]) & 0x7FFFFFFF
                if crc != record["bodyCrc"] and self.crashed:
                    self.counts["torn"] += 1
                    break
                self.same(f"BODYCRC of {record['physicalOffset']}", crc, record["bodyCrc"])
                self.records[record["physicalOffset"]] = record
                at += total
        self.same("records in the log", len(self.records), self.expected["recordCount"])
        top = max(r["physicalOffset"] + r["storeSize"] for r in self.records.values())
        self.same("end of the log", top, self.end)
        self.served_records()

    def served_records(self) -> None:
        served: set[int] = set()
        for key, messages in self.messages.items():
            for message in messages:
                record = self.records.get(message["physicalOffset"])
                if record is None:
                    self.wrong(f"{key} {message['queueOffset']}: no record at {message['physicalOffset']}")
                    continue
                served.add(message["physicalOffset"])
                self.record(key, message, record)
        self.same("records that no queue serves", sorted(self.records.keys() - served)[:5], [])
        self.counts["records"] = len(self.records)

    def record(self, key: tuple[str, int], message: dict, record: dict) -> None:
        if not key[0].startswith("%LMQ%"):
            self.same(f"topic and queue of {record['physicalOffset']}", (record["topic"], record["queueId"]), key)
        for name, value in message.items():
            if name in ("body", "bodySha256", "bodyLength", "tagsCode"):
                continue
            self.same(f"{name} of {record['physicalOffset']}", record[name], value)
        body = record["stored"]
        if record["sysFlag"] & 1:
            self.counts[f"compressed type {record['sysFlag'] >> 8 & 7}"] += 1
            if record["sysFlag"] >> 8 & 7 not in (0, 3):
                return  # LZ4 and zstd are not in the standard library
            body = zlib.decompress(body)
        self.same(f"body length of {record['physicalOffset']}", len(body), message["bodyLength"])
        if message["body"] is not None:
            self.same(f"body of {record['physicalOffset']}", body, base64.b64decode(message["body"]))
        else:
            self.same(f"body of {record['physicalOffset']}", hashlib.sha256(body).hexdigest(), message["bodySha256"])

    # -- consume queues -----------------------------------------------------------------------------------------------

    def units(self, topic: str, queue: int) -> tuple[int, bytes]:
        """First offset on disk and the bytes of all files of one queue."""
        folder = self.root / "consumequeue" / topic / str(queue)
        if not folder.is_dir():
            return 0, b""
        files = sorted(folder.iterdir())
        return (int(files[0].name) // 20, b"".join(f.read_bytes() for f in files)) if files else (0, b"")

    def tags_code(self, record: dict) -> int:
        """docs/spec/store.md §4.2."""
        level = int(record["properties"].get("DELAY", "0"))
        if record["topic"] == SCHEDULE and level > 0:
            return record["storeTimestamp"] + 1000 * DELAYS[min(level, 18) - 1]
        return jhash(record["properties"].get("TAGS", ""))

    def consume_queues(self) -> None:
        for (topic, queue), info in self.queues.items():
            first, data = self.units(topic, queue)
            self.counts["queues"] += 1
            self.counts["queue files"] += len(list((self.root / "consumequeue" / topic / str(queue)).glob("*")))
            offset = info["minOffset"]
            messages = self.messages[topic, queue]
            if not any((u["topic"], u["queueId"]) == (topic, queue) for u in self.expected["unserved"]):
                self.same(f"{topic}/{queue} count", len(messages), info["maxOffset"] - offset)
            for number, message in enumerate(messages):
                n = number if topic.startswith("%LMQ%") else message["queueOffset"] - offset
                place = (offset + n - first) * 20
                if self.crashed and (place + 20 > len(data) or not any(data[place : place + 20])):
                    self.counts["units the crash left out"] += 1
                    continue
                physical, size, code = struct.unpack_from(">qiq", data, place)
                self.counts["units"] += 1
                self.same(
                    f"{topic}/{queue} unit {offset + n}", (physical, size), (message["physicalOffset"], message["storeSize"])
                )
                record = self.records[physical]
                if code <= -2147483649:
                    code = self.extension(topic, queue, code, record)
                elif message["tagsCode"] is not None:
                    self.same(f"{topic}/{queue} code {offset + n} as the broker reads it", code, message["tagsCode"])
                self.same(f"{topic}/{queue} code {offset + n}", code, self.tags_code(record))
            rest = data[(info["maxOffset"] - first) * 20 :]
            if not self.crashed and any(rest):
                self.wrong(f"{topic}/{queue}: bytes after the last unit")

    def extension(self, topic: str, queue: int, address: int, record: dict) -> int:
        """docs/spec/store.md §4.6: the real tags code behind an ext address."""
        at = address + (1 << 63)
        files = sorted((self.root / "consumequeue_ext" / topic / str(queue)).iterdir())
        data = b"".join(f.read_bytes() for f in files)
        size, code, stored, bits = struct.unpack_from(">hqqh", data, at - int(files[0].name))
        self.counts["extension units"] += 1
        self.same(f"extension size at {at}", size, 20 + bits)
        self.same(f"extension time at {at}", stored, record["storeTimestamp"])
        bitmap = data[at - int(files[0].name) + 20 :][:bits]
        present = {j for j in range(8 * bits) if bitmap[j // 8] >> (j % 8) & 1}
        groups = self.load("consumerFilter.json")["filterDataByTopic"].get(topic, {}).get("groupFilterData", {})
        known = [set(bloom_positions(g, topic)) for g in groups]
        self.same(f"filter bits at {at}", present, set().union(*(k for k in known if k <= present)))
        return code

    # -- offset by time -----------------------------------------------------------------------------------------------

    def searches(self) -> None:
        for topic, queue, timestamp, boundary, offset in self.expected["searches"]:
            found = self.search5(topic, queue, timestamp, boundary) if boundary else self.search4(topic, queue, timestamp)
            self.counts["searches"] += 1
            self.same(f"offset by time {topic}/{queue} {timestamp} {boundary or ''}", found, offset)

    def search4(self, topic: str, queue: int, timestamp: int) -> int:
        """docs/spec/store.md §11.5, 4.9 rule."""
        info = self.queues[topic, queue]
        size = -(-int(self.expected["settings"]["mappedFileSizeConsumeQueue"]) // 20) * 20
        folder = Path("consumequeue") / topic / str(queue)
        bases = sorted(int(p.name) for p in (self.root / folder).iterdir())
        base = next((b for b in bases if self.mtime[str(folder / f"{b:020}")] >= timestamp), bases[-1])
        low = max(0, info["minOffset"] * 20 - base)
        high = min(size, info["maxOffset"] * 20 - base) - 20
        target = left = right = left_value = right_value = -1
        first, data = self.units(topic, queue)
        while high >= low:
            mid = (low + high) // 40 * 20
            physical = struct.unpack_from(">q", data, base + mid - first * 20)[0]
            if physical < self.expected["log"]["minOffset"]:
                low, left = mid + 20, mid
                continue
            t = self.records[physical]["storeTimestamp"]
            if t == timestamp:
                target = mid
                break
            if t > timestamp:
                high, right, right_value = mid - 20, mid, t
            else:
                low, left, left_value = mid + 20, mid, t
        if target < 0:
            if left_value == -1:
                target = right
            elif right_value == -1:
                target = left
            else:
                target = right if abs(timestamp - left_value) > abs(timestamp - right_value) else left
        return int((base + target) / 20)

    def search5(self, topic: str, queue: int, timestamp: int, boundary: str) -> int:
        """docs/spec/store.md §11.5, 5.x rule."""
        times = [(m["queueOffset"], m["storeTimestamp"]) for m in self.messages[topic, queue]]
        info = self.queues[topic, queue]
        if boundary == "LOWER":
            return next((o for o, t in times if t >= timestamp), info["maxOffset"])
        return max((o for o, t in times if t <= timestamp), default=info["minOffset"])

    # -- index --------------------------------------------------------------------------------------------------------

    @functools.cached_property
    def index_files(self) -> list[bytes]:
        folder = self.root / "index"
        return [p.read_bytes() for p in sorted(folder.iterdir())] if folder.is_dir() else []

    def index(self) -> None:
        slots, items = (int(self.expected["settings"][k]) for k in ("maxHashSlotNum", "maxIndexNum"))
        have: Counter[tuple[int, int]] = Counter()
        for data in self.index_files:
            self.same("index file size", len(data), 40 + 4 * slots + 20 * items)
            count = struct.unpack_from(">i", data, 36)[0]
            for i in range(1, count):
                have[struct.unpack_from(">iq", data, 40 + 4 * slots + 20 * i)] += 1
            self.counts["index files"] += 1
            self.counts["index items"] += count - 1
        oldest = min((struct.unpack_from(">q", d, 16)[0] for d in self.index_files), default=0)
        for record in self.records.values():
            p = record["properties"]
            for key in [p.get("UNIQ_KEY", ""), *p.get("KEYS", "").split(" ")]:
                if (
                    key
                    and record["physicalOffset"] > oldest
                    and not have[key_hash(f"{record['topic']}#{key}"), record["physicalOffset"]]
                ):
                    self.wrong(f"key {key} of {record['physicalOffset']} is not indexed")
        for topic, key, unique, most, begin, end, _code, offsets in self.expected["queries"]:
            self.counts["queries"] += 1
            found = self.query(f"{topic}#{key}", 32 if unique else most, begin, end, slots)
            self.same(f"query {topic} {key} [{begin}, {end}] {most}", found, offsets)

    def query(self, text: str, most: int, begin: int, end: int, slots: int) -> list[int]:
        """docs/spec/store.md §11.6, queryMessage."""
        last = end
        for _ in range(3):
            found = sorted(self.query_index(text, min(most, 64), begin, last, slots))
            if not found:
                return []
            served = [o for o in found if o in self.records]
            if served:
                return served
            if last < begin:
                break
        return []

    def query_index(self, text: str, most: int, begin: int, end: int, slots: int) -> list[int]:
        """docs/spec/store.md §5.5."""
        wanted, result = key_hash(text), []
        for data in reversed(self.index_files):
            first, final = struct.unpack_from(">qq", data)
            count = struct.unpack_from(">i", data, 36)[0]
            if (begin <= first and end >= final) or first <= begin <= final or first <= end <= final:
                item = struct.unpack_from(">i", data, 40 + 4 * (wanted % slots))[0]
                if 0 < item <= count and count > 1:
                    while len(result) < most:
                        h, offset, diff, previous = struct.unpack_from(">iqii", data, 40 + 4 * slots + 20 * item)
                        if diff < 0:
                            break
                        t = first + 1000 * diff
                        if h == wanted and begin <= t <= end:
                            result.append(offset)
                        if previous <= 0 or previous > count or previous == item or t < begin:
                            break
                        item = previous
            if first < begin or len(result) >= most:
                break
        return result

    # -- the rest -----------------------------------------------------------------------------------------------------

    def sends(self) -> None:
        by_id = {m["offsetMsgId"]: (k, m) for k, ms in self.messages.items() for m in ms if not k[0].startswith("%LMQ%")}
        keys = Counter(m["properties"].get("UNIQ_KEY") for ms in self.messages.values() for m in ms)
        for row in self.expected["sends"]:
            send = dict(zip(self.expected["sendsColumns"], row, strict=True))
            self.counts["sends"] += 1
            if send["offsetMsgId"] is None:
                if not keys[send["msgId"]] and not self.crashed:
                    self.wrong(f"one-way message {send['msgId']} is not in the store")
                continue
            ids = send["offsetMsgId"].split(",")
            clients = (send["msgId"] or "").split(",")
            for n, identity in enumerate(ids):
                if int(identity[-16:], 16) < self.expected["log"]["minOffset"]:
                    self.counts["sends cleaned away"] += 1
                    continue
                if int(identity[-16:], 16) >= self.end and self.crashed:
                    self.counts["sends lost with the torn end"] += 1
                    continue
                if identity not in by_id:
                    self.wrong(f"acknowledged {identity} is not served")
                    continue
                (topic, queue), message = by_id[identity]
                if topic == send["topic"]:
                    self.same(f"queue of {identity}", queue, send["queueId"])
                else:
                    self.counts["sends stored under another topic"] += 1
                self.same(f"queue offset of {identity}", message["queueOffset"], send["queueOffset"] + n)
                if clients[0] and len(clients) == len(ids):
                    # a 5.3 batch record carries its own id and, later and therefore winning, the id of the whole batch
                    raw = self.records[message["physicalOffset"]]["rawProperties"]
                    self.same(f"client id of {identity}", f"UNIQ_KEY\x01{clients[n]}" in raw, True)

    def load(self, name: str) -> dict:
        path = self.root / "config" / name
        return json.loads(re.sub(r"([{,]\s*)(-?\d+)(\s*:)", r'\1"\2"\3', path.read_text("utf-8"))) if path.exists() else {}

    def config(self) -> None:
        stored = self.load("topics.json").get("topicConfigTable", {})
        served = {t["topicName"]: t for t in self.expected["topics"]}
        for name, topic in stored.items():
            self.same(f"topic {name}", topic, served.get(name))
        self.counts["topics"] = len(stored)
        groups = {g["groupName"]: g for g in self.expected["subscriptionGroups"]}
        for name, group in self.load("subscriptionGroup.json").get("subscriptionGroupTable", {}).items():
            self.same(f"group {name}", group, groups.get(name))
            self.counts["groups"] += 1
        for file, section in (("consumerOffset.json", "consumerOffsets"), ("delayOffset.json", "delayOffsets")):
            table = self.load(file).get("offsetTable", {})
            if not self.crashed:
                self.same(file, table, self.expected[section])
            self.counts[section] = len(table)

        for topic, data in self.load("consumerFilter.json").get("filterDataByTopic", {}).items():
            for group, filtered in data["groupFilterData"].items():
                self.same(f"filter positions of {group}", bloom_positions(group, topic), filtered["bloomFilterData"]["bitPos"])
                self.counts["filters"] += 1

    def checkpoint(self) -> None:
        physic, logics, index = struct.unpack_from(">qqq", (self.root / "checkpoint").read_bytes())
        last = max(self.records.values(), key=lambda r: r["physicalOffset"])["storeTimestamp"]
        if not self.crashed:  # the last flushes of a clean stop do not renew the physical time
            times = {r["storeTimestamp"] for r in self.records.values()}
            self.same("checkpoint, physical time is that of a record", physic in times, True)
            self.same("checkpoint, logical", logics, last)
        full = [struct.unpack_from(">q", d, 8)[0] for d in self.index_files[:-1]]
        if index and not self.crashed:
            self.same("checkpoint, index", index in [*full, last], True)

    def timer_log(self) -> None:
        """docs/spec/store.md §14.1: record sizes, magic, and that each points at a record of the wheel topic."""
        folder = self.root / "timerlog"
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            data, at = path.read_bytes(), 0
            while at + 52 <= len(data):
                size, _previous, magic, written, delay, physical, length, topic, _ = struct.unpack_from(">iqiqiqiiq", data, at)
                if size != 52 or magic & ~0xF:
                    break
                record = self.records.get(physical)
                if record is None or record["topic"] != "rmq_sys_wheel_timer":
                    self.wrong(f"timer log {path.name} at {at}: no wheel message at {physical}")
                else:
                    self.same(f"timer log {at} size", length, record["storeSize"])
                    self.same(f"timer log {at} topic", topic, jhash(record["properties"]["REAL_TOPIC"]))
                    if not magic & 2:
                        self.same(f"timer log {at} due", written + delay, int(record["properties"]["TIMER_OUT_MS"]))
                self.counts["timer records"] += 1
                at += 52


def main(arguments: list[str]) -> int:
    verbose = "-v" in arguments
    here = Path(__file__).parent
    names = [a for a in arguments if a != "-v"] or sorted(str(p) for p in here.glob("*.tar.gz"))
    bad = 0
    for name in names:
        archive = Path(name) if name.endswith(".gz") else here / f"{name}.tar.gz"
        description = archive.with_name(archive.name.replace(".tar.gz", ".expected.json.gz"))
        expected = json.loads(gzip.decompress(description.read_bytes()))
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(archive) as tar:
                tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
            check = Check(Path(folder), expected)
            check.run()
        counts = ", ".join(f"{n} {k}" for k, n in check.counts.items())
        print(f"{expected['name']}: {'OK' if not check.errors else f'{len(check.errors)} MISMATCHES'} ({counts})")
        for error in check.errors[: None if verbose else 8]:
            print("   ", error)
        bad += bool(check.errors)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
