import pytest

from broker_core import zstandard_frames

TEXT = bytes(range(256)) * 4_000
FRAME = zstandard_frames.compress(TEXT)


@pytest.mark.parametrize("bytes_max", [0, 1, 131_072, len(TEXT) - 1, len(TEXT), len(TEXT) + 1])
def test_no_more_is_decompressed_than_the_limit(bytes_max):
    assert zstandard_frames.decompress(FRAME, bytes_max) == TEXT[:bytes_max]


def test_what_follows_the_first_frame_is_left_out():
    assert zstandard_frames.decompress(FRAME + b"rest", len(TEXT) + 1) == TEXT
    assert zstandard_frames.decompress(zstandard_frames.compress(b"") + FRAME, 10) == b""


@pytest.mark.parametrize("cut", [0, 3, len(FRAME) // 2, len(FRAME) - 1])
def test_a_frame_that_ends_early_is_an_error(cut):
    with pytest.raises(EOFError, match="too early"):
        zstandard_frames.decompress(FRAME[:cut], len(TEXT) + 1)


def test_a_damaged_frame_is_an_error():
    with pytest.raises(ValueError, match=r"[Zz]std|frame|corrupt"):
        zstandard_frames.decompress(b"no frame at all", 10)
