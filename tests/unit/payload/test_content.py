import gzip
import json
import zlib

import lz4.frame
import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core import zstandard_frames
from broker_core.api import containers_of
from monitoring.payload.content import CONTAINERS_MAX, TAG_BYTES_MAX, TOO_MANY, BodyKind, read_content
from monitoring.payload.rules import DecoderRule
from monitoring.payload.tables import TABLE_CELLS_MAX, TABLE_COLUMNS_MAX, Table

ORDER = {"id": 7, "customer": {"name": "王芳"}, "items": [1, 2.5, None, True]}
PACKERS = {
    "gzip": gzip.compress,
    "zlib": zlib.compress,
    "lz4": lz4.frame.compress,
    "zstd": zstandard_frames.compress,
}
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 53), 1 << 53) | st.text(st.characters(codec="utf-8", categories=["L", "N"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("body", "kind", "encoding"),
    [
        (b"", BodyKind.EMPTY, ""),
        (json.dumps(ORDER).encode(), BodyKind.JSON, "utf-8"),
        (b"  [1, 2]  ", BodyKind.JSON, "utf-8"),
        (b'"just text"', BodyKind.JSON, "utf-8"),
        (b"42", BodyKind.TEXT, "utf-8"),
        ("订单已支付，金额一百元".encode("gbk"), BodyKind.TEXT, "gb18030"),
        ('{"名称": "茶叶"}'.encode("gbk"), BodyKind.JSON, "gb18030"),
        ('{"name": "Jürgen Müller", "city": "Köln"}'.encode("latin-1"), BodyKind.JSON, "latin-1"),
        ("id;café;größe\n1;Ça va;São Paulo\n2;2ème;l'été\n".encode("latin-1"), BodyKind.TABLE, "latin-1"),
        ("\ufeff{}".encode(), BodyKind.JSON, "utf-8-sig"),
        ("grüße".encode("utf-16"), BodyKind.TEXT, "utf-16"),
        (b"<a><b>1</b></a>", BodyKind.XML, "utf-8"),
        ('<?xml version="1.0" encoding="GBK"?><单><名>茶叶</名></单>'.encode("gbk"), BodyKind.XML, "gb18030"),
        (b'<?xml version="1.0" encoding="latin-9"?><a>\xc3\xa9</a>', BodyKind.XML, "utf-8"),
        (b"id\tname\n1\tx\n2\ty\n", BodyKind.TABLE, "utf-8"),
        (b"hello, world", BodyKind.TEXT, "utf-8"),
        ("newer than this Python: \U0001fadc, one's own: \ue000".encode(), BodyKind.TEXT, "utf-8"),
        (bytes(range(256)), BodyKind.BYTES, ""),
        (b"\x00\x01\x02", BodyKind.BYTES, ""),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", BodyKind.BYTES, ""),
    ],
)
def test_a_body_is_read_as_what_it_is(body, kind, encoding):
    found = read_content(body)
    assert (found.kind, found.encoding, found.refusals) == (kind, encoding, ())


@pytest.mark.parametrize(
    "text",
    [
        "für", "grüße", "café", "à la carte", "¿qué?", "25 °C", "«oui»", "Größe: 5 £", "ÉTÉ", "Bjørn Ångström", "100 µm ± 2",
        "© Société Générale®", "¡Olé!",
    ],
)  # fmt: skip
def test_text_in_latin_1_is_text(text):
    found = read_content(text.encode("latin-1"))
    assert (found.kind, found.text, found.encoding) == (BodyKind.TEXT, text, "latin-1")


@pytest.mark.parametrize("text", ["订", "你hao", "镕", "abc 镕 def", "鲞", "訂單編號", "龍", "id=5 茶叶", "朱镕基", "'淼'"])
def test_chinese_in_gbk_is_no_latin_1(text):
    found = read_content(text.encode("gb18030"))
    assert (found.text, found.encoding) == (text, "gb18030")


@pytest.mark.parametrize(
    "body",
    [
        b"\xff", b"\xe9", b"\xb5\xe9\x9c", "中文".encode("big5"), "order 我".encode("big5"), "テスト".encode("euc_jp"),
        b"\xc0\x80\xfe", bytes(range(0x20, 0x100)),
    ],
)  # fmt: skip
def test_bytes_that_no_western_language_has_are_no_latin_1(body):
    assert read_content(body).encoding != "latin-1"


@pytest.mark.parametrize("depth", [100, 300, 700, 960, 980, 990, 5_000])
def test_a_body_of_any_depth_is_read_or_says_why_not(depth):
    for body in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, '[{"a":' * depth + "1" + "}]" * depth):
        found = read_content(body.encode())
        assert (found.kind is BodyKind.JSON) == (not found.refusals)
        assert found.kind in (BodyKind.JSON, BodyKind.TEXT)


@pytest.mark.parametrize("name", PACKERS)
def test_compression_is_undone_and_said(name):
    packed = PACKERS[name](json.dumps(ORDER).encode())
    found = read_content(packed)
    assert (found.kind, found.value) == (BodyKind.JSON, ORDER)
    assert [(layer.name, layer.packed_bytes) for layer in found.layers] == [(name, len(packed))]


@pytest.mark.parametrize("name", PACKERS)
def test_what_only_begins_like_compression_says_why_it_stays(name):
    packed = PACKERS[name](b"x" * 5_000)
    for torn in (packed[:-3], packed[:7] + b"\x55" * 20):
        found = read_content(torn)
        assert found.kind is BodyKind.BYTES
        assert found.data == torn
        assert [refused for refused, _ in found.refusals] == [name]


def test_layers_are_undone_one_inside_the_other_and_not_for_ever():
    body = b"{}"
    for _ in range(6):
        body = gzip.compress(body)
    assert len(read_content(body).layers) == 4
    assert read_content(zstandard_frames.compress(gzip.compress(b"{}"))).kind is BodyKind.JSON


@pytest.mark.parametrize("name", PACKERS)
def test_what_would_fill_the_memory_is_cut_and_said(name):
    bomb = PACKERS[name](bytes(40 * 1024 * 1024))
    found = read_content(bomb)
    assert found.is_cut
    assert len(found.data) == 32 * 1024 * 1024


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[" + b"[]," * CONTAINERS_MAX + b"1]", BodyKind.TEXT),
        (b"\xdd" + (CONTAINERS_MAX + 1).to_bytes(4, "big") + b"\x90" * (CONTAINERS_MAX + 1), BodyKind.BYTES),
        (b"\xdd" + (CONTAINERS_MAX + 1).to_bytes(4, "big") + b"\x80" * (CONTAINERS_MAX + 1), BodyKind.BYTES),
    ],
)
def test_a_structure_has_a_bounded_number_of_objects_and_arrays(body, kind):
    found = read_content(body)
    assert (found.kind, found.refusals) == (kind, (("structure", TOO_MANY),))


