"""The pictures of README.md: those that it shows are those that `orbit gallery --readme` takes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QImage, qRgb

from gui.gallery.palette import COLOURS, with_palette
from gui.gallery.readme import PICTURES, picture_folder
from gui.views.registry import PAGES

README = Path(__file__).resolve().parents[2] / "README.md"
BYTES_MAX = 1_500_000


def test_the_readme_shows_every_picture_that_is_taken_and_no_other():
    shown = re.findall(r"docs/pictures/([\w-]+)\.png", README.read_text(encoding="utf-8"))
    assert sorted(set(shown)) == sorted(picture.name for picture in PICTURES)


def test_the_folder_holds_these_pictures_and_they_are_small():
    files = list(picture_folder().iterdir())
    assert {file.name for file in files} == {f"{picture.name}.png" for picture in PICTURES}
    assert sum(file.stat().st_size for file in files) < BYTES_MAX


def test_every_picture_is_of_a_page():
    assert {picture.page_id for picture in PICTURES} <= {entry.page_id for entry in PAGES}


def test_the_pictures_show_both_themes_and_both_languages():
    assert {picture.look.theme for picture in PICTURES} == {"light", "dark"}
    assert {picture.look.language for picture in PICTURES} == {"en", "zh"}


def test_a_picture_of_few_colours_keeps_all_of_them(qapp):
    image = QImage(16, 9, QImage.Format.Format_RGB32)
    image.fill(qRgb(10, 20, 30))
    image.setPixel(3, 4, qRgb(200, 0, 7))
    reduced = with_palette(image)
    assert reduced.convertToFormat(QImage.Format.Format_RGB32) == image


def test_a_picture_of_many_colours_has_a_palette_and_stays_alike(qapp):
    image = QImage(64, 64, QImage.Format.Format_RGB32)
    for x in range(64):
        for y in range(64):
            image.setPixel(x, y, qRgb(x * 4, y * 4, 0))
    reduced = with_palette(image)
    assert reduced.colorCount() == COLOURS
    off = [abs(image.pixelColor(x, y).red() - reduced.pixelColor(x, y).red()) for x in range(0, 64, 7) for y in range(0, 64, 7)]
    assert np.max(off) <= 16


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_a_picture_has_the_size_of_the_window(qapp, picture):
    image = QImage(str(picture_folder() / f"{picture.name}.png"))
    assert (image.width(), image.height()) == (1_440, 900)
