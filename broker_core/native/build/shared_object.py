"""A shared library of an object file, written as a linker writes it: the machine needs neither compiler nor linker.

    headers | symbols | strings | hash | relocations || code || slots of what is needed from outside, dynamic section

Each double line is a page border: the first part is only read, the second executed, the third written by the loader.

Source: the ELF-64 file format and the x86-64 and AArch64 supplements of the System V ABI.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from broker_core.errors import BugError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_SLOT_BYTES = 8
_PAGE = 4096
_X86_64 = 62
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_WRITE, _ALLOC = 1, 2
_PC32, _PLT32, _PC64 = 2, 4, 24
_GLOB_DAT = 6
_GLOBAL_FUNCTION = 0x12
_JUMP = b"\xff\x25"
"""jmp [rip + n], with n behind it."""
_JUMP_BYTES = 8
_LIBC = "libc.so.6"
_IDENTITY = b"\x7fELF\2\1\1" + bytes(9)
_DYNAMIC_LIBRARY, _RELOCATABLE = 3, 1
_SYMBOLS_AT = _HEADER.size + 5 * _PROGRAM.size


@dataclass(slots=True)
class _Image:
    """Code that runs at any place, because all in it is relative.

    Attributes:
        code: The bytes.
        entries: Function → where it begins.
        outside: Function that is needed from the C library → where the jump to it is.
    """

    code: bytearray
    entries: dict[str, int] = field(default_factory=dict)
    outside: dict[str, int] = field(default_factory=dict)


def shared_library(object_file: bytes) -> bytes:
    """The bytes of a shared library with the functions of an object file.

    Raises:
        BugError: The object needs what is not known here, for example a variable, or another machine.
    """
    image = _laid_out(object_file)
    strings, name_at = _strings([*sorted(image.outside), *sorted(image.entries), _LIBC])
    layout = _layout_of(image, len(strings))
    _set_jumps(image, layout)
    dynamic = _dynamic(layout, needed_library=name_at[_LIBC])
    made = bytearray(layout.dynamic + len(dynamic))
    _pack_headers(made, layout)
    for at, data in (
        (_SYMBOLS_AT, _symbol_table(image, name_at, layout)), (layout.strings, strings),
        (layout.hash, _hash_table(1 + layout.needed + len(image.entries))), (layout.relocations, _relocations(layout)),
        (layout.code, image.code), (layout.dynamic, dynamic),
    ):  # fmt: skip
        made[at : at + len(data)] = data
    return bytes(made)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where each part of the library begins, with the sizes that headers state.

    ``needed`` is the number of functions that are needed from outside.
    """

    needed: int
    strings: int
    strings_bytes: int
    hash: int
    relocations: int
    code: int
    code_bytes: int
    slots: int

    @property
    def relocations_bytes(self) -> int:
        return _RELOCATION.size * self.needed

    @property
    def dynamic(self) -> int:
        return self.slots + _SLOT_BYTES * self.needed


def _layout_of(image: _Image, strings_bytes: int) -> _Layout:
    needed, symbols, code_bytes = len(image.outside), 1 + len(image.outside) + len(image.entries), len(image.code)
    strings = _SYMBOLS_AT + _SYMBOL.size * symbols
    hash_at = _up(strings + strings_bytes, 8)
    relocations = _up(hash_at + len(_hash_table(symbols)), 8)
    code = _up(relocations + _RELOCATION.size * needed, _PAGE)
    return _Layout(needed, strings, strings_bytes, hash_at, relocations, code, code_bytes, _up(code + code_bytes, _PAGE))


def _set_jumps(image: _Image, layout: _Layout) -> None:
    """Let each jump out of the code read its slot."""
    for number, name in enumerate(sorted(image.outside)):
        at = image.outside[name]
        distance = layout.slots + _SLOT_BYTES * number - (layout.code + at + 6)
        image.code[at : at + 6] = _JUMP + struct.pack("<i", distance)


def _symbol_table(image: _Image, name_at: Mapping[str, int], layout: _Layout) -> bytes:
    """First the needed functions, then ours, both in the order of their names."""
    needed = (_SYMBOL.pack(name_at[name], _GLOBAL_FUNCTION, 0, 0, 0, 0) for name in sorted(image.outside))
    entries = sorted(image.entries.items())
    ours = (_SYMBOL.pack(name_at[name], _GLOBAL_FUNCTION, 0, 1, layout.code + at, 0) for name, at in entries)
    return b"".join((_SYMBOL.pack(0, 0, 0, 0, 0, 0), *needed, *ours))


def _relocations(layout: _Layout) -> bytes:
    """One for each slot: the loader writes the address of the function of that symbol there."""
    slots = ((number, layout.slots + _SLOT_BYTES * number) for number in range(layout.needed))
    return b"".join(_RELOCATION.pack(at, (1 + number) << 32 | _GLOB_DAT, 0) for number, at in slots)


