"""Packs a store directory and turns the line journals of the Java generator into NAME.expected.json.gz.

stores.py pack STORE_DIR ARCHIVE
stores.py tear STORE_DIR
stores.py settings EXPECTED_JSON
stores.py table OUTPUT_DIR
stores.py cross EXPECTED_JSON VERSION JOURNAL
stores.py describe NAME VERSION TRUTH SETTINGS WORK_DIR OUTPUT
"""

from __future__ import annotations

import gzip
import json
import re
import struct
import sys
import tarfile
from pathlib import Path

MESSAGE_COLUMNS = [
    "queueOffset", "physicalOffset", "storeSize", "bodyCrc", "sysFlag", "flag", "bornTimestamp", "bornHost",
    "storeTimestamp", "storeHost", "reconsumeTimes", "preparedTransactionOffset", "properties", "storedBodyLength",
    "bodyLength", "body", "bodySha256", "tagsCode", "recordCrc32", "offsetMsgId",
]  # fmt: skip
SEND_COLUMNS = ["kind", "count", "status", "topic", "queueId", "queueOffset", "msgId", "offsetMsgId"]
SEARCH_COLUMNS = ["topic", "queueId", "timestamp", "boundary", "offset"]
QUERY_COLUMNS = ["topic", "key", "unique", "maxNum", "begin", "end", "code", "physicalOffsets"]
CONSUMED_COLUMNS = ["group", "topic", "queueId", "queueOffset", "reconsumeTimes"]


