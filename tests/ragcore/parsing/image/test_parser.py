from __future__ import annotations

import struct

import pytest
from PIL import Image

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, ResourceLimitError
from ragcore.parsing.image.parser import ImageParser
from tests.ragcore.ocr.drawing import encoded

PICTURE = Image.new("RGB", (60, 40), "white")


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("WEBP", "image/webp"),
        ("BMP", "image/bmp"),
        ("TIFF", "image/tiff"),
        ("GIF", "image/gif"),
    ],
)
def test_a_picture_is_kept_as_it_is_and_shown_by_a_block(kind, media_type):
    content = encoded(PICTURE, kind)

    document = ImageParser().parse(content, name="a.png")

    picture = document.pictures[0]
    assert (picture.media_type, picture.content) == (media_type, content)
    assert [(block.kind, block.text) for block in document.blocks] == [("image", f"![](picture:{picture.name})")]


def test_what_is_no_picture_is_corrupt():
    with pytest.raises(CorruptDocumentError):
        ImageParser().parse(b"MZ not a picture", name="a.png")
    with pytest.raises(EmptyDocumentError):
        ImageParser().parse(b"", name="a.png")


def test_a_picture_that_is_cut_off_in_its_header_is_corrupt():
    with pytest.raises(CorruptDocumentError):
        ImageParser().parse(encoded(PICTURE)[:17], name="a.png")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP"])
def test_a_picture_that_would_decode_to_too_much_is_refused_by_its_header(kind):
    content = bytearray(encoded(PICTURE, kind))
    sizes = {"PNG": (16, ">II"), "GIF": (6, "<HH"), "BMP": (18, "<ii")}
    if kind == "JPEG":
        at, layout = content.index(b"\xff\xc0") + 5, ">HH"
    else:
        at, layout = sizes[kind]
    struct.pack_into(layout, content, at, 30_000, 30_000)

    with pytest.raises(ResourceLimitError):
        ImageParser().parse(bytes(content), name="a.png")
