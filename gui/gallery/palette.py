"""Pictures of 256 colours: a third of the bytes of a PNG in true colour, and the eye sees no difference in a window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QImage

COLOURS = 256
FREQUENT = 96
"""Colours chosen by frequency; the others by their distance from those chosen."""
Channels = npt.NDArray[np.int64]


def with_palette(image: QImage) -> QImage:
    """A copy of ``image`` in at most `COLOURS` colours."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint32)
    colours, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    channels = np.stack([(colours >> shift) & 0xFF for shift in (16, 8, 0)], axis=1).astype(np.int64)
    palette, nearest = _palette(channels, counts)
    rows = nearest[places].astype(np.uint8).tobytes()
    reduced = QImage(rows, image.width(), image.height(), image.width(), QImage.Format.Format_Indexed8)
    reduced.setColorTable([int(colours[place]) for place in palette])
    return reduced.copy()  # `rows` ends with this function


def _palette(channels: Channels, counts: npt.NDArray[np.int64]) -> tuple[list[int], npt.NDArray[np.int64]]:
    """Places of the colours to keep, and for each colour the number of the nearest one kept."""
    distance = np.full(len(channels), np.iinfo(np.int64).max)
    nearest = np.zeros(len(channels), np.int64)
    kept: list[int] = []
    frequent = np.argsort(-counts, kind="stable")[:FREQUENT]
    for number in range(min(COLOURS, len(channels))):
        place = int(frequent[number]) if number < len(frequent) else int(np.argmax(distance * np.sqrt(counts)))
        to_this = ((channels - channels[place]) ** 2).sum(axis=1)
        closer = to_this < distance
        distance[closer], nearest[closer] = to_this[closer], number
        kept.append(place)
    return kept, nearest
