"""The menu that copies a message or a part of it; a message as JSON, tab-separated lines or Markdown; its place in words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QWidget

from broker_core.api import json_text, laid_out_json, tsv_text
from broker_core.worker.questions.stored_messages import MessageDetail
from gui.models.message_words import property_rows
from gui.models.messages import KEYS, TAGS, UNIQUE_KEY
from gui.models.queue_window import own_queue, place_text
from gui.models.table_text import as_markdown
from gui.operations.background import ClipboardCall
from gui.widgets.popups import new_menu, popup_below
from gui.words.text import QueueText, tr
from monitoring.payload.content import BodyKind
from monitoring.payload.listed import ListMask
from monitoring.payload.shown import ShownBody
from monitoring.sources.base import ClusterSource

Queue = tuple[str, int]
"""Name of the broker, empty where it is not known, and id of the queue there, as other programs know it."""

_TICKS = re.compile("`+")


def message_json(detail: MessageDetail, queue: Queue, body: ShownBody) -> str:
    """A message as JSON, masked; JSON in it as it is written, a body that is no text in hexadecimal."""
    fields = {
        "topic": detail.topic,
        **_queue_fields(queue),
        "queueOffset": detail.queue_offset,
        "offsetMsgId": detail.offset_message_id,
        "bornTimestamp": detail.born_ms,
        "storeTimestamp": detail.store_ms,
        "properties": {name: body.mask.mask_text(value) for name, value in detail.properties.items()},
    }
    head = laid_out_json(json_text(fields)).removesuffix("\n}")
    if body.content.kind is BodyKind.BYTES:
        last = f'"bodyHex": {json_text(body.copied_text())}'
    elif body.content.kind is BodyKind.JSON:
        last = f'"body": {body.content.text}'.replace("\n", "\n  ")
    else:
        last = f'"body": {json_text(body.content.text)}'
    return f"{head},\n  {last}\n}}"


def message_pairs(detail: MessageDetail, queue: Queue, body: ShownBody) -> list[tuple[str, str]]:
    """Names and values of a message: place, times, properties, body."""
    return [
        ("topic", detail.topic),
        *((name, str(value)) for name, value in _queue_fields(queue).items()),
        ("queueOffset", str(detail.queue_offset)),
        ("offsetMsgId", detail.offset_message_id),
        ("bornTimestamp", str(detail.born_ms)),
        ("bornHost", detail.born_host),
        ("storeTimestamp", str(detail.store_ms)),
        ("storeHost", detail.store_host),
        ("reconsumeTimes", str(detail.reconsume_times)),
        *((row.name, body.mask.mask_text(row.value)) for row in property_rows(detail.properties)),
        ("body", body.copied_text()),
    ]


def _queue_fields(queue: Queue) -> dict[str, str | int]:
    broker, queue_id = queue
    return ({"brokerName": broker} if broker else {}) | {"queueId": queue_id}


def message_tsv(detail: MessageDetail, queue: Queue, body: ShownBody) -> str:
    return tsv_text(zip(*message_pairs(detail, queue, body), strict=True))


def message_markdown(detail: MessageDetail, queue: Queue, body: ShownBody) -> str:
    *pairs, _body = message_pairs(detail, queue, body)
    table = as_markdown([("Name", "Value"), *pairs])
    text = body.content.text or body.copied_text()
    language = "json" if body.content.kind is BodyKind.JSON else ""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return "\n".join([table, "", fence + language, text, fence])


def popup_copies(
    button: QWidget, source: ClusterSource, detail: MessageDetail | None, body: ShownBody | None, copy: ClipboardCall
) -> None:
    """Open the menu below a button once the body was read; masked parts of the body are masked in its copies."""
    if detail is None or body is None:
        return
    menu = new_menu(button)
    queue = own_queue(source.state, detail.queue_id, source.ready.broker_name if source.ready is not None else "")
    forms = (
        (tr("Message as JSON"), message_json),
        (tr("Message as TSV"), message_tsv),
        (tr("Message as Markdown"), message_markdown),
    )
    for title, form in forms:
        menu.addAction(title, partial(copy.start, partial(form, detail, queue, body)))
    menu.addSeparator()
    if detail.body:
        menu.addAction(tr("Body"), partial(copy.start, body.copied_text))
    entries: tuple[tuple[str, str, Callable[[str], str]], ...] = (
        (tr("Offset message ID"), detail.offset_message_id, str),
        (tr("Unique ID"), detail.properties.get(UNIQUE_KEY, ""), str),
        (tr("Keys"), detail.properties.get(KEYS, ""), body.mask.mask_text),
    )
    for title, text, shown in entries:
        if text:
            menu.addAction(title, partial(copy.start, partial(shown, text)))
    popup_below(menu, button, 2)


def message_place(detail: MessageDetail, mask: ListMask, queue_text: QueueText) -> str:
    """Topic, queue, offset and masked tag."""
    place = place_text(detail.topic, queue_text(detail.queue_id), detail.queue_offset)
    tag = mask.text(detail.properties.get(TAGS, ""))
    return f"{place} · {tag}" if tag else place
