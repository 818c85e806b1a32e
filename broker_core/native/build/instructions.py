"""The functions of `broker_core.native.access` as LLVM's instructions, for kernels that are compiled.

Arrays here have no bounds: they are addresses. Two ways to make CRC-32 are known. Carry-less multiplication of x86-64 takes
14 ns for 128 bytes; tables, for all other processors, take 60.

Source: docs/spec/store.md §2.5 for the CRC; the folding constants are powers of x modulo its polynomial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_I1, _I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
_LANE = ir.VectorType(_I64, 2)
_WIDE_BYTES = 64
_WIDE = ir.VectorType(_I8, _WIDE_BYTES)
_POLYNOMIAL = 0x104C11DB7
_REFLECTED = 0xEDB88320
_FACTOR, _SHIFT, _TOP = 0x9E3779B97F4A7C15, 29, 0x7FFFFFFFFFFFFFFF
_ALL_ONES = 0xFFFFFFFF
_FOLDED_BYTES = 64
_LINE_BYTES = 64

_Typed = Callable[..., Any]
_njit: Any = numba.njit
_memcpy: Any = cgutils.raw_memcpy
_named: Any = cgutils.get_or_insert_function
_pair: Any = types.UniTuple


def inlined(function: Callable[..., Any]) -> Any:
    """A function that other compiled ones call; it is written into them."""
    options = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    return _njit(**options, error_model="numpy", boundscheck=False)(function)


def _intrinsic(typed: _Typed) -> Any:
    return intrinsic(typed)


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Address of an item of an array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [index])


def load(bits: int, *, is_signed: bool = True, is_swapped: bool = True) -> Any:
    """Reads a number at any place of some bytes; 64 bits that are not signed are an uint64.

    Args:
        bits: 8 to 64.
        is_signed: Whether the highest bit is a sign.
        is_swapped: The highest byte comes first.
    """
    kind = ir.IntType(bits)
    given = types.uint64 if bits == _I64.width and not is_signed else types.int64

    def typed(_context: Any, data: Any, _at: Any) -> Any:
        def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
            found = builder.load(builder.bitcast(place, kind.as_pointer()), align=1)
            if is_swapped and bits > _I8.width:
                found = builder.bswap(found)
            if bits == _I64.width:
                return found
            return builder.sext(found, _I64) if is_signed else builder.zext(found, _I64)

        return given(data, types.int64), written

    return _intrinsic(typed)


def store(bits: int, *, is_published: bool = False) -> Any:
    """Writes the low bits of a number at any place of some bytes, the highest byte first.

    Args:
        bits: 8 to 64.
        is_published: What was written before it is seen by whoever sees it.
    """
    kind = ir.IntType(bits)

    def typed(_context: Any, data: Any, _at: Any, _value: Any) -> Any:
        def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
            value = arguments[2] if bits == _I64.width else builder.trunc(arguments[2], kind)
            if bits > _I8.width:
                value = builder.bswap(value)
            if is_published:
                builder.fence("release")
            builder.store(value, builder.bitcast(place, kind.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(data, types.int64, types.int64), written

    return _intrinsic(typed)


def _fetch_typed(_context: Any, data: Any, _at: Any) -> Any:
    def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
        prefetch = _named(builder.module, kind, "llvm.prefetch.p0i8")
        for_reading, near, of_data = (ir.Constant(_I32, value) for value in (0, 3, 1))
        builder.call(prefetch, [place, for_reading, near, of_data])
        return context.get_dummy_value()

    return types.void(data, types.int64), written


def _copy_typed(_context: Any, target: Any, _to: Any, source: Any, _at: Any, _count: Any) -> Any:
    def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target_place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        source_place = _place(context, builder, signature.args[2], arguments[2], arguments[3])
        _memcpy(builder, target_place, source_place, arguments[4], itemsize=1, align=1)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.int64), written


def _array_typed(_context: Any, pointer: Any) -> Any:
    kind = types.Array(pointer.dtype, 1, "C")

    def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(signature.return_type)(context, builder)
        item = ir.Constant(_I64, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        no_bounds = ir.Constant(_I64, 1 << 48)
        context.populate_array(made, data=arguments[0], shape=[no_bounds], strides=[item], itemsize=item, meminfo=None)
        return made._getvalue()

    return kind(pointer), written


def array_at(kind: Any) -> Any:
    """Makes an array without bounds of the items at an address."""

    def typed(_context: Any, _address: Any) -> Any:
        def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            made = context.make_array(signature.return_type)(context, builder)
            item_kind = context.get_data_type(kind)
            item = ir.Constant(_I64, context.get_abi_sizeof(item_kind))
            place = builder.inttoptr(arguments[0], item_kind.as_pointer())
            no_bounds = ir.Constant(_I64, 1 << 48)
            context.populate_array(made, data=place, shape=[no_bounds], strides=[item], itemsize=item, meminfo=None)
            return made._getvalue()

        return types.Array(kind, 1, "C")(types.int64), written

    return _intrinsic(typed)


def _equal_typed(_context: Any, data: Any, _at: Any, _byte: Any) -> Any:
    """64 bytes at once: bit n is whether byte n is the one that is looked for."""

    def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        found = builder.load(builder.bitcast(place, _WIDE.as_pointer()), align=1)
        undefined = ir.Constant(_WIDE, ir.Undefined)
        one = builder.insert_element(undefined, builder.trunc(arguments[2], _I8), ir.Constant(_I32, 0))
        every = builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(_I32, _WIDE_BYTES), [0] * _WIDE_BYTES))
        return builder.bitcast(builder.icmp_unsigned("==", found, every), _I64)

    return types.uint64(data, types.int64, types.int64), written


def _marks_typed(tests: Callable[[Any, Any, Callable[[int], Any]], Any]) -> _Typed:
    """64 bytes at once: bit n is whether a test holds for byte n."""

    def typed(_context: Any, data: Any, _at: Any) -> Any:
        def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
            found = builder.load(builder.bitcast(place, _WIDE.as_pointer()), align=1)
            return builder.bitcast(tests(builder, found, lambda value: ir.Constant(_WIDE, [value] * _WIDE_BYTES)), _I64)

        return types.uint64(data, types.int64), written

    return typed


def _is_mark(builder: Any, found: Any, every: Callable[[int], Any]) -> Any:
    return builder.or_(builder.icmp_unsigned("<", found, every(3)), builder.icmp_unsigned(">", found, every(127)))


def _is_json_mark(builder: Any, found: Any, every: Callable[[int], Any]) -> Any:
    is_control = builder.or_(builder.icmp_unsigned("<", found, every(32)), builder.icmp_unsigned(">", found, every(127)))
    is_sign = [builder.icmp_unsigned("==", found, every(sign)) for sign in b'"\\']
    return builder.or_(is_control, builder.or_(*is_sign))


def _low_bit_typed(_context: Any, _value: Any) -> Any:
    def written(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(_I1, 0))

    return types.int64(types.uint64), written


copy = _intrinsic(_copy_typed)
_fetch_line = _intrinsic(_fetch_typed)
as_array = _intrinsic(_array_typed)
_equal_mask = _intrinsic(_equal_typed)
_low_bit = _intrinsic(_low_bit_typed)
_u8 = load(8, is_signed=False)
_u16 = load(16, is_signed=False)
_u32_little = load(32, is_signed=False, is_swapped=False)
_i64_little = load(64, is_swapped=False)
_u64_little = load(64, is_signed=False, is_swapped=False)
_put64 = store(64)


@inlined
def fetch(data, at, count):  # type: ignore[no-untyped-def]
    """As in `access`."""
    for line in range(at, at + count, _LINE_BYTES):
        _fetch_line(data, line)


@inlined
def same(one, at, other, to, count):  # type: ignore[no-untyped-def]
    """As in `access`."""
    while count >= 8:
        if _i64_little(one, at) != _i64_little(other, to):
            return False
        at, to, count = at + 8, to + 8, count - 8
    while count > 0:
        if _u8(one, at) != _u8(other, to):
            return False
        at, to, count = at + 1, to + 1, count - 1
    return True


@inlined
def mix(seed, data, at, count):  # type: ignore[no-untyped-def]
    """As in `access`."""
    found, factor, shift = types.uint64(seed), types.uint64(_FACTOR), types.uint64(_SHIFT)
    while count >= 8:
        found = (found ^ _u64_little(data, at)) * factor
        found ^= found >> shift
        at, count = at + 8, count - 8
    if count > 0:
        word = types.uint64(0)
        for index in range(count):
            word |= types.uint64(_u8(data, at + index)) << types.uint64(8 * index)
        found = (found ^ word) * factor
        found ^= found >> shift
    return types.int64(found & types.uint64(_TOP))


@inlined
def find1(data, at, end, limit, byte):  # type: ignore[no-untyped-def]
    """As in `access`."""
    while at < end and at + _WIDE_BYTES <= limit:
        found = _equal_mask(data, at, byte)
        if found:
            return min(at + _low_bit(found), end)
        at += _WIDE_BYTES
    while at < end and _u8(data, at) != byte:
        at += 1
    return min(at, end)


@inlined
def find3(data, at, end, limit, word):  # type: ignore[no-untyped-def]
    """As in `access`; 64 places at a time while that many bytes may be read."""
    first, second, third = word >> 16, word >> 8 & 255, word & 255
    while at + 2 < end and at + _WIDE_BYTES + 2 <= limit:
        found = _equal_mask(data, at, first) & _equal_mask(data, at + 1, second) & _equal_mask(data, at + 2, third)
        if found:
            at += _low_bit(found)
            return at if at + 2 < end else -1
        at += _WIDE_BYTES
    while at + 2 < end:
        if _u8(data, at) == first and _u16(data, at + 1) == (word & 0xFFFF):
            return at
        at += 1
    return -1


_mark_mask = _intrinsic(_marks_typed(_is_mark))
_json_mark_mask = _intrinsic(_marks_typed(_is_json_mark))


@inlined
def next_mark(data, at, end, limit):  # type: ignore[no-untyped-def]
    """As in `access`; 64 places at a time while that many bytes may be read."""
    while at < end and at + _WIDE_BYTES <= limit:
        found = _mark_mask(data, at)
        if found:
            return min(at + _low_bit(found), end)
        at += _WIDE_BYTES
    while at < end and 3 <= _u8(data, at) < 128:
        at += 1
    return min(at, end)


@inlined
def next_json_mark(data, at, end, limit):  # type: ignore[no-untyped-def]
    """As in `access`; 64 places at a time while that many bytes may be read."""
    while at < end and at + _WIDE_BYTES <= limit:
        found = _json_mark_mask(data, at)
        if found:
            return min(at + _low_bit(found), end)
        at += _WIDE_BYTES
    while at < end and 32 <= _u8(data, at) < 128 and _u8(data, at) != 34 and _u8(data, at) != 92:
        at += 1
    return min(at, end)


@inlined
def _hex_digits(half):  # type: ignore[no-untyped-def]
    """The 8 digits of 32 bits as the bytes of a number: each digit gets a byte, those above 9 are moved to the letters."""
    half = (half | half << 16) & 0x0000FFFF0000FFFF
    half = (half | half << 8) & 0x00FF00FF00FF00FF
    half = (half | half << 4) & 0x0F0F0F0F0F0F0F0F
    letters = ((half + 0x0606060606060606) >> 4) & 0x0101010101010101
    return half + 0x3030303030303030 + letters * 7


@inlined
def hex16(data, at, value):  # type: ignore[no-untyped-def]
    """As in `access`."""
    _put64(data, at, _hex_digits(value >> 32 & 0xFFFFFFFF))
    _put64(data, at + 8, _hex_digits(value & 0xFFFFFFFF))


# ---- CRC-32 ------------------------------------------------------------------------------------------------------------


def _crc_tables() -> list[int]:
    """Eight tables of 256 numbers: what a byte does to the register 0 to 7 bytes later."""
    rows = [[0] * 256 for _ in range(8)]
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (_REFLECTED if crc & 1 else 0)
        rows[0][byte] = crc
    for later in range(1, 8):
        for byte in range(256):
            before = rows[later - 1][byte]
            rows[later][byte] = (before >> 8) ^ rows[0][before & 255]
    return [crc for row in rows for crc in row]


def _table_typed(_context: Any, _index: Any) -> Any:
    values = _crc_tables()
    kind = ir.ArrayType(_I32, len(values))

    def written(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        table = builder.module.globals.get("orbit_crc_tables")
        if table is None:
            table = ir.GlobalVariable(builder.module, kind, "orbit_crc_tables")
            table.global_constant, table.linkage = True, "internal"
            table.initializer = ir.Constant(kind, values)
        return builder.zext(builder.load(builder.gep(table, [ir.Constant(_I64, 0), arguments[0]])), _I64)

    return types.int64(types.int64), written


_table = _intrinsic(_table_typed)


@inlined
def _crc_word(low, high):  # type: ignore[no-untyped-def]
    """Register after eight bytes; ``low`` are the first four, with the register before them."""
    return (
        _table(1792 + (low & 255))
        ^ _table(1536 + (low >> 8 & 255))
        ^ _table(1280 + (low >> 16 & 255))
        ^ _table(1024 + (low >> 24))
        ^ _table(768 + (high & 255))
        ^ _table(512 + (high >> 8 & 255))
        ^ _table(256 + (high >> 16 & 255))
        ^ _table(high >> 24)
    )


@inlined
def _crc_step(crc, data, at, count):  # type: ignore[no-untyped-def]
    """Register after some bytes."""
    while count >= 8:
        crc = _crc_word(_u32_little(data, at) ^ crc, _u32_little(data, at + 4))
        at, count = at + 8, count - 8
    while count > 0:
        crc = (crc >> 8) ^ _table((crc ^ _u8(data, at)) & 255)
        at, count = at + 1, count - 1
    return crc


@inlined
def crc_by_tables(data, at, count):  # type: ignore[no-untyped-def]
    """`access.body_crc` for any processor."""
    return (_crc_step(_ALL_ONES, data, at, count) ^ _ALL_ONES) & 0x7FFFFFFF


def _power_of_x(exponent: int) -> int:
    """A power of x modulo the polynomial, reflected in the 33 bits that the multiplication wants."""
    value = 1
    for _ in range(exponent):
        value <<= 1
        if value >> 32 & 1:
            value ^= _POLYNOMIAL
    return int(f"{value:032b}"[::-1], 2) << 1


def _fold_typed(_context: Any, data: Any, _at: Any, _count: Any, _crc: Any) -> Any:
    def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        low, high = _Folding(builder).folded(place, arguments[2], arguments[3])
        return context.make_tuple(builder, signature.return_type, [low, high])

    return _pair(types.int64, 2)(data, types.int64, types.int64, types.int64), written


class _Folding:
    """Writes the loop that folds blocks of 64 bytes into 16, which have the same CRC register.

    Args:
        builder: LLVM's, at the place where the loop goes.
    """

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        name = "llvm.x86.pclmulqdq"
        known = builder.module.globals.get(name)
        self._multiply = known or ir.Function(builder.module, ir.FunctionType(_LANE, [_LANE, _LANE, _I8]), name)
        self._far = ir.Constant(_LANE, [_power_of_x(4 * 128 + 32), _power_of_x(4 * 128 - 32)])
        self._near = ir.Constant(_LANE, [_power_of_x(128 + 32), _power_of_x(128 - 32)])

    def folded(self, place: Any, count: Any, crc: Any) -> tuple[Any, Any]:
        """The two halves of the 16 bytes.

        Args:
            place: Where the bytes begin.
            count: How many: a multiple of 64, at least 64.
            crc: Register before them.
        """
        builder = self._builder
        first = self._block(place, ir.Constant(_I64, 0))
        first[0] = builder.xor(first[0], builder.insert_element(ir.Constant(_LANE, [0, 0]), crc, ir.Constant(_I32, 0)))
        before, loop, done = builder.block, builder.append_basic_block("fold"), builder.append_basic_block("folded")
        builder.cbranch(builder.icmp_signed(">", count, ir.Constant(_I64, _FOLDED_BYTES)), loop, done)
        builder.position_at_end(loop)
        offset = builder.phi(_I64)
        lanes = [builder.phi(_LANE) for _ in first]
        following = [
            builder.xor(self._fold(lane, self._far), new) for lane, new in zip(lanes, self._block(place, offset), strict=True)
        ]
        next_offset = builder.add(offset, ir.Constant(_I64, _FOLDED_BYTES))
        for phi, start, value in zip([offset, *lanes], [ir.Constant(_I64, 64), *first], [next_offset, *following], strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", next_offset, count), loop, done)
        builder.position_at_end(done)
        last = [builder.phi(_LANE) for _ in first]
        for phi, start, value in zip(last, first, following, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(value, loop)
        whole = last[0]
        for lane in last[1:]:
            whole = builder.xor(self._fold(whole, self._near), lane)
        low, high = (builder.extract_element(whole, ir.Constant(_I32, half)) for half in range(2))
        return low, high

    def _block(self, place: Any, offset: Any) -> list[Any]:
        builder = self._builder
        start = builder.gep(place, [offset])
        places = [builder.gep(start, [ir.Constant(_I64, 16 * number)]) for number in range(4)]
        return [builder.load(builder.bitcast(one, _LANE.as_pointer()), align=1) for one in places]

    def _fold(self, value: Any, constants: Any) -> Any:
        halves = [self._builder.call(self._multiply, [value, constants, ir.Constant(_I8, which)]) for which in (0x00, 0x11)]
        return self._builder.xor(*halves)


_fold_blocks = _intrinsic(_fold_typed)


@inlined
def crc_by_multiplication(data, at, count):  # type: ignore[no-untyped-def]
    """`access.body_crc` for x86-64 with PCLMULQDQ."""
    crc = _ALL_ONES
    if count >= _FOLDED_BYTES:
        whole = count & -_FOLDED_BYTES
        low, high = _fold_blocks(data, at, whole, crc)
        crc = _crc_word(low & 0xFFFFFFFF, low >> 32 & 0xFFFFFFFF)
        crc = _crc_word(high & 0xFFFFFFFF ^ crc, high >> 32 & 0xFFFFFFFF)
        at, count = at + whole, count - whole
    return (_crc_step(crc, data, at, count) ^ _ALL_ONES) & 0x7FFFFFFF


def functions(*, multiplies: bool) -> dict[str, Any]:
    """What stands for each function of `access`.

    Args:
        multiplies: Whether the processor has carry-less multiplication (PCLMULQDQ).
    """
    return {
        "u8": _u8,
        "u16": _u16,
        "i32": load(32),
        "i64": load(64),
        "put8": store(8),
        "put16": store(16),
        "put32": store(32),
        "put64": _put64,
        "publish32": store(32, is_published=True),
        "hex16": hex16,
        "fetch": fetch,
        "copy": copy,
        "same": same,
        "mix": mix,
        "find1": find1,
        "find3": find3,
        "next_mark": next_mark,
        "next_json_mark": next_json_mark,
        "body_crc": cast("Any", crc_by_multiplication if multiplies else crc_by_tables),
    }
