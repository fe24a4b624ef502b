"""PDF files whose objects lead in circles, promise too much, or want to run programs."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

from tests.ragcore.parsing.build import lines, pdf_bytes
from tests.security.hostile import Hostile, Trap, made

_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
_TEXT = b"BT /F1 12 Tf 72 700 Td (The limit is 64.) Tj ET"


def pdfs() -> Iterator[Hostile]:
    yield made(
        "pdf",
        "page tree in a circle",
        "a.pdf",
        lambda _: _pdf([_CATALOG, b"<</Type/Pages/Count 1/Kids[2 0 R]>>"]),
        refused=True,
    )
    yield made("pdf", "pages that are each other", "a.pdf", lambda _: _mutual(), refused=True)
    yield made("pdf", "blank page and page tree in a circle", "a.pdf", lambda _: _blank_circle(), refused=True)
    yield made("pdf", "page tree in a circle without a table", "a.pdf", lambda _: _untabled_circle(), refused=True)
    yield made("pdf", "table in a circle", "a.pdf", lambda _: _circular_table())
    yield made("pdf", "a billion pages", "a.pdf", lambda _: _page(count=1_000_000_000))
    yield made("pdf", "one page 100 000 times", "a.pdf", lambda _: _repeated(100_000))
    yield made("pdf", "page of a billion points", "a.pdf", lambda _: _page(box=b"0 0 1000000000 1000000000"))
    yield made("pdf", "page without a size", "a.pdf", lambda _: _page(box=b"0 0 0 0"))
    yield made("pdf", "content that unpacks without end", "a.pdf", lambda _: _stream_bomb(1))
    yield made("pdf", "content packed three times", "a.pdf", lambda _: _stream_bomb(3))
    yield made("pdf", "object stream that unpacks without end", "a.pdf", lambda _: _object_stream(), refused=True)
    yield made("pdf", "form that draws itself", "a.pdf", lambda _: _self_drawing())
    yield made("pdf", "arrays in arrays", "a.pdf", lambda _: _page(extra=b"/X " + b"[" * 100_000 + b"]" * 100_000))
    yield made(
        "pdf",
        "text that is drawn a million times",
        "a.pdf",
        _page(content=b"BT /F1 1 Tf " + b"(x) Tj " * 1_000_000 + b"ET"),
    )
    yield made("pdf", "a million lines", "a.pdf", lambda _: _page(content=_TEXT + b" 1 1 m 2 2 l S" * 300_000))
    yield made("pdf", "picture of 3.6 gigapixels", "a.pdf", lambda _: _huge_picture())
    yield made("pdf", "script and programs", "a.pdf", _scripted)
    yield made(
        "pdf", "locked", "a.pdf", lambda _: pdf_bytes([lines(["The limit is 64."])], encrypt="secret"), refused=True
    )
    yield made("pdf", "unknown lock", "a.pdf", lambda _: _page(trailer=b"/Encrypt<</Filter/X/V 9>>"), refused=True)


_CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"


def _pdf(objects: Sequence[bytes], *, trailer: bytes = b"") -> bytes:
    """A file of these objects, numbered from 1, the first one the catalogue."""
    body, places = b"%PDF-1.7\n", []
    for number, data in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, data)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    table += b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return body + table + b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, len(body))


def _stream(data: bytes, head: bytes = b"") -> bytes:
    return b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(data), head, data)


def _page(
    *,
    content: bytes = _TEXT,
    count: int = 1,
    box: bytes = b"0 0 595 842",
    extra: bytes = b"",
    trailer: bytes = b"",
    head: bytes = b"",
    more: Sequence[bytes] = (),
    resources: bytes = b"",
) -> bytes:
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>%s>>%s>>"
    pages = b"<</Type/Pages/Count %d/Kids[3 0 R]>>" % count
    return _pdf(
        [_CATALOG, pages, page % (box, resources, extra), _stream(content, head), _FONT, *more], trailer=trailer
    )


def _mutual() -> bytes:
    first = b"<</Type/Pages/Count 1/Kids[3 0 R]/Parent 3 0 R>>"
    return _pdf([_CATALOG, first, b"<</Type/Pages/Count 1/Kids[2 0 R]/Parent 2 0 R>>"])


def _blank_circle() -> bytes:
    pages = b"<</Type/Pages/Count 3/Kids[3 0 R 2 0 R 4 0 R]>>"
    inner = b"<</Type/Pages/Count 1/Kids[2 0 R]/Parent 2 0 R>>"
    return _pdf([_CATALOG, pages, b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>", inner])


def _untabled_circle() -> bytes:
    return b"%%PDF-1.7\n1 0 obj%sendobj 2 0 obj<</Type/Pages/Count 1/Kids[2 0 R]>>endobj\n" % _CATALOG


def _circular_table() -> bytes:
    content = _page()
    place = content.rindex(b"xref\n0")
    return _page(trailer=b"/Prev %d" % place)


def _repeated(count: int) -> bytes:
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    pages = b"<</Type/Pages/Count %d/Kids[%s]>>" % (count, b"3 0 R " * count)
    return _pdf([_CATALOG, pages, page, _stream(_TEXT), _FONT])


def _stream_bomb(layers: int) -> bytes:
    data = _packed(_TEXT)
    for _ in range(layers - 1):
        data = zlib.compress(data, 9)
    return _page(content=data, head=b"/Filter[%s]" % (b"/FlateDecode" * layers))


def _packed(start: bytes) -> bytes:
    """A beginning and 200 MB of blanks, compressed piece by piece so that the test itself stays small."""
    packer, blanks = zlib.compressobj(9), b" " * 1_000_000
    return packer.compress(start) + b"".join(packer.compress(blanks) for _ in range(200)) + packer.flush()


def _object_stream() -> bytes:
    packed = _packed(b"2 0 ")
    return _pdf([_CATALOG, _stream(packed, b"/Type/ObjStm/N 1000000/First 4/Filter/FlateDecode")])


def _self_drawing() -> bytes:
    form = _stream(b"/X Do /X Do", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>")
    return _page(content=_TEXT + b" /X Do", resources=b"/XObject<</X 6 0 R>>", more=[form])


def _huge_picture() -> bytes:
    picture = _stream(
        zlib.compress(bytes(1000)),
        b"/Type/XObject/Subtype/Image/Width 60000/Height 60000/ColorSpace/DeviceRGB"
        b"/BitsPerComponent 8/Filter/FlateDecode",
    )
    return _page(content=_TEXT + b" q 500 0 0 500 0 0 cm /X Do Q", resources=b"/XObject<</X 6 0 R>>", more=[picture])


def _scripted(trap: Trap) -> bytes:
    script = b"app.launchURL('%s/js');" % trap.url.encode()
    actions = b"/AA<</O<</S/URI/URI(%s/uri)>>>>" % trap.url.encode()
    launch = b"/Annots[<</Subtype/Link/Rect[0 0 9 9]/A<</S/Launch/F(/bin/sh)>>>>]"
    opening = b"<</Type/Catalog/Pages 2 0 R/OpenAction<</S/JavaScript/JS(%s)>>>>" % script
    return _page(extra=actions + launch).replace(_CATALOG, opening)
