"""Texts of commands in locales whose encoding lacks their characters."""

import io
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.children import environment, main_command
from broker_core.output import settle, terminal_encoding
from tests.support.store_writer import StoreWriter

TOPIC, KEY = "orders", "商品-ü-😀"
LOCALES = {"zh_CN.GBK": ("zh_CN", "GBK"), "en_US.ISO-8859-1": ("en_US", "ISO-8859-1")}
MAIN = Path(__file__).resolve().parents[2] / "main.py"


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_utf8_and_what_is_no_character_as_an_escape():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    settle(stream)
    stream.write("商😀\ud800\udcff")
    stream.flush()
    assert stream.buffer.getvalue() == "商😀\\ud800\\udcff".encode()


def test_a_terminal_gets_its_own_encoding(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("locale.getencoding", lambda: "GBK")
    stream = io.TextIOWrapper(Terminal(), encoding="utf-8")
    settle(stream)
    stream.write("商😀")
    stream.flush()
    assert stream.buffer.getvalue() == "商".encode("gbk") + b"\\U0001f600"


@pytest.mark.parametrize(
    ("of_locale", "encoding"), [("ANSI_X3.4-1968", "utf-8"), ("no such thing", "utf-8"), ("ISO-8859-1", "iso8859-1")]
)
def test_a_terminal_without_an_encoding_of_its_own_gets_utf8(of_locale: str, encoding: str):
    assert terminal_encoding(of_locale) == encoding


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with locales of other encodings."""
    if shutil.which("localedef") is None or not Path("/usr/share/i18n/charmaps").is_dir():
        pytest.skip("localedef and its tables make the locales of this test")
    folder = tmp_path_factory.mktemp("locales")
    for name, (of, charmap) in LOCALES.items():
        # It warns, with code 1, of what an encoding lacks.
        subprocess.run(["localedef", "-c", "-i", of, "-f", charmap, folder / name], check=False, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("of-messages") / "Bücher 商店"
    writer = StoreWriter(root)
    writer.append(TOPIC, KEY.encode(), {"KEYS": KEY})
    writer.flush()
    return root


@pytest.mark.environment
@pytest.mark.parametrize("name", [*LOCALES, "C"])
@pytest.mark.parametrize("words", [("search", "size > 0", "--store"), ("store", "dump")])
def test_a_command_prints_its_rows_in_every_locale(locales: Path, store: Path, name: str, words: tuple[str, ...]):
    more = {"LC_ALL": name, "LOCPATH": str(locales)}
    for command in (main_command(*words, str(store)), [sys.executable, str(MAIN), *words, str(store)]):
        done = subprocess.run(command, env=environment() | more, capture_output=True, check=False, timeout=60)
        assert (done.returncode, KEY.encode() in done.stdout, b"Traceback" in done.stderr) == (0, True, False), done.stderr


@pytest.mark.environment
def test_a_terminal_of_another_encoding_shows_what_it_can(locales: Path, store: Path):
    ours, theirs = pty.openpty()
    more = {"LC_ALL": "zh_CN.GBK", "LOCPATH": str(locales)}
    command = main_command("search", "size > 0", "--store", str(store))
    done = subprocess.run(command, env=environment() | more, stdout=theirs, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert done.returncode == 0, done.stderr
    assert "商品-ü-".encode("gbk") in shown
    assert b"\\U0001f600" in shown
