from __future__ import annotations

import ast
import re

import pytest

from gui.theme.icons import MissingIconError, application_icon, icon, icon_pixmap, logo_pixmap
from gui.views.registry import PAGES
from resources import RESOURCE_FOLDER

ROOT = RESOURCE_FOLDER.parent


def quoted_words(wanted: list[str]) -> set[str]:
    """Every string literal of the modules that have one of the wanted words."""
    words: set[str] = set()
    has_one = re.compile(f'"({"|".join(map(re.escape, wanted))})"')
    for package in ("gui", "spark_reports"):
        for path in (ROOT / package).rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            tree = ast.parse(source if has_one.search(source) else "")
            words |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return words


def names(folder: str) -> list[str]:
    return sorted(path.stem for path in (RESOURCE_FOLDER / "icons" / folder).glob("*.svg"))


def test_only_icons_that_are_used_ship():
    icons = names("regular")
    assert set(icons) - quoted_words(icons) == set()


def test_every_page_has_both_variants_of_its_icon(qapp):
    for entry in PAGES:
        assert not icon_pixmap(entry.icon, "#6AA0FF", 17).isNull()
        assert not icon_pixmap(entry.icon, "#6AA0FF", 17, filled=True).isNull()


@pytest.mark.parametrize("name", names("regular"))
def test_an_icon_is_painted_in_its_colour(qapp, name):
    picture = icon_pixmap(name, "#FF6B73", 48).toImage()
    solid = [picture.pixelColor(x, y) for x in range(48) for y in range(48) if picture.pixelColor(x, y).alpha() == 255]
    assert solid
    assert {colour.name().upper() for colour in solid} == {"#FF6B73"}


def test_an_unknown_icon_is_named(qapp):
    with pytest.raises(MissingIconError, match="no-such-icon"):
        icon("no-such-icon", "#FFFFFF")


def test_the_mark_of_the_program(qapp):
    assert not application_icon().isNull()
    assert not logo_pixmap(44, "#6AA0FF", "#F5924E").isNull()


def test_icons_come_with_their_licence():
    assert "MIT License" in (RESOURCE_FOLDER / "icons" / "LICENSE-phosphor.txt").read_text(encoding="utf-8")