def test_brackets_in_texts_are_no_arrays():
    body = json.dumps(["[{" * CONTAINERS_MAX, '\\"[' * 2_000]).encode()
    assert read_content(body).kind is BodyKind.JSON
    assert containers_of(body.decode(), CONTAINERS_MAX) == 1


@pytest.mark.parametrize(
    "tag",
    [
        "<a" + "".join(f' b{n}=""' for n in range(120_000)) + "/>",
        f"<a b='{'x' * 2 * TAG_BYTES_MAX}'/>",
        f"<!--{'x' * 2 * TAG_BYTES_MAX}-->",
    ],
)
def test_a_tag_of_xml_is_bounded(tag):
    found = read_content(f"<r>{tag}</r>".encode())
    assert (found.kind, found.refusals) == (
        BodyKind.TEXT,
        (("xml", f"it has a tag or comment of more than {TAG_BYTES_MAX:,} bytes"),),
    )


def test_large_xml_of_short_tags_is_laid_out():
    text = "<r>" + "<a>x</a>" * 100_000 + "</r>"
    assert read_content(text.encode()).text.count("\n") == 100_001


@pytest.mark.parametrize("lines", [1, 2])
def test_a_table_has_a_bounded_number_of_columns(lines):
    assert read_content(("a\tb\n" + "\t" * TABLE_COLUMNS_MAX + "\n" * lines).encode()).kind is BodyKind.TEXT
    assert read_content((("\t" * TABLE_COLUMNS_MAX + "\n") * 2).encode()).kind is BodyKind.TEXT


