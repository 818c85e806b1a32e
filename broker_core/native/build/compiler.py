"""Kernels to an object file: numba makes LLVM's language of them, LLVM makes machine code.

The processor is one that every x86-64 server since 2011 is, so that one build serves all of them and is the same everywhere;
other machines get their own.
"""

from __future__ import annotations

import ctypes
import platform
import types as python_types
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numba
from llvmlite import binding
from numba import types

from broker_core.native import (
    checks,
    heads,
    items,
    keys,
    lanes,
    pull_frames,
    pulls,
    records,
    send_frames,
    send_properties,
    sends,
    sums,
)
from broker_core.native.build import instructions
from broker_core.native.library import ENTRIES, GATHERED, PREFIX, Kind, Library

_KERNELS: tuple[ModuleType, ...] = (
    records, heads, checks, keys, items, sums, lanes, send_frames, send_properties, sends, pull_frames, pulls,
)  # fmt: skip
"""A kernel calls functions of those before it."""
_pointer: Any = types.CPointer
_KINDS = {
    Kind.BYTES: _pointer(types.uint8),
    Kind.TABLE: _pointer(types.int64),
    Kind.NUMBER: types.int64,
}
_cfunc: Any = numba.cfunc  # takes more options than its types say


@dataclass(frozen=True, slots=True)
class Processor:
    """What machine code is made for.

    Attributes:
        name: As LLVM calls it.
        features: Beside those of the name, as LLVM writes them.
        multiplies: Whether it has PCLMULQDQ.
    """

    name: str
    features: str
    multiplies: bool


def processor() -> Processor:
    """The one that machine code is made for on this machine."""
    if platform.machine().lower() in {"x86_64", "amd64"}:
        return Processor("x86-64-v2", "+pclmul", multiplies=True)
    return Processor("generic", "", multiplies=False)


def object_file(target: Processor) -> bytes:
    """The bytes of an ELF object file with a C function for each entry of `broker_core.native.library`."""
    whole = _linked(target)
    for function in whole.functions:
        if not function.is_declaration:
            function.linkage = "external" if function.name.startswith(PREFIX) else "internal"
    for variable in whole.global_variables:
        if not variable.is_declaration:
            variable.linkage = "internal"
    machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
        cpu=target.name, features=target.features, opt=3, reloc="pic", codemodel="small"
    )
    whole.triple, whole.data_layout = binding.get_process_triple(), str(machine.target_data)
    passes = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(whole, passes)
    made: bytes = machine.emit_object(whole)
    return made


class InProcess(Library):
    """Functions that are compiled for this process, for where no library was made.

    Args:
        entries: Their names.
    """

    def __init__(self, entries: AbstractSet[str]) -> None:
        self._compiled = _compiled(instructions.functions(multiplies=False), entries)
        self._functions = {
            name: ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(ENTRIES[name]))(one.address)
            for name, one in self._compiled.items()
        }


def _linked(target: Processor) -> Any:
    """One LLVM module with all entries."""
    whole = None
    for name, compiled in _compiled(instructions.functions(multiplies=target.multiplies), ENTRIES.keys()).items():
        module = binding.parse_assembly(str(compiled._library._final_module))
        module.get_function(compiled.native_name).name = PREFIX + name
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    return whole


def _compiled(replaced: Mapping[str, Any], entries: AbstractSet[str]) -> dict[str, Any]:
    """Entry → numba's C function."""
    found, made = {}, dict(replaced)
    for kernel in _KERNELS:
        names = {**vars(kernel), **made}
        for name, function in _functions_of(kernel).items():
            names[name] = made[name] = instructions.inlined(python_types.FunctionType(function.__code__, names, name))
        for name in entries & _functions_of(kernel).keys():
            is_gathered = name in GATHERED
            kinds = [_KINDS[Kind.TABLE]] if is_gathered else [_KINDS[kind] for kind in ENTRIES[name]]
            entry = (_with_gathered if is_gathered else _with_arrays)(name, ENTRIES[name], names[name])
            options = {"nopython": True, "_nrt": False, "error_model": "numpy", "boundscheck": False}
            found[name] = _cfunc(types.int64(*kinds), **options)(entry)
    return dict(sorted(found.items()))


def _functions_of(kernel: ModuleType) -> dict[str, python_types.FunctionType]:
    """Functions that a kernel module defines, in the order in which it does: one calls only those before it."""
    return {
        name: value
        for name, value in vars(kernel).items()
        if isinstance(value, python_types.FunctionType) and value.__module__ == kernel.__name__
    }


def _with_arrays(name: str, kinds: tuple[Kind, ...], inner: Any) -> Callable[..., int]:
    """A function of pointers and numbers that calls one of arrays and numbers; numba wants its arguments named."""
    arguments = [f"a{number}" for number in range(len(kinds))]
    given = [a if kind is Kind.NUMBER else f"as_array({a})" for a, kind in zip(arguments, kinds, strict=True)]
    space: dict[str, Any] = {"inner": inner, "as_array": instructions.as_array}
    exec(f"def {name}({', '.join(arguments)}):\n    return inner({', '.join(given)})\n", space)  # noqa: S102  of our own names
    function: Callable[..., int] = space[name]
    return function


def _with_gathered(name: str, kinds: tuple[Kind, ...], inner: Any) -> Callable[..., int]:
    """A function of one table of addresses and numbers that calls one of arrays and numbers."""
    made = {Kind.BYTES: "bytes_at(a[{}])", Kind.TABLE: "table_at(a[{}])", Kind.NUMBER: "a[{}]"}
    given = [made[kind].format(number) for number, kind in enumerate(kinds)]
    space: dict[str, Any] = {"inner": inner, "as_array": instructions.as_array}
    space |= {"bytes_at": instructions.array_at(types.uint8), "table_at": instructions.array_at(types.int64)}
    exec(f"def {name}(table):\n    a = as_array(table)\n    return inner({', '.join(given)})\n", space)  # noqa: S102  likewise
    function: Callable[..., int] = space[name]
    return function
