"""A report's order, and the folder that its result leaves; no report is run."""

from __future__ import annotations

import json
from pathlib import Path

from gui.models.reports import ReportOrder
from spark_reports.catalog import find

SPEC = find("throughput")
ORDER = ReportOrder(SPEC, ("/data/store",), "/data/out", (("from", "-1h"), ("topic", "orders"), ("topic", "pay ments")))

MANIFEST: dict[str, object] = {
    "format": 1,
    "report": "throughput",
    "title": "Throughput over time",
    "state": "complete",
    "created_at": "2026-11-21T10:02:11Z",
    "parameters": {"from": None, "to": None, "topics": ["orders"]},
    "source": {"stores": ["/data/store"], "files": [], "bytes": 10},
    "range": {
        "asked": {"from": None, "to": None},
        "found": {"from": "2026-11-21T08:01:00.000Z", "to": "2026-11-21T10:02:00.000Z"},
    },
    "rows": {"looked_at": 1005, "read": 1000, "skipped": 5, "damaged_places": 0, "damaged_bytes": 0},
    "skipped": [{"reason": "other topic", "rows": 5, "bytes": 9, "damaged": False}],
    "headlines": [{"value": 1000, "unit": "count", "label": "messages", "note": "in 2 topics"}],
    "findings": ["600 of 1,000 messages (60.0 %) are in orders."],
    "tables": [{"name": "by_topic", "title": "By topic", "rows": 2, "files": ["by_topic.parquet", "by_topic.csv"]}],
    "page": "report.html",
    "seconds": 5.7,
}  # fmt: skip
TABLE = "topic,messages,share,body_bytes\norders,600,0.6,61440\npayments,400,0.4,\n"


def leave_result(folder: Path, **changes: object) -> Path:
    """A folder with a result: `MANIFEST` with some values replaced, its table and its page."""
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(MANIFEST | changes), encoding="utf-8")
    (folder / "by_topic.csv").write_text(TABLE, encoding="utf-8")
    (folder / "report.html").write_text("<html></html>", encoding="utf-8")
    return folder