def pack(store: Path, archive: Path) -> None:
    """Writes a reproducible tar.gz; modification times keep their fractions, because offset-by-time needs them."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", 9, raw, 0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(store.rglob("*")):
            info = tarfile.TarInfo(str(path.relative_to(store)))
            stat = path.stat()
            info.mtime, info.mode = stat.st_mtime_ns // 1_000_000 / 1000, 0o755 if path.is_dir() else 0o644
            if path.is_dir():
                info.type = tarfile.DIRTYPE
                tar.addfile(info)
            else:
                info.size = stat.st_size
                with path.open("rb") as f:
                    tar.addfile(info, f)


def log_end(store: Path) -> int:
    """Physical offset after the last complete record, found by walking sizes and magic codes."""
    end = 0
    for path in sorted((store / "commitlog").iterdir()):
        data, at = path.read_bytes(), 0
        while at + 8 <= len(data):
            size, magic = struct.unpack_from(">iI", data, at)
            if magic not in (0xDAA320A7, 0xDAA320AB) or size <= 0 or at + size > len(data):
                break
            at += size
            end = int(path.name) + at
    return end


def tear(store: Path) -> None:
    """Zeroes the last record from byte 60 on, as if the machine had lost power before those bytes reached the disk."""
    end = log_end(store)
    path = max(p for p in (store / "commitlog").iterdir() if int(p.name) < end)
    data, at, size = bytearray(path.read_bytes()), 0, 0
    while at < end - int(path.name):
        size = struct.unpack_from(">i", data, at)[0]
        at += size
    data[at - size + 60 : at] = bytes(size - 60)
    path.write_bytes(data)


def lenient(text: str) -> dict:
    """JSON whose maps may have bare integer keys."""
    return json.loads(re.sub(r"([{,]\s*)(-?\d+)(\s*:)", r'\1"\2"\3', text)) if text else {}


def journal(path: Path) -> list[dict]:
    if not path.exists():
        return []
    lines = path.read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line.endswith("}")]


def queues_of(dump: list[dict], end: int) -> dict[tuple[str, int], dict]:
    queues: dict[tuple[str, int], dict] = {}
    for line in dump:
        if line["t"] == "queue":
            queues[line["topic"], line["queueId"]] = {
                k: line[k] for k in ("topic", "queueId", "minOffset", "maxOffset", "earliestStoreTime")
            } | {"messages": []}
        elif line["t"] == "msg" and line["physicalOffset"] < end:
            key = (line["inQueue"], 0) if line["inQueue"] else (line["topic"], line["queueId"])
            queues[key]["messages"].append([line[c] for c in MESSAGE_COLUMNS])
    return queues


def compare(name: str, live: dict, again: dict) -> int:
    """Counts differences between two dumps of one store (records below the archived log end only)."""
    wrong = 0
    for key in sorted(live.keys() | again.keys()):
        a, b = (d.get(key, {"messages": [], "minOffset": 0}) for d in (live, again))
        if a["messages"] != b["messages"] or (a["messages"] and a["minOffset"] != b["minOffset"]):
            wrong += 1
            print(f"  {name}: {key} differs: {len(a['messages'])} and {len(b['messages'])} messages")
            for x, y in zip(a["messages"], b["messages"], strict=False):
                if x != y:
                    print("   ", [(c, i, j) for c, i, j in zip(MESSAGE_COLUMNS, x, y, strict=True) if i != j][:4])
                    break
    return wrong


def read(path: Path) -> dict:
    return json.loads(gzip.decompress(path.read_bytes()))


def describe(name: str, version: str, truth: str, settings: str, *, work: Path, output: Path) -> None:
    load, live, again = (journal(work / f"{n}.jsonl") for n in ("load", "live", "restart"))
    source = live if truth == "live" else again
    runtime = [line for line in source if line["t"] == "runtime"]
    archived_end = log_end(work / "a" / "store")
    end = archived_end if truth == "live" else min(archived_end, runtime[0]["commitLogMaxOffset"])
    queues = queues_of(source, end)
    if live and again:
        wrong = compare(name, queues_of(live, archived_end), queues_of(again, archived_end))
        print(f"  {name}: before stop and after reopening: {'same' if not wrong else f'{wrong} queues differ'}")
    if runtime[0]["commitLogMaxOffset"] != runtime[-1]["commitLogMaxOffset"]:
        print(f"  {name}: the log grew while it was described")
    if runtime[0]["commitLogMaxOffset"] != archived_end:
        print(f"  {name}: broker says the log ends at {runtime[0]['commitLogMaxOffset']}, the files end at {archived_end}")
    later = {m["physicalOffset"] for m in source if m["t"] == "msg"} - {m[1] for q in queues.values() for m in q["messages"]}
    if later:
        print(f"  {name}: {len(later)} described records are not in the archive")
    texts = {line["t"]: lenient(line["text"]) for line in source if "text" in line}
    # a 4.9 broker adds the half topic in the check round of its shutdown, after the live description
    texts |= {line["t"]: lenient(line["text"]) for line in again if line["t"] in ("topics", "groups")}
    root = work / "a" / "store"
    files = [
        {"path": str(p.relative_to(root)), "size": p.stat().st_size, "mtimeMs": p.stat().st_mtime_ns // 1_000_000}
        for p in sorted(root.rglob("*")) if p.is_file()
    ]  # fmt: skip
    log = {"minOffset": runtime[0]["commitLogMinOffset"], "maxOffset": end}
    head = {
        "name": name, "brokerVersion": version, "settings": dict(s.split("=", 1) for s in settings.split()), "truth": truth,
        "log": log | {"earliestMessageTimeStamp": runtime[0]["earliestMessageTimeStamp"]},
        "recordCount": len({m["physicalOffset"] for m in source if m["t"] == "msg" and m["physicalOffset"] < end}),
    }  # fmt: skip
    half = {q["topic"]: q["maxOffset"] for q in queues.values() if q["topic"].startswith("RMQ_SYS_TRANS_")}
    if half:
        offsets = texts["consumerOffsets"].get("offsetTable", {})
        head["transactions"] = {
            topic: {"maxOffset": top, "checkedOffset": int(offsets.get(f"{topic}@CID_RMQ_SYS_TRANS", {}).get("0", 0))}
            for topic, top in half.items()
        }
    sections = [
        ("files", None, files),
        ("topics", None, list(texts["topics"]["topicConfigTable"].values())),
        ("subscriptionGroups", None, list(texts["groups"]["subscriptionGroupTable"].values())),
        ("consumerOffsets", None, texts["consumerOffsets"].get("offsetTable", {})),
        ("delayOffsets", None, texts["delayOffsets"].get("offsetTable", {})),
        ("dataVersions", None, {k: v["dataVersion"] for k, v in texts.items() if v.get("dataVersion")}),
        ("plans", None, [{k: v for k, v in line.items() if k != "t"} for line in load if line["t"] == "plan"]),
        ("sends", SEND_COLUMNS, [[line[c] for c in SEND_COLUMNS] for line in load if line["t"] == "send"]),
        ("consumed", CONSUMED_COLUMNS, [[line[c] for c in CONSUMED_COLUMNS] for line in load if line["t"] == "consumed"]),
        ("searches", SEARCH_COLUMNS, [[line.get(c) for c in SEARCH_COLUMNS] for line in source if line["t"] == "search"]),
        ("queries", QUERY_COLUMNS, [[line[c] for c in QUERY_COLUMNS] for line in source if line["t"] == "query"]),
        ("unserved", None, [{k: v for k, v in line.items() if k != "t"} for line in source if line["t"] == "unserved"]),
    ]
    output.write_bytes(gzip.compress(render(head, sections, queues).encode(), 9, mtime=0))


def cross(expected: dict, version: str, dump: list[dict]) -> None:
    """Prints how a dump by another broker version differs from the description (records of the archive only)."""
    end = expected["log"]["maxOffset"]
    mine = {(q["topic"], q["queueId"]): q for q in expected["queues"]}
    theirs = queues_of(dump, end)
    wrong = [k for k in mine if mine[k]["messages"] != theirs.get(k, {"messages": []})["messages"]]
    opened = f"{expected['name']} ({expected['brokerVersion']}) opened by {version}"
    print(f"  {opened}: {len(mine) - len(wrong)} of {len(mine)} queues the same")
    for key in wrong[:5]:
        a, b = mine[key]["messages"], theirs.get(key, {"messages": []})["messages"]
        print(
            f"    {key}: {len(a)} and {len(b)} messages",
            next(
                (
                    [z for z in zip(MESSAGE_COLUMNS, x, y, strict=True) if z[1] != z[2]]
                    for x, y in zip(a, b, strict=False)
                    if x != y
                ),
                "",
            )[:3],
        )
    low = [k for k in mine if k in theirs and mine[k]["minOffset"] != theirs[k]["minOffset"]]
    print(f"    min offsets differ: {[(k, mine[k]['minOffset'], theirs[k]['minOffset']) for k in low[:5]] or 'none'}")
    for name, boundary in (("searches", 3), ("queries", None)):
        kind, columns = ("search", SEARCH_COLUMNS) if boundary else ("query", QUERY_COLUMNS)
        found = {
            json.dumps([line.get(c) for c in columns[:-1] if c not in ("boundary", "code")]): line[columns[-1]]
            for line in dump
            if line["t"] == kind and line.get("boundary") != "UPPER"
        }
        rows = [dict(zip(columns, r, strict=True)) for r in expected[name] if not boundary or r[3] != "UPPER"]
        pairs = [
            (r[columns[-1]], found.get(json.dumps([r[c] for c in columns[:-1] if c not in ("boundary", "code")]))) for r in rows
        ]
        print(f"    {name}: {sum(a == b for a, b in pairs)} of {len(pairs)} the same")


def table(folder: Path) -> None:
    """Prints the README's table."""
    print("| store | broker | truth | records | queues | log files | log offsets | archive bytes |")
    print("|---|---|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.expected.json.gz")):
        e = read(path)
        size = path.with_name(e["name"] + ".tar.gz").stat().st_size
        logs = sum(f["path"].startswith("commitlog/") for f in e["files"])
        span = f"{e['log']['minOffset']} … {e['log']['maxOffset']}"
        cells = (e["name"], e["brokerVersion"], e["truth"], e["recordCount"], len(e["queues"]), logs, span, size)
        print("|", " | ".join(map(str, cells)), "|")


