"""Machine code of functions, compiled by numba once and stored in the user's cache folder.

Compiling takes some seconds, loading a fraction of one. A cache folder is valid for one source, one Python, one numba and one
kind of processor. It is created under a temporary name, gets checksums of all its files, and is renamed when complete; it is
used only while the checksums match. Concurrent processes, a full disk, a truncated file or a read-only folder therefore only
cost a new compilation. Modules in an archive, as on the workers of a cluster, are compiled in each process.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self, TypeVar, cast

import numba
import platformdirs
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from broker_core.engine.store.layout import Bytes

Function = TypeVar("Function", bound=Callable[..., Any])

_numba: Any = numba.config  # its names are made when it is loaded
_njit: Any = numba.njit  # takes more options than its types say
_CHECKSUMS = "checksums.json"
_MAKING = "making-"
_BARE = {"_nrt": False}
"""No reference counts of arrays, which at each call cost more than most of the functions do. The caller of compiled code keeps
its arrays until it returns; the code creates and keeps none.
"""
FOLDERS_MAX = 4


def cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("orbit")) / "compiled"


def part(function: Function) -> Function:
    """A function that only compiled ones call; inlined, which with many arguments takes half of the time."""
    return cast("Function", _njit(**_BARE, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


def loader(bits: int, *, is_swapped: bool = False, is_signed: bool = True) -> Callable[[Bytes, int], Any]:
    """A function for compiled ones that reads an integer at any position of some bytes, without a bounds check.

    Reading byte by byte takes several times as long, to compile and to run.

    Args:
        bits: 8 to 64.
        is_swapped: Big-endian.
        is_signed: The result is an int64; else 64 bits are an uint64.
    """
    kind, wide = ir.IntType(bits), ir.IntType(64)
    given = types.uint64 if bits == wide.width and not is_signed else types.int64

    def typed(_context: Any, data: Any, _at: Any) -> Any:
        def written(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.bitcast(builder.gep(array.data, [arguments[1]]), kind.as_pointer())
            found = builder.load(place, align=1)
            if is_swapped and bits > 8:
                found = builder.bswap(found)
            return builder.sext(found, wide) if is_signed else builder.zext(found, wide)

        return given(data, types.int64), written

    return cast("Callable[[Bytes, int], Any]", intrinsic(typed))


class Compiler:
    """Compiles the functions of a module's file, or loads them from a cache folder; used as a context.

    Args:
        constants_of: Modules whose constants the functions read: machine code contains their values, and is compiled again
            after such a module changes.
    """

    def __init__(self, source: Path, folder: Path | None = None, *, constants_of: Sequence[ModuleType] = ()) -> None:
        self._source = source
        self._constants_of = constants_of
        self._folder = folder or cache_folder()
        self._kept: Path | None = None
        self._making: Path | None = None
        self._before = _numba.CACHE_DIR

    def __enter__(self) -> Self:
        # In an archive, without room or permission, or on a processor unknown to LLVM, nothing is cached.
        with contextlib.suppress(OSError, RuntimeError):
            self._kept = self._folder / _identity(self._source, self._constants_of)
            if not is_whole(self._kept):
                self._folder.mkdir(parents=True, exist_ok=True)
                self._making = Path(tempfile.mkdtemp(prefix=_MAKING, dir=self._folder))
            _numba.CACHE_DIR = str(self._making or self._kept)
            return self
        self._kept = None
        return self

    def compiled(self, function: Function, *arguments: object) -> Function:
        """A function compiled for arguments of some numba types; it releases the GIL."""
        if self._kept is not None:
            with contextlib.suppress(OSError, RuntimeError):  # no room for it any more, or the folder is only to be read
                return cast("Function", _njit(arguments, nogil=True, cache=True, **_BARE)(function))
            self._kept = None
        return cast("Function", _njit(arguments, nogil=True, **_BARE)(function))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _numba.CACHE_DIR = self._before
        if self._making is None:
            return
        if kind is None and self._kept is not None:
            with contextlib.suppress(OSError):  # another process was faster, or there is no room
                _keep(self._making, self._kept)
        shutil.rmtree(self._making, ignore_errors=True)


def _identity(source: Path, constants_of: Sequence[ModuleType]) -> str:
    """A name for everything that machine code depends on; numba distinguishes modules by their paths."""
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    files = [source, Path(__file__), *(Path(str(module.__file__)) for module in constants_of)]
    sources = [file.read_bytes() for file in files]
    text = repr((str(source.resolve()), sources, sys.version, numba.__version__, processor))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def is_whole(folder: Path) -> bool:
    """Whether a folder holds exactly the files of its checksums."""
    try:
        said = json.loads((folder / _CHECKSUMS).read_bytes())
    except (OSError, ValueError):
        return False
    return bool(said == _checksums(folder))


def _checksums(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != _CHECKSUMS)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _keep(making: Path, kept: Path) -> None:
    (making / _CHECKSUMS).write_text(json.dumps(_checksums(making)))
    if not is_whole(kept):
        shutil.rmtree(kept, ignore_errors=True)
    making.rename(kept)
    others = sorted((path for path in kept.parent.iterdir() if path != kept), key=lambda path: path.stat().st_mtime)
    for path in others[: max(0, len(others) + 1 - FOLDERS_MAX)]:
        shutil.rmtree(path, ignore_errors=True)
