"""What child processes say, told in the language of the window."""

from __future__ import annotations

import ast
import json
import re
import string
from pathlib import Path

import pytest

from broker_core.counted import counted
from gui.models.hops import ConnectionHop
from gui.words.child_words import _FORMS, child_text
from gui.words.text import load_catalogue
from tests.support.languages import shown_in

BROKER_CORE = Path(__file__).resolve().parents[4] / "broker_core"
CHINESE = re.compile("[\u4e00-\u9fff]")
ENGLISH_WORDS = re.compile(r"[A-Za-z]{4,}")
NAMES = {"HOST", "PORT", "NameServer", "SOCKS", "orders", "Broker", "billing", "brokerIP", "namesrvAddr", "secret", "access",
         "Orbit", "Proxy", "gRPC", "RocketMQ", "grpc"}  # fmt: skip
LINES = {
    "complete: 10 copied; receipt: /r.jsonl": "完成：已复制 10；回执：/r.jsonl",
    "partial: 3 sent, 1 failed, 6 left; it was stopped; receipt: /r; go on with: orbit replay --resume /r":
        "未全部完成：已发送 3，失败 1，剩余 6；已停止；回执：/r；继续：orbit replay --resume /r",
    "  topic orders: 1,200 messages of 4 queues; it is created": "  主题 orders：4 个队列的 1,200 条消息；将被创建",
    "3 sent, 5 left, paused": "已发送 3，剩余 5，已暂停",
    "warning: no consumer of billing is connected, so what its subscription rejects is not known":
        "注意：billing 没有消费者在线，其订阅会拒收什么未知",
    "cannot connect to h:1 (Connection refused): is a server running there?":
        "无法连接 h:1（连接被拒绝）：那里有服务器在运行吗？",
    "the name server h:1 knows no broker": "NameServer h:1 不知道任何 Broker",
    "not tried: 1,200 more": "另有 1,200 个未尝试",
    "partial: 2 copied, 1 left; the target lost messages that it had acknowledged: queue 0 of orders on b ended at 2 and goes "
    "on at 0. Begin a new copy; receipt: /r":
        "未全部完成：已复制 2，剩余 1；目标丢失了已确认的消息：b 上 orders 的队列 0 原到 2，现从 0 继续。"
        "请重新开始复制；回执：/r",
    "a line of no known form; it is created": "a line of no known form；将被创建",
    "org.apache.X: no, never; x": "org.apache.X: no, never; x",
    "queue 3 of orders on a could not be read from offset 1,200 on: the connection to h:1 ended (closed by the peer)":
        "Broker a 上 orders 的队列 3 从位点 1,200 起无法读取：与 h:1 的连接已断开（被对方关闭）",
    "h:1 has no account x: check the access key, or have the account made there (No acl config for x)":
        "h:1 没有账号 x：请检查 access key，或在那里创建此账号（No acl config for x）",
    "": "",
}  # fmt: skip


@pytest.fixture
def chinese(qapp):
    with shown_in("zh"):
        yield


@pytest.mark.parametrize("line", LINES)
def test_a_line_keeps_its_names_and_figures(chinese, line):
    assert child_text(line) == LINES[line]


@pytest.mark.parametrize("line", LINES)
def test_in_english_nothing_changes(qapp, line):
    assert child_text(line) == line


def test_every_form_has_a_chinese_one_with_the_same_fields():
    known = load_catalogue("zh")
    fields = {form: {name for _, name, _, _ in string.Formatter().parse(form) if name} for form in _FORMS}
    told = {form: {name for _, name, _, _ in string.Formatter().parse(known.get(form, "")) if name} for form in _FORMS}
    assert told == fields
    assert len(set(_FORMS)) == len(_FORMS)


def said_by(path: str) -> list[str]:
    """Advice of the doctor, with an x for what differs."""
    tree = ast.parse((BROKER_CORE / path).read_text(encoding="utf-8"))
    texts = []
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="advice" | "note")], value=value) | ast.Return(value=value):
                texts += [_text(one) for one in ast.walk(value) if isinstance(one, ast.JoinedStr)] if value is not None else []
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and len(value.value) > 20:
                    texts.append(value.value)
            case ast.Raise(exc=ast.Call(func=ast.Name(id="NetworkError" | "CodecError" | "RemoteError"), args=[first, *_])):
                texts.append(_text(first))
    return [text for text in texts if len(text) > 20]


def given_to(path: Path, *names: str) -> list[str]:
    """First arguments of calls by these names, with a 7 for what differs; texts that are built elsewhere are left out."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    named = [call for call in calls if ast.unparse(call.func) in names and call.args]
    return [text for text in (_text(call.args[0]) for call in named) if len(text) > 20]


def test_a_hop_is_told_with_the_signs_of_the_language(qapp, request):
    hop = ConnectionHop(
        "Name", "h", fault="the name h cannot be resolved (Name or service not known)", advice="Give HOST:PORT."
    )
    assert hop.what_is_wrong == "the name h cannot be resolved (Name or service not known). Give HOST:PORT."
    request.getfixturevalue("chinese")
    assert "。" in hop.what_is_wrong.removesuffix("。")
    assert ". " not in hop.what_is_wrong


def test_what_searches_rules_and_key_stores_lack_is_told_in_chinese(chinese):
    root = BROKER_CORE.parent
    said = [
        text for path in sorted((BROKER_CORE / "tools" / "search").glob("*.py")) for text in given_to(path, "self._gaps.add")
    ]
    for path in sorted((root / "monitoring" / "payload").glob("*.py")):
        said += given_to(path, "UsageError")
    said += given_to(root / "gui" / "connections" / "secret_store.py", "_error")
    assert len(said) >= 30
    assert [text for text in said if not CHINESE.search(child_text(text))] == []


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_part(part) for part in node.values)
    return ""


def _part(part: ast.expr) -> str:
    match part:
        case ast.Constant(value=value):
            return str(value)
        case ast.FormattedValue(value=ast.Call(func=ast.Name(id="counted"), args=[_count, *words])):
            return counted(7, *(ast.literal_eval(word) for word in words))
    return "7"


def test_everything_that_the_doctor_says_is_told_in_chinese(chinese):
    said = said_by("tools/doctor.py")
    assert len(said) >= 12
    for text in said:
        left = set(ENGLISH_WORDS.findall(child_text(text))) - NAMES
        assert not left, (text, json.dumps(sorted(left)))