def _pack_headers(made: bytearray, layout: _Layout) -> None:
    """The header of the file, and one for each part that the loader maps or reads."""
    programs = (
        (1, 4, 0, layout.relocations + layout.relocations_bytes, _PAGE),
        (1, 5, layout.code, layout.code_bytes, _PAGE),
        (1, 6, layout.slots, len(made) - layout.slots, _PAGE),
        (2, 6, layout.dynamic, len(made) - layout.dynamic, 8),
        (0x6474E551, 6, 0, 0, 16),  # the stack is not executed
    )
    header = (
        _IDENTITY,
        _DYNAMIC_LIBRARY,
        _X86_64,
        1,
        0,
        _HEADER.size,
        0,
        0,
        _HEADER.size,
        _PROGRAM.size,
        len(programs),
        64,
        0,
        0,
    )
    _HEADER.pack_into(made, 0, *header)
    for number, (kind, flags, at, size, align) in enumerate(programs):
        _PROGRAM.pack_into(made, _HEADER.size + _PROGRAM.size * number, kind, flags, at, at, at, size, size, align)


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _strings(names: list[str]) -> tuple[bytes, dict[str, int]]:
    """A string table, and where each name is in it."""
    table, places = bytearray(b"\0"), {}
    for name in names:
        places[name] = len(table)
        table += name.encode() + b"\0"
    return bytes(table), places


def _hash_table(symbols: int) -> bytes:
    """One bucket with all symbols in a chain: there are a few."""
    return struct.pack(f"<III{symbols}I", 1, symbols, symbols - 1, 0, *range(symbols - 1))


def _dynamic(layout: _Layout, *, needed_library: int) -> bytes:
    """The dynamic section: pairs of a tag and a value."""
    pairs = (
        (1, needed_library), (4, layout.hash), (5, layout.strings), (6, _SYMBOLS_AT), (10, layout.strings_bytes),
        (11, _SYMBOL.size), (7, layout.relocations), (8, layout.relocations_bytes), (9, _RELOCATION.size), (24, 0),
        (0x6FFFFFFB, 1), (0, 0),
    )  # fmt: skip
    return b"".join(struct.pack("<QQ", *pair) for pair in pairs)


def _laid_out(data: bytes) -> _Image:
    """The sections of an object that are loaded, one behind the other, with all places in them set."""
    identity, kind, machine, *_ = _HEADER.unpack_from(data)
    if identity[:6] != _IDENTITY[:6] or kind != _RELOCATABLE or machine != _X86_64:
        raise BugError(f"an ELF object for x86-64 is expected, not of machine {machine}")
    sections = _sections(data)
    image, places = _loaded(data, sections)
    symbols = _symbols(data, sections, places, image)
    for _, kind, _, _, at, length, _, target, _, _ in sections:
        if kind == _RELA and target in places:
            for entry in range(at, at + length, _RELOCATION.size):
                offset, info, addend = _RELOCATION.unpack_from(data, entry)
                _relocate(image.code, places[target] + offset, symbols[info >> 32], info & 0xFFFFFFFF, addend)
    return image


_Sections = list[tuple[int, ...]]


def _sections(data: bytes) -> _Sections:
    table, count = _HEADER.unpack_from(data)[6], _HEADER.unpack_from(data)[12]
    return [_SECTION.unpack_from(data, table + number * _SECTION.size) for number in range(count)]


def _loaded(data: bytes, sections: _Sections) -> tuple[_Image, dict[int, int]]:
    """The loaded sections one behind the other, and where each begins."""
    code, places = bytearray(), {}
    for number, (_, kind, flags, _, at, length, _, _, align, _) in enumerate(sections):
        if flags & _ALLOC and length and kind in (_PROGBITS, _NOBITS):
            if flags & _WRITE:
                raise BugError("machine code with variables is not known here")
            code += bytes(_up(len(code), max(align, 1)) - len(code))
            places[number] = len(code)
            code += data[at : at + length] if kind == _PROGBITS else bytes(length)
    return _Image(code + bytes(_up(len(code), 16) - len(code))), places


def _symbols(data: bytes, sections: _Sections, places: dict[int, int], image: _Image) -> list[int | None]:
    """Where each symbol is in the image; what is needed from outside gets a jump at the end."""
    table = next(section for section in sections if section[1] == _SYMTAB)
    names_at, found = sections[table[6]][4], []
    for at in range(table[4], table[4] + table[5], _SYMBOL.size):
        name_at, info, _, section, value, _ = _SYMBOL.unpack_from(data, at)
        start = names_at + name_at
        name = data[start : data.index(b"\0", start)].decode()
        place = None
        if section in places:
            place = places[section] + value
            if info == _GLOBAL_FUNCTION:
                image.entries[name] = place
        elif not section and name:
            if name not in image.outside:
                image.outside[name] = len(image.code)
                image.code += bytes(_JUMP_BYTES)
            place = image.outside[name]
        found.append(place)
    return found


def _relocate(code: bytearray, place: int, value: int | None, kind: int, addend: int) -> None:
    if value is None or kind not in (_PC32, _PLT32, _PC64):
        raise BugError(f"relocation {kind} of x86-64 is not known here")
    struct.pack_into("<q" if kind == _PC64 else "<i", code, place, value + addend - place)