def test_a_table_of_text_has_a_bounded_number_of_cells():
    wide = ",".join("abcd") + "\n"
    assert not read_content((wide * 10_001).encode()).table.is_cut
    wider = "," * 99 + "\n"
    table = read_content((wider * 3_000).encode()).table
    assert (len(table.headings), len(table.rows), table.is_cut) == (100, TABLE_CELLS_MAX // 100, True)


def test_near_misses_say_what_is_wrong_with_them():
    assert read_content(b'{"a": 1,}').refusals[0][0] == "json"
    assert "column" in read_content(b'{"a": 1,}').refusals[0][1]
    assert read_content(b"<a><b></a>").refusals[0][0] == "xml"
    entities = b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    assert "DOCTYPE" in read_content(entities).refusals[0][1]


def test_xml_is_laid_out_without_changing_what_is_written():
    written = (
        '<?xml version="1.0"?><?style a="b"?><a x=\'1 &amp; "2">\' y = "&#65;&#10;"><b>one\n two </b><c/><d  /><!-- n --> <e>'
        "<f>two &lt;&#x41;</f></e><g> </g><h>3<![CDATA[<4>&]]> </h><i>mixed <j/> text</i ></a>\n<!-- end -->"
    )
    assert read_content(written.encode()).text.splitlines() == [
        '<?xml version="1.0"?>', '<?style a="b"?>', '<a x=\'1 &amp; "2">\' y = "&#65;&#10;">', "  <b>one", " two </b>",
        "  <c/>", "  <d  />", "  <!-- n -->", "  <e>", "    <f>two &lt;&#x41;</f>", "  </e>", "  <g> </g>",
        "  <h>3<![CDATA[<4>&]]> </h>",
        "  <i>mixed ", "    <j/>", "    text", "  </i >", "</a>", "<!-- end -->",
    ]  # fmt: skip


def test_a_doctype_behind_much_else_is_refused_and_one_in_a_text_is_none():
    entities = f'<!-- {"x" * 100_000} --><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    assert "DOCTYPE" in read_content(entities.encode()).refusals[0][1]
    assert read_content(b"<a><![CDATA[<!DOCTYPE a>]]></a>").kind is BodyKind.XML


def test_lists_of_objects_and_separated_lines_are_tables():
    table = read_content(b'[{"a": 1, "b": "x"}, {"a": 2, "c": [1]}]').table
    assert table == Table(("a", "b", "c"), (("1", "x", ""), ("2", "", "[1]")))
    table = read_content(b'id,name\r\n1,"a, b"\r\n2,"c\nd"\r\n', DecoderRule("*", reading="table")).table
    assert table == Table(("id", "name"), (("1", "a, b"), ("2", "c\nd")))
    assert read_content(b"a,b,c\n1,2,3\n").kind is BodyKind.TABLE
    apart = read_content(json.dumps([{f"name{number}": number} for number in range(3_000)]).encode()).table
    assert (len(apart.headings), apart.is_cut) == (3_000, True)
    assert len(apart.rows) * len(apart.headings) <= TABLE_CELLS_MAX
    assert apart.rows[1][:3] == ("", "1", "")
    assert read_content(b"Dear Ann, hello\nDear Bob, hello\n").kind is BodyKind.TEXT


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), values, min_size=1))
def test_messagepack_is_known_and_gives_the_same_value(value):
    found = read_content(msgpack.packb(value), DecoderRule("*", reading="msgpack"))
    assert (found.kind, found.value) == (BodyKind.MSGPACK, value)