def one(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def render(head: dict, sections: list, queues: dict) -> str:
    """One line per message, send, query ...: long but easy to diff and to search."""
    parts = [f"{one(k)}:{one(v)}" for k, v in head.items()]
    for name, columns, rows in sections:
        if columns:
            parts.append(f"{one(name + 'Columns')}:{one(columns)}")
        if isinstance(rows, dict):
            parts.append(f"{one(name)}:{{\n " + ",\n ".join(f"{one(k)}:{one(v)}" for k, v in rows.items()) + "}")
        else:
            parts.append(f"{one(name)}:[\n " + ",\n ".join(map(one, rows)) + "]")
    parts.append(f'"messageColumns":{one(MESSAGE_COLUMNS)}')
    blocks = []
    for _, queue in sorted(queues.items()):
        rows = queue["messages"]
        start = one({k: v for k, v in queue.items() if k != "messages"})[:-1]
        blocks.append(start + ',"messages":[\n ' + ",\n ".join(map(one, rows)) + "]}")
    parts.append('"queues":[\n' + ",\n".join(blocks) + "]")
    return "{" + ",\n".join(parts) + "}\n"


if __name__ == "__main__":
    command, *rest = sys.argv[1:]
    if command == "settings":
        print(" ".join(f"{k}={v}" for k, v in read(Path(rest[0]))["settings"].items() if k != "mappedFileSizeTimerLog"))
    elif command == "table":
        table(Path(rest[0]))
    elif command == "cross":
        cross(read(Path(rest[0])), rest[1], journal(Path(rest[2])))
    elif command == "tear":
        tear(Path(rest[0]))
    elif command == "pack":
        pack(Path(rest[0]), Path(rest[1]))
    else:
        describe(*rest[:4], work=Path(rest[4]), output=Path(rest[5]))
