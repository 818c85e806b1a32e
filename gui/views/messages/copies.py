"""The menu that copies a message or a part of it, and the place of a message in words."""

from __future__ import annotations

from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

from broker_core.worker.questions.stored_messages import MessageDetail
from gui.models.message_copy import message_json, message_markdown, message_tsv
from gui.models.messages import KEYS, TAGS, UNIQUE_KEY
from gui.words.text import count_text, tr
from monitoring.payload.listed import ListMask
from monitoring.payload.shown import ShownBody


def add_copies(menu: QMenu, detail: MessageDetail, body: ShownBody) -> None:
    """Fill a menu; masked parts of the body are masked in its copies."""

    def copy_text(text: str) -> None:
        QGuiApplication.clipboard().setText(text)

    menu.addAction(tr("Message as JSON"), lambda: copy_text(message_json(detail, body)))
    menu.addAction(tr("Message as TSV"), lambda: copy_text(message_tsv(detail, body)))
    menu.addAction(tr("Message as Markdown"), lambda: copy_text(message_markdown(detail, body)))
    menu.addSeparator()
    if detail.body:
        menu.addAction(tr("Body"), lambda: copy_text(body.copied_text()))
    entries = (
        (tr("Offset message ID"), detail.offset_message_id),
        (tr("Unique ID"), detail.properties.get(UNIQUE_KEY, "")),
        (tr("Keys"), body.mask.mask_text(detail.properties.get(KEYS, ""))),
    )
    for title, text in entries:
        if text:
            menu.addAction(title, partial(copy_text, text))


def message_place(detail: MessageDetail, mask: ListMask) -> str:
    """Topic, queue, offset and masked tag."""
    place = tr("{topic}, queue {queue}, offset {offset}", topic=detail.topic, queue=detail.queue_id,
               offset=count_text(detail.queue_offset))  # fmt: skip
    tag = mask.text(detail.properties.get(TAGS, ""))
    return f"{place} · {tag}" if tag else place
