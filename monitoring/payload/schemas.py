"""Protobuf messages by local schemas: ``.proto`` files, or descriptor sets of ``protoc --descriptor_set_out``."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from broker_core.api import SCHEMAS, UsageError, child_environment, module_command, require_part

COMPILER_SECONDS = 60


class ProtobufSchema:
    """Message types of a ``.proto`` file, a folder of them, or a descriptor set.

    Raises:
        UsageError: It is missing or invalid; the text has the compiler's message.
    """

    def __init__(self, path: Path) -> None:
        from google.protobuf import descriptor_pb2, descriptor_pool
        from google.protobuf.message import DecodeError

        files = descriptor_pb2.FileDescriptorSet()
        try:
            files.ParseFromString(_descriptor_set(path))
        except DecodeError as error:
            raise UsageError(f"{path} is no descriptor set: {error}", path=str(path)) from error
        self._pool = descriptor_pool.DescriptorPool()
        try:
            for file in _in_order(list(files.file)):
                self._pool.AddSerializedFile(file.SerializeToString())
        except (TypeError, KeyError) as error:
            raise UsageError(f"the descriptor set {path} is not complete: {error}", path=str(path)) from error
        self.types = tuple(sorted(name for file in files.file for name in _names(file.package, file.message_type)))

    def decode(self, type_name: str, data: bytes) -> dict[str, Any]:
        """Fields of a message, by the names of the schema.

        Raises:
            UsageError: The schema has no such type.
            ValueError: The bytes are no such message.
        """
        from google.protobuf import json_format, message_factory
        from google.protobuf.message import DecodeError
        from google.protobuf.unknown_fields import UnknownFieldSet

        try:
            descriptor = self._pool.FindMessageTypeByName(type_name)
        except KeyError as error:
            raise UsageError(f"the schema has no message {type_name}; it has {', '.join(self.types[:20])}") from error
        message = message_factory.GetMessageClass(descriptor)()
        try:
            message.ParseFromString(data)
        except DecodeError as error:
            raise ValueError(f"these bytes are no {type_name}: {error}") from error
        try:
            fields: dict[str, Any] = json_format.MessageToDict(
                message,
                preserving_proto_field_name=True,
                descriptor_pool=self._pool,
                always_print_fields_with_no_presence=False,
            )
        except (json_format.Error, TypeError, RecursionError) as error:  # TypeError: an Any of a type that the schema has not
            raise ValueError(f"it is a {type_name}, but cannot be shown: {error}") from error
        # Explicit zeros are fields too, though none is shown.
        if not fields and len(UnknownFieldSet(message)):
            raise ValueError(f"none of its fields is one of {type_name}: it may be a message of another type")
        return fields


def _descriptor_set(path: Path) -> bytes:
    if path.is_dir():
        return _compiled(path, sorted(path.rglob("*.proto")))
    if path.suffix == ".proto":
        return _compiled(path.parent, [path])
    if not path.is_file():  # reading a pipe would not end
        raise UsageError(f"there is no file {path}", path=str(path))
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"the schema {path} cannot be read: {error.strerror}", path=str(path)) from error


def _compiled(folder: Path, files: Sequence[Path]) -> bytes:
    """Compile ``.proto`` files; imports are searched in their folder and among Google's own."""
    if not files:
        raise UsageError(f"there is no .proto file in {folder}", path=str(folder))
    if missing := [file for file in files if not file.is_file()]:
        raise UsageError(f"there is no file {missing[0]}", path=str(missing[0]))
    require_part(SCHEMAS)
    known = str(resources("grpc_tools") / "_proto")
    with tempfile.TemporaryDirectory(prefix="orbit-proto-") as scratch:
        target = Path(scratch) / "set"
        words = [f"-I{folder}", f"-I{known}", "--include_imports", f"--descriptor_set_out={target}", *map(str, files)]
        said = _run_compiler(words)
        if not target.is_file():
            raise UsageError(f"the schema cannot be compiled: {said or 'the compiler gave no reason'}", path=str(files[0]))
        return target.read_bytes()


def _run_compiler(words: Sequence[str]) -> str:
    """Run the packaged compiler in its own process, because it writes to standard error; returns that text.

    Raises:
        UsageError: It does not end, or the system refuses to run it, as with a folder of too many files.
    """
    try:
        done = subprocess.run(
            module_command("grpc_tools.protoc", *words), capture_output=True, encoding="utf-8", errors="replace", check=False,
            env=child_environment(), timeout=COMPILER_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"the schema cannot be compiled: it takes more than {COMPILER_SECONDS} s") from error
    except OSError as error:
        raise UsageError(f"the schema cannot be compiled: {error.strerror}") from error
    return done.stderr.strip()


def _in_order(files: list[Any]) -> list[Any]:
    left, done, ordered = {file.name: file for file in files}, set[str](), []
    while left:
        ready = [file for file in left.values() if all(name in done or name not in left for name in file.dependency)]
        if not ready:
            raise KeyError("its files import each other in a circle")
        for file in ready:
            ordered.append(file)
            done.add(file.name)
            del left[file.name]
    return ordered


def _names(package: str, messages: Sequence[Any]) -> list[str]:
    found = []
    for message in messages:
        name = f"{package}.{message.name}" if package else message.name
        found += [name, *_names(name, message.nested_type)]
    return found
