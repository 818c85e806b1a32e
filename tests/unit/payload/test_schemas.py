import errno
import os
import subprocess
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, message_factory

from broker_core.api import UsageError
from monitoring.payload.content import BodyKind, read_content
from monitoring.payload.rules import DecoderRule
from monitoring.payload.schemas import ProtobufSchema

ORDER = """
syntax = "proto3";
package shop;
import "parts/money.proto";
import "google/protobuf/any.proto";
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1;
  Money price = 2;
  google.protobuf.Timestamp at = 3;
  message Line { string sku = 1; }
  repeated Line lines = 4;
  google.protobuf.Any more = 5;
}
"""
MONEY = 'syntax = "proto3"; package shop; message Money { string currency = 1; double amount = 2; }'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("schemas")
    (made / "parts").mkdir()
    (made / "order.proto").write_text(ORDER)
    (made / "parts" / "money.proto").write_text(MONEY)
    return made


@pytest.fixture(scope="module")
def schema(folder):
    return ProtobufSchema(folder / "order.proto")


def order_bytes(schema: ProtobufSchema) -> bytes:
    order = message_factory.GetMessageClass(schema._pool.FindMessageTypeByName("shop.Order"))()
    order.id = 7
    order.price.currency = "EUR"
    order.at.FromSeconds(1_700_000_000)
    order.lines.add().sku = "tea"
    return bytes(order.SerializeToString())


def test_a_message_is_read_by_its_schema(schema):
    assert {"shop.Order", "shop.Order.Line", "shop.Money"} <= set(schema.types)
    rule = DecoderRule("*", reading="protobuf", schema="order.proto", message_type="shop.Order")
    found = read_content(order_bytes(schema), rule, schema)
    assert found.kind is BodyKind.PROTOBUF
    assert found.value == {
        "id": "7",
        "price": {"currency": "EUR"},
        "at": "2023-11-14T22:13:20Z",
        "lines": [{"sku": "tea"}],
    }


def test_a_folder_and_a_descriptor_set_serve_as_well(folder, schema, tmp_path):
    assert ProtobufSchema(folder).types == schema.types
    files = descriptor_pb2.FileDescriptorSet()
    for name in ("google/protobuf/any.proto", "google/protobuf/timestamp.proto", "parts/money.proto", "order.proto"):
        schema._pool.FindFileByName(name).CopyToProto(files.file.add())
    path = tmp_path / "set.desc"
    path.write_bytes(bytes(files.SerializeToString()))
    assert ProtobufSchema(path).decode("shop.Order", order_bytes(schema))["id"] == "7"


def test_bytes_that_are_no_such_message_say_so(schema):
    rule = DecoderRule("*", reading="protobuf", schema="order.proto", message_type="shop.Order")
    found = read_content(b"\x0f\xff\xff", rule, schema)
    assert (found.kind, found.refusals[0][0]) == (BodyKind.BYTES, "protobuf")
    with pytest.raises(UsageError, match="it has"):
        schema.decode("shop.Nothing", b"")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"\x2a\x0e\x0a\x0cx.y/no.Known", "cannot be shown"),  # an Any of a type that the schema has not
        (b"\x1a\x09\x08\x80\x80\x9a\xa6\xea\xaf\xe3\x01", "cannot be shown"),  # a time behind the year 9999
        (b"\xa2\x06\x03abc", "another type"),  # field 100 alone
    ],
)
def test_a_message_that_cannot_be_shown_says_why(schema, body, says):
    rule = DecoderRule("*", reading="protobuf", schema="order.proto", message_type="shop.Order")
    found = read_content(body, rule, schema)
    assert found.kind in (BodyKind.BYTES, BodyKind.TEXT)
    [(name, reason)] = found.refusals
    assert name == "protobuf"
    assert says in reason


def test_a_message_of_zeros_that_were_written_out_is_one(schema):
    assert schema.decode("shop.Order", b"\x08\x00") == {}
    assert schema.decode("shop.Order", b"") == {}


def test_a_schema_that_cannot_be_had_says_why(tmp_path):
    broken = tmp_path / "broken.proto"
    broken.write_text("message {")
    alone = tmp_path / "alone.proto"
    alone.write_text('syntax = "proto3"; import "nowhere.proto";')
    other = tmp_path / "set.desc"
    other.write_bytes(b"\xff\xff")
    for path, says in (
        (broken, "broken.proto:1"),
        (alone, "nowhere.proto"),
        (other, "no descriptor set"),
        (tmp_path / "missing.proto", "no file"),
        (tmp_path / "missing.desc", "no file"),
        (Path(tmp_path / "empty"), "no file"),
    ):
        with pytest.raises(UsageError, match=says):
            ProtobufSchema(path)


def test_a_pipe_is_no_schema(tmp_path):
    os.mkfifo(tmp_path / "pipe.desc")
    with pytest.raises(UsageError, match="no file"):
        ProtobufSchema(tmp_path / "pipe.desc")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (subprocess.TimeoutExpired("protoc", 60), "it takes more than 60 s"),
        (OSError(errno.E2BIG, "Argument list too long"), "Argument list too long"),
    ],
)
def test_a_compiler_that_does_not_end_or_begin_is_told(folder, monkeypatch, error, says):
    def run(*_words, **_options):
        raise error

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(UsageError, match=f"the schema cannot be compiled: {says}"):
        ProtobufSchema(folder)
