"""A message as text to paste elsewhere: JSON, tab-separated lines, Markdown. Pure but for the language."""

from __future__ import annotations

from broker_core.api import json_text, laid_out_json, tsv_text
from broker_core.worker.questions.stored_messages import MessageDetail
from gui.models.message_properties import property_rows
from gui.models.table_text import as_markdown
from monitoring.payload.content import BodyKind
from monitoring.payload.shown import ShownBody


def message_json(detail: MessageDetail, body: ShownBody) -> str:
    """A message as JSON, masked; JSON in it as it is written, a body that is no text in hexadecimal."""
    fields = {
        "topic": detail.topic,
        "queueId": detail.queue_id,
        "queueOffset": detail.queue_offset,
        "offsetMsgId": detail.offset_message_id,
        "bornTimestamp": detail.born_ms,
        "storeTimestamp": detail.store_ms,
        "properties": {name: body.mask.mask_text(value) for name, value in detail.properties.items()},
    }
    members = [f"{json_text(name)}: {json_text(value)}" for name, value in fields.items()]
    if body.content.kind is BodyKind.BYTES:
        members.append(f'"bodyHex": {json_text(body.copied_text())}')
    else:
        members.append(f'"body": {body.content.text if body.content.kind is BodyKind.JSON else json_text(body.content.text)}')
    return laid_out_json(f"{{{', '.join(members)}}}")


def message_pairs(detail: MessageDetail, body: ShownBody) -> list[tuple[str, str]]:
    """Names and values of a message: place, times, properties, body."""
    return [
        ("topic", detail.topic),
        ("queueId", str(detail.queue_id)),
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


def message_tsv(detail: MessageDetail, body: ShownBody) -> str:
    return tsv_text(zip(*message_pairs(detail, body), strict=True))


def message_markdown(detail: MessageDetail, body: ShownBody) -> str:
    *pairs, _body = message_pairs(detail, body)
    table = as_markdown([("Name", "Value"), *pairs])
    text = body.content.text or body.copied_text()
    language = "json" if body.content.kind is BodyKind.JSON else ""
    fence = "```"
    while fence in text:
        fence += "`"
    return "\n".join([table, "", fence + language, text, fence])