def test_messagepack_is_found_without_a_rule():
    packed = msgpack.packb({"when": b"\x01", 5: [float("inf")]})
    assert read_content(packed).value == {"when": "01", "5": ["inf"]}


@pytest.mark.parametrize(
    ("packed", "lines"),
    [
        (b"\x82\xa1k\x01\xa1k\x02", ['"k": 1,', '"k": 2']),
        (b"\x82\x01\x02\xa11\x03", ['"1": 2,', '"1": 3']),
        (b"\x81\x92\x01\xc3\x02", ['"[1, true]": 2']),
        (b"\x81\xa1t\xd6\xff\x5a\x4a\xf6\xa5", ['"t": "2018-01-02 03:04:05+00:00"']),
        (b"\x81\xa1t\xd7\xff" + (1 << 34).to_bytes(8), ['"t": "Timestamp(seconds=0, nanoseconds=1)"']),
        (b"\x81\xa1t\xc7\x0c\xff\0\0\0\0\x7f" + b"\xff" * 7, [f'"t": "Timestamp(seconds={(1 << 63) - 1}, nanoseconds=0)"']),
        (b"\x81\xa1t\xc7\x01\x05\xff", ['"t": [', "5,", '"ff"', "]"]),
    ],
    ids=["a name twice", "one name of two kinds", "a list as name", "time", "nanosecond", "year 292277026596", "extension"],
)  # fmt: skip
def test_messagepack_is_shown_with_each_member_and_each_digit(packed, lines):
    found = read_content(packed, DecoderRule("*", reading="msgpack"))
    assert [line.strip() for line in found.text.splitlines()[1:-1]] == lines


@given(values)
def test_json_is_read_back(value):
    text = json.dumps({"v": value}, ensure_ascii=False).encode()
    assert read_content(text).value == {"v": value}


@given(st.binary(max_size=300))
def test_no_bytes_fail(body):
    for rule in (
        None,
        *(DecoderRule("*", reading=reading) for reading in ("json", "xml", "table", "msgpack", "text", "bytes")),
    ):
        found = read_content(body, rule)
        assert found.kind is not BodyKind.EMPTY or not found.data


def test_a_rule_is_kept_to():
    body = b"[1, 2]"
    assert read_content(body, DecoderRule("*", reading="text")).kind is BodyKind.TEXT
    assert read_content(body, DecoderRule("*", reading="bytes")).kind is BodyKind.BYTES
    refused = read_content(body, DecoderRule("*", reading="xml"))
    assert (refused.kind, refused.refusals[0][0]) == (BodyKind.TEXT, "xml")
    assert read_content(gzip.compress(body), DecoderRule("*", unwraps=False)).kind is BodyKind.BYTES
    assert read_content("茶".encode("big5"), DecoderRule("*", encoding="big5")).text == "茶"
    assert read_content(b"\x91\x01", DecoderRule("*", reading="protobuf", schema="x", message_type="y")).refusals


def test_a_deep_structure_is_no_trouble():
    deep = b"[" * 100_000 + b"]" * 100_000
    assert read_content(deep).kind is BodyKind.TEXT
    assert read_content(b"<a>" * 300 + b"</a>" * 300).kind is BodyKind.TEXT
    assert read_content(b"\x91" * 5_000 + b"\x01").kind in (BodyKind.BYTES, BodyKind.MSGPACK)


@pytest.mark.parametrize("encoding", ["punycode", "utf-7", "unicode_escape", "utf-32", "iso2022_jp_3"])
def test_bytes_that_are_no_text_of_a_chosen_encoding_are_bytes(encoding):
    for body in (b"<a>x</a>", b"<a>+x\\N{\xff"):
        content = read_content(body, DecoderRule("*", reading="text", encoding=encoding))
        assert (content.kind, content.encoding) in ((BodyKind.BYTES, ""), (BodyKind.TEXT, encoding))
