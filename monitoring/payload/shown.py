"""A body read by the rule of its topic, and masked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from broker_core.api import UsageError, json_text, laid_out_json
from monitoring.payload.content import BodyKind, Content, read_content
from monitoring.payload.encodings import decode_text
from monitoring.payload.judging import MASK
from monitoring.payload.masking import HIDE_ALL, MaskRules
from monitoring.payload.schemas import ProtobufSchema
from monitoring.payload.tables import Table, table_of

if TYPE_CHECKING:
    from monitoring.payload.rules import DecoderRule

_STRUCTURED = (BodyKind.JSON, BodyKind.MSGPACK, BodyKind.PROTOBUF)
NO_PATHS: Final = "its rule masks paths, and this body has none, so all of it is hidden"


@dataclass(frozen=True, slots=True)
class ShownBody:
    """A body with and without masking.

    Attributes:
        content: The masked form.
        plain: The original; shown only while the user asks for it.
        size_bytes: Of the body before decompression.
    """

    content: Content
    plain: Content
    mask: MaskRules
    size_bytes: int

    @property
    def is_masked(self) -> bool:
        """Whether something may be hidden."""
        return bool(self.mask)

    @property
    def hides(self) -> bool:
        """Whether something is hidden or cannot be judged: then only the text of `content` may be exported."""
        if not self.is_masked or self.plain.kind is BodyKind.EMPTY:
            return False
        text, _encoding = decode_text(self.plain.data, self.plain.encoding)
        return text is None or self.content.text != self.plain.text or self.mask.mask_text(text) != text

    def copied_text(self) -> str:
        """Text of a copy: the text as sent, or formatted and masked; bytes in hexadecimal unless masked."""
        if self.is_masked:
            return self.content.text
        text, _encoding = decode_text(self.plain.data, self.plain.encoding)
        if self.plain.kind is BodyKind.BYTES or text is None:
            return self.plain.text or self.plain.data.hex()
        return text


class Schemas:
    """Cache of Protobuf schemas by path, compiled again after the file has changed. Any thread."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[int, ProtobufSchema]] = {}

    def schema(self, path: Path) -> ProtobufSchema:
        """The schema of a file or folder, else a `UsageError`. May run a compiler for a second."""
        try:
            files = sorted(path.rglob("*.proto")) if path.is_dir() else [path]
            changed_ns = max((file.stat().st_mtime_ns for file in files), default=0)
        except OSError as error:
            raise UsageError(f"the schema {path} cannot be read: {error.strerror}", path=str(path)) from error
        known = self._known.get(path)
        if known is None or known[0] != changed_ns:
            known = self._known[path] = (changed_ns, ProtobufSchema(path))
        return known[1]


def read_shown(body: bytes, rule: DecoderRule | None, schemas: Schemas) -> ShownBody:
    """Read a body by a rule; never raises. Called off the GUI thread if it may take long."""
    schema, refusal = None, ""
    if rule is not None and rule.reading == "protobuf":
        try:
            schema = schemas.schema(Path(rule.schema))
        except UsageError as error:
            refusal = error.message
    plain = read_content(body, rule, schema)
    if refusal:
        plain = replace(plain, refusals=(("protobuf", refusal),))
    mask = rule.mask if rule is not None else MaskRules()
    if mask != HIDE_ALL and _is_hidden(plain, mask):
        plain = replace(plain, refusals=(*plain.refusals, ("structure", NO_PATHS)))
    return ShownBody(masked(plain, mask) if mask else plain, plain, mask, len(body))


def masked(content: Content, mask: MaskRules) -> Content:
    """Content with its masked parts replaced."""
    if content.kind in _STRUCTURED:
        value = mask.mask_value(content.value)
        one_line = json_text(value)
        text = content.text if one_line == json_text(content.value) else laid_out_json(one_line)
        return replace(content, data=b"", value=value, text=text, table=table_of(value))
    if _is_hidden(content, mask):
        return replace(content, data=b"", text=MASK, table=None)
    table = content.table
    if table is not None:
        # The first line may be no heading, so it is masked too.
        headings = tuple(map(mask.mask_text, table.headings))
        rows = tuple(tuple(map(mask.mask_text, row)) for row in table.rows)
        table = Table(headings, rows, table.is_cut)
    return replace(content, data=b"", text=mask.mask_text(content.text), table=table)


def _is_hidden(content: Content, mask: MaskRules) -> bool:
    """Whether a mask has paths that cannot be found in a body, because it was not read as a structure."""
    return bool(mask.paths) and content.kind not in (*_STRUCTURED, BodyKind.BYTES, BodyKind.EMPTY)
