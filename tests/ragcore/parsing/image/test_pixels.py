from __future__ import annotations

import json
import struct
import zlib

import pytest
from PIL import Image, ImageDraw

from ragcore.errors import CorruptDocumentError, ResourceLimitError
from ragcore.parsing.image import pixels
from ragcore.parsing.image.pixels import decode_in_sandbox, render_in_batches, render_in_sandbox
from tests.ragcore.ocr.drawing import encoded
from tests.ragcore.parsing.build import lines, pdf_bytes

TWO_PAGES = pdf_bytes([lines(["one"], x=0, y=10), lines(["two"], x=500, y=800)])


def corner(kind: str = "RGB") -> Image.Image:
    """A white picture whose upper left quarter is black."""
    picture = Image.new("RGB", (80, 40), "white")
    ImageDraw.Draw(picture).rectangle((0, 0, 39, 19), fill="black")
    return picture.convert(kind)


def grey_at(frame, x: int, y: int) -> int:
    return frame.pixels.data[y * frame.pixels.width + x]


def dark(frame) -> set[tuple[bool, bool]]:
    """Quarters (right, lower) of a picture that have something dark in them."""
    width, height = frame.pixels.width, frame.pixels.height
    return {
        (at % width >= width / 2, at // width >= height / 2)
        for at, value in enumerate(frame.pixels.data)
        if value < 150
    }


def test_pages_are_rendered_at_the_size_asked_for():
    frames = render_in_sandbox(TWO_PAGES, name="a.pdf", pages=[2, 1], max_side_pixels=421)

    assert [frame.page for frame in frames] == [2, 1]
    assert [dark(frame) for frame in frames] == [{(True, True)}, {(False, False)}]
    assert frames[0].pixels.height <= 421
    assert frames[0].scale == pytest.approx(0.5, rel=0.01)
    assert len(frames[0].pixels.data) == frames[0].pixels.width * frames[0].pixels.height


def test_pages_that_do_not_exist_are_left_out():
    assert [frame.page for frame in render_in_sandbox(TWO_PAGES, name="a.pdf", pages=[0, 2, 9])] == [2]


def test_any_number_of_pages_is_rendered_in_batches(monkeypatch):
    monkeypatch.setattr(pixels, "PAGES_A_BATCH", 1)

    assert [frame.page for frame in render_in_batches(TWO_PAGES, name="a.pdf", pages=[1, 2])] == [1, 2]
    with pytest.raises(ValueError, match="at most 1"):
        render_in_sandbox(TWO_PAGES, name="a.pdf", pages=[1, 2])


def test_a_page_that_brings_the_process_down_costs_only_itself(monkeypatch):
    original = pixels.run_in_sandbox

    def run(module, source, target, *, order, **others):
        if 1 in order["pages"]:
            raise ResourceLimitError
        return original(module, source, target, order=order, **others)

    monkeypatch.setattr(pixels, "run_in_sandbox", run)

    assert [frame.page for frame in render_in_batches(TWO_PAGES, name="a.pdf", pages=[1, 2])] == [2]


def test_a_file_that_cannot_be_rendered_is_corrupt():
    with pytest.raises(CorruptDocumentError):
        render_in_sandbox(b"no PDF", name="a.pdf", pages=[1])


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF"])
def test_every_format_is_decoded(kind):
    (frames,) = decode_in_sandbox([encoded(corner(), kind)])

    assert frames is not None
    assert (frames[0].pixels.width, frames[0].pixels.height, frames[0].scale) == (80, 40, 1.0)
    assert dark(frames[0]) == {(False, False)}


@pytest.mark.parametrize("mode", ["1", "L", "P", "CMYK", "I;16", "I"])
def test_every_kind_of_colour_becomes_grey(mode):
    kind = "JPEG" if mode == "CMYK" else "TIFF" if mode == "I" else "PNG"
    picture = corner("L") if mode.startswith("I") else corner(mode)
    content = encoded(picture.convert("I").point(lambda value: value * 200) if mode == "I" else picture, kind)
    if mode == "I;16":
        content = encoded(picture.convert("I;16"), "PNG")

    (frames,) = decode_in_sandbox([content])

    assert dark(frames[0]) == {(False, False)}
    assert grey_at(frames[0], 70, 30) > 200


def test_what_is_transparent_is_white():
    picture = Image.new("RGBA", (80, 40), (0, 0, 0, 0))
    ImageDraw.Draw(picture).rectangle((0, 0, 39, 19), fill=(0, 0, 0, 255))

    (frames,) = decode_in_sandbox([encoded(picture)])

    assert dark(frames[0]) == {(False, False)}


def test_a_photo_stands_as_the_camera_was_held():
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise by 90 degrees

    (frames,) = decode_in_sandbox([encoded(corner(), "JPEG", exif=exif)])

    assert (frames[0].pixels.width, frames[0].pixels.height) == (40, 80)
    assert dark(frames[0]) == {(True, False)}


def test_large_pictures_are_made_smaller():
    (frames,) = decode_in_sandbox([encoded(corner().resize((800, 400)))], max_side_pixels=100)

    assert (frames[0].pixels.width, frames[0].pixels.height) == (100, 50)
    assert frames[0].scale == pytest.approx(1 / 8)


def test_all_pages_of_a_tiff_and_the_first_frame_of_an_animation_are_read():
    other = Image.new("RGB", (80, 40), "black")
    tiff = encoded(corner(), "TIFF", save_all=True, append_images=[other])
    animation = encoded(corner(), "GIF", save_all=True, append_images=[other])

    pages, frames = decode_in_sandbox([tiff, animation])

    assert [page.page for page in pages] == [1, 2]
    assert [dark(page) for page in pages] == [{(False, False)}, {(x, y) for x in (False, True) for y in (False, True)}]
    assert len(frames) == 1


def test_what_cannot_be_decoded_costs_only_itself():
    good = encoded(corner())

    found = decode_in_sandbox([b"no picture", good, good[: len(good) // 2], b""])

    assert [frames is not None for frames in found] == [False, True, False, False]


def test_a_picture_that_unpacks_to_too_much_is_not_decoded():
    assert decode_in_sandbox([png_of(20_000, 20_000), encoded(corner())])[0] is None


def png_of(width: int, height: int) -> bytes:
    """A PNG of a few kilobytes that claims to be huge."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(width + 1) * 50)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"{}\n",
        b"[1]\n",
        json.dumps({"frames": [{"page": 1, "width": 9, "height": 9, "channels": 1, "scale": 1}]}).encode() + b"\nshort",
        json.dumps({"frames": [{"page": 1, "width": 10**6, "height": 1, "channels": 1, "scale": 1}]}).encode() + b"\n",
    ],
)
def test_an_answer_of_a_decoder_that_went_mad_is_refused(monkeypatch, answer):
    monkeypatch.setattr(pixels, "run_in_sandbox", lambda *arguments, **options: answer)

    with pytest.raises(CorruptDocumentError):
        render_in_sandbox(TWO_PAGES, name="a.pdf", pages=[1])
