r"""Rows as CSV and as tab-separated text that no spreadsheet runs, and back. The only writer of either in Orbit.

The rule is that of docs/csv.md:

* A cell that a spreadsheet would take for a formula gets an apostrophe in front. Such a cell begins with tab, CR or LF, or its
  first character after blanks, quotes and invisible characters is ``= + - @`` or one of their other forms.
* A number with a sign, such as ``-5`` or ``+1,200``, stays, because a spreadsheet reads it as that number.
* A cell that already begins like a guarded one gets a further apostrophe. The reader therefore restores every cell.
* A file is UTF-8 with a byte order mark, because Excel reads a file without one in the code page of its computer.

Lines of CSV end with CR LF (RFC 4180). Lone surrogates, which UTF-8 does not know, are written as three bytes each.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

from broker_core.errors import CodecError

BYTE_ORDER_MARK: Final = "\ufeff"

_FORMULA: Final = "=+\\-@＝＋－＠﹦﹢﹣﹫−"
_QUOTES: Final = "\"'`´‘-‟＂＇"
_BLANK: Final = (
    "\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u2800\u3000\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
"""Controls, spaces, and what Unicode calls default ignorable: a program may strip them or not show them."""
_NUMBER: Final = r"[+\-−](?:[0-9]{1,3}(?:,[0-9]{3})++|[0-9]++)(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?"
_RISKY: Final = re.compile(rf"'*+(?:[\t\r\n]|(?!{_NUMBER}\Z)[{_BLANK}{_QUOTES}]*+[{_FORMULA}])")
"""Possessive, because a cell may be megabytes of blanks."""


def guarded(cell: object) -> str:
    """A cell as it is written; None is an empty one."""
    text = "" if cell is None else str(cell)
    return f"'{text}" if _RISKY.match(text) else text


def unguarded(cell: str) -> str:
    """The cell without the apostrophe that `guarded` added; any other apostrophe stays."""
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell, 1) else cell


def write_csv(file: TextIO, rows: Iterable[Iterable[object]]) -> None:
    """Add rows to a text file that translates no line ends."""
    csv.writer(file).writerows(map(guarded, row) for row in rows)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV without a byte order mark, for what is no file."""
    text = io.StringIO(newline="")
    write_csv(text, rows)
    return text.getvalue()


def csv_bytes(rows: Iterable[Iterable[object]]) -> bytes:
    """Rows as the content of a CSV file."""
    return csv_text(rows).encode("utf-8-sig", "surrogatepass")


def new_csv(path: Path) -> TextIO:
    """An empty CSV file for `write_csv`, in place of another.

    Raises:
        OSError: It cannot be made.
    """
    return path.open("w", encoding="utf-8-sig", errors="surrogatepass", newline="")


def open_csv(path: Path) -> TextIO:
    """A CSV file for `read_csv`, with or without a byte order mark.

    Raises:
        OSError: It cannot be opened.
    """
    return path.open(encoding="utf-8-sig", errors="surrogatepass", newline="")


def read_csv(lines: Iterable[str], separator: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Rows as `write_csv` got them, in texts, each with the number of its last line; an empty line has no cell.

    Args:
        lines: With their ends, e.g. a text file that translates none.
        separator: Of cells.

    Raises:
        CodecError: They are no CSV.
    """
    csv.field_size_limit(sys.maxsize)  # bodies are longer than the 128 KiB that the library takes for a cell
    reader = csv.reader(lines, delimiter=separator, strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise CodecError(f"no CSV in line {reader.line_num:,}: {error}") from error
        yield reader.line_num, [unguarded(cell) for cell in row]


def tsv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows for the clipboard: cells apart by tabs, rows by line breaks.

    A cell that holds either is quoted, as spreadsheets paste it; other quotes stay single, for editors.
    """
    return "\n".join("\t".join(map(_tsv_cell, row)) for row in rows)


def _tsv_cell(cell: object) -> str:
    text = guarded(cell)
    is_quoted = text.startswith('"') or any(mark in text for mark in "\t\r\n")
    return '"' + text.replace('"', '""') + '"' if is_quoted else text
