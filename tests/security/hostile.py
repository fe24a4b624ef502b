"""Files built to do harm, made in memory: every family that parsers of documents are known to fall for."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import cache
from pathlib import Path

from ragcore.parsing import SUPPORTED_FORMATS
from tests.forms_plugin import is_full
from tests.ragcore.parsing.build import docx_bytes, lines, pdf_bytes
from tests.ragcore.parsing.office_build import odf_bytes, png_bytes, pptx_bytes, xlsx_bytes
from tests.ragcore.parsing.pack import epub_bytes, zip_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """What hostile files try to reach; a test looks afterwards whether one did."""

    url: str  # a server that must never be asked
    secret_file: Path  # a file whose content must never appear
    outside: Path  # a folder in which nothing must ever be written


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """One file. `refused`: it must end in an error; otherwise what can be read of it may be read."""

    family: str
    label: str
    name: str  # file name as uploaded
    build: Callable[[Trap], bytes] = field(repr=False)
    refused: bool = False

    @property
    def id(self) -> str:
        return f"{self.family}: {self.label}"


def made(
    family: str, label: str, name: str, content: bytes | Callable[[Trap], bytes], *, refused: bool = False
) -> Hostile:
    build = content if callable(content) else lambda _: content
    return Hostile(family=family, label=label, name=name, build=build, refused=refused)


# ── good files, to be spoiled ───────────────────────────────────────────────────────────────────


@cache
def good_files() -> dict[str, bytes]:
    """A small correct file for each ending that we can write here."""
    letter = EmailMessage()
    letter["From"], letter["To"], letter["Subject"] = "a@example.org", "b@example.org", "Limits"
    letter.set_content("The limit is 64.")
    letter.add_attachment(b"# Notes\n\nSee above.", maintype="text", subtype="markdown", filename="notes.md")
    return {
        ".docx": docx_bytes(lambda document: document.add_paragraph("The limit is 64.")),
        ".xlsx": xlsx_bytes(lambda workbook: workbook.active.append(["limit", 64])),
        ".pptx": pptx_bytes(_slide),
        ".odt": odf_bytes("text", "<text:p>The limit is 64.</text:p>"),
        ".epub": epub_bytes({"1.xhtml": "<h1>Limits</h1><p>The limit is 64.</p>"}, title="Limits"),
        ".zip": zip_bytes({"a.md": "# Limits\n\nThe limit is 64.", "b.txt": "text"}),
        ".eml": letter.as_bytes(),
        ".pdf": pdf_bytes([lines(["The limit is 64.", "It holds everywhere."])]),
        ".png": png_bytes(),
        ".html": b"<h1>Limits</h1><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
        ".md": "# 极限\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n  - two\n".encode(),
        ".csv": "名称,值\n极限,64\n".encode("gb18030"),
    }


def _slide(presentation: object) -> None:
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])  # type: ignore[attr-defined]
    slide.shapes.title.text = "The limit is 64."


def truncated(content: bytes, number: int) -> list[bytes]:
    """A file cut at every tenth; in the short form near its beginning, its middle or its end, in turn by its number."""
    tenths = range(1, 10) if is_full() else [(2, 5, 9)[number % 3]]
    return [content[: len(content) * tenth // 10] for tenth in tenths]


# ── simple families ─────────────────────────────────────────────────────────────────────────────


def random_files() -> Iterator[Hostile]:
    """Noise under every ending, plain and behind the signature that the ending promises."""
    signatures = {
        "zip": b"PK\x03\x04",
        "ole": bytes.fromhex("d0cf11e0a1b11ae1"),
        "pdf": b"%PDF-1.7\n",
        "png": b"\x89PNG\r\n\x1a\n",
    }
    kinds = {
        **dict.fromkeys((".docx", ".xlsx", ".pptx", ".odt", ".epub", ".zip"), "zip"),
        **dict.fromkeys((".msg", ".doc", ".xls", ".ppt"), "ole"),
        ".pdf": "pdf",
        ".png": "png",
    }
    for position, ending in enumerate(SUPPORTED_FORMATS):
        noise = random.Random(position).randbytes(3000)
        yield made("random", ending, f"a{ending}", noise, refused=True)
        if ending in kinds:
            yield made("random", f"{ending} signed", f"a{ending}", signatures[kinds[ending]] + noise, refused=True)
    yield from (
        made("empty", ending, f"a{ending}", b"", refused=True) for ending in (".txt", ".pdf", ".zip", ".eml", ".png")
    )


def wrong_endings() -> Iterator[Hostile]:
    good = good_files()
    pairs = [
        (".pdf", ".docx"),
        (".docx", ".pdf"),
        (".png", ".pdf"),
        (".pdf", ".txt"),
        (".zip", ".docx"),
        (".docx", ".epub"),
    ]
    pairs += [
        (".epub", ".xlsx"),
        (".png", ".html"),
        (".pdf", ".eml"),
        (".zip", ".msg"),
        (".xlsx", ".csv"),
        (".png", ".zip"),
    ]
    for actual, said in pairs:
        yield made("wrong ending", f"{actual} as {said}", f"a{said}", good[actual], refused=True)
    yield made("wrong ending", "program as .pdf", "a.pdf", b"MZ\x90\x00" + bytes(2000), refused=True)
    yield made("wrong ending", "program as .docx", "a.docx", b"\x7fELF" + bytes(2000), refused=True)


def strange_names() -> Iterator[Hostile]:
    names = {
        "right to left": "invoice\u202efdp.txt",
        "300 characters": "长" * 300 + ".txt",
        "line break": "a\nb\r.txt",
        "leads elsewhere": "../../../etc/passwd.txt",
        "absolute": "/etc/cron.d/x.txt",
        "looks like an option": "-rf --help.txt",
        "null byte": "a\x00.exe.txt",
        "quotes": "a\"'`$(touch x);.txt",
        "lone surrogate": "a\ud800.txt",
    }
    yield from (made("name", label, name, b"The limit is 64.") for label, name in names.items())


def texts() -> Iterator[Hostile]:
    yield made("text", "null bytes", "a.txt", b"The\x00 limit\x00 is 64." * 50)
    yield made("text", "broken utf-8", "a.md", b"# Limits\n\n\xff\xfe\xfa text " + b"words and more words " * 30)
    yield made("text", "half a character", "a.txt", "极限是六十四。".encode()[:-1])
    yield made("text", "odd utf-16", "a.txt", b"\xff\xfe" + "极限是六十四。".encode("utf-16-le")[:-1])
    yield made("text", "one line of 5 MB", "a.txt", b"word " * 1_000_000)
    yield made("text", "markdown line of 2 MB", "a.md", b"*a _b " * 350_000)
    yield made("text", "control characters", "a.txt", b"\x1b[2J\x07\x08" * 500, refused=True)
    yield made("text", "100 000 columns", "a.csv", b",".join([b"x"] * 100_000) + b"\n1,2\n")
    yield made("text", "quote that never ends", "a.csv", b'a,b\n"' + b"x,y\n" * 300_000)
    yield made("text", "300 000 empty rows", "a.csv", b",,\n" * 300_000, refused=True)
    yield made("text", "a cell of 3 MB", "a.csv", b"a,b\n" + b"x" * 3_000_000 + b",2\n")


def nesting() -> Iterator[Hostile]:
    yield made("nesting", "100 000 divs", "a.html", b"<div>" * 100_000 + b"deep")
    yield made("nesting", "tables in tables", "a.html", b"<table><tr><td>a<td>" * 5000 + b"deep")
    yield made("nesting", "lists in lists", "a.html", b"<ul><li>a" * 5000)
    yield made("nesting", "quotations", "a.html", b"<blockquote>a" * 3000)
    yield made("nesting", "emphasis", "a.html", b"<p>" + b"<b><i>" * 20_000 + b"deep")
    yield made("nesting", "elements that never end", "a.html", b"<a href='x" * 50_000)
    yield made(
        "nesting", "attributes", "a.html", b"<p " + b" ".join(b"a%d=1" % i for i in range(50_000)) + b">text</p>"
    )
    yield made("nesting", "spans of tables", "a.html", lambda _: _spans())
    yield made("nesting", "markdown quotations", "a.md", b">" * 50_000 + b" deep")
    yield made("nesting", "markdown lists", "a.md", b"\n".join(b"  " * i + b"- a" for i in range(500)))
    yield made("nesting", "markdown brackets", "a.md", b"[" * 100_000 + b"a" + b"]" * 100_000)
    yield made("nesting", "markdown pictures", "a.md", b"data:image/ ![" * 50_000)
    yield made("nesting", "brackets of json", "a.txt", b"[{" * 200_000)
    yield made("nesting", "parts of a message", "a.eml", lambda _: _multiparts(800))
    yield made("nesting", "messages in messages", "a.eml", lambda _: _messages(60))
    yield made("nesting", "headers of a message", "a.eml", b"To: " + b"<a@b>, " * 100_000 + b"\n\ntext")
    yield made("nesting", "folded header", "a.eml", b"Subject: x\n" + b" =?utf-8?q?a?=\n" * 30_000 + b"\ntext")
    yield made("nesting", "tables in a Word table", "a.docx", lambda _: _word_tables(150))


def _spans() -> bytes:
    cell = b"<td colspan=1000 rowspan=65534>x</td>"
    return b"<table>" + (b"<tr>" + cell * 30 + b"</tr>") * 300 + b"</table>"


def _multiparts(depth: int) -> bytes:
    opening = "".join(f'Content-Type: multipart/mixed; boundary="b{i}"\n\n--b{i}\n' for i in range(depth))
    return f"From: a@example.org\n{opening}Content-Type: text/plain\n\ndeep\n".encode()


def _messages(depth: int) -> bytes:
    return ("From: a@example.org\nContent-Type: message/rfc822\n\n" * depth + "From: a@example.org\n\ndeep\n").encode()


def _word_tables(depth: int) -> bytes:
    def write(document: object) -> None:
        holder = document  # type: ignore[assignment]
        for _ in range(depth):
            table = holder.add_table(1, 1) if holder is document else holder.add_table(1, 1)  # type: ignore[attr-defined]
            holder = table.cell(0, 0)
        holder.text = "deep"  # type: ignore[attr-defined]

    return docx_bytes(write)


# ── pictures ────────────────────────────────────────────────────────────────────────────────────


def pictures() -> Iterator[Hostile]:
    """Headers that promise 3.6 gigapixels, and small files that keep the promise."""
    side = 60_000
    gif = b"GIF89a" + struct.pack("<HH", side, side) + b"\xf7\x00\x00" + bytes(768) + b"," + bytes(4)
    gif += struct.pack("<HH", side, side) + b"\x00\x08\x02\x8c\x2d\x00\x3b"
    bmp = (
        b"BM"
        + struct.pack("<IHHI", 1000, 0, 0, 54)
        + struct.pack("<IiiHHIIiiII", 40, side, side, 1, 24, 0, 0, 0, 0, 0, 0)
    )
    tags = [(256, side), (257, side), (258, 8), (259, 1), (262, 1), (273, 8), (277, 1), (278, side), (279, 1000)]
    tiff = b"II*\x00" + struct.pack("<I", 8) + struct.pack("<H", len(tags))
    tiff += b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags) + bytes(4)
    loop = (
        b"II*\x00"
        + struct.pack("<I", 8)
        + struct.pack("<H", 1)
        + struct.pack("<HHII", 256, 4, 1, 10)
        + struct.pack("<I", 8)
    )
    yield made("pixels", "png header", "a.png", lambda _: _png(side, side, b""), refused=True)
    yield made(
        "pixels",
        "png of zeros",
        "a.png",
        lambda _: _png(30_000, 30_000, zlib.compress(bytes(30_000 * 3751), 9)),
        refused=True,
    )
    yield made("pixels", "gif header", "a.gif", gif, refused=True)
    yield made("pixels", "bmp header", "a.bmp", bmp + bytes(1000), refused=True)
    yield made("pixels", "tiff header", "a.tiff", tiff + bytes(1000))
    yield made("pixels", "tiff whose pages go in circles", "a.tiff", loop)
    yield made("pixels", "png text of 100 MB", "a.png", lambda _: _png(4, 4, zlib.compress(bytes(20)), _text_bomb()))
    yield made("pixels", "in a page", "a.html", lambda _: _embedding(_png(side, side, b"")))


def _png(width: int, height: int, data: bytes, extra: bytes = b"") -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + extra + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _text_bomb() -> bytes:
    return _chunk(b"zTXt", b"Comment\x00\x00" + zlib.compress(bytes(100_000_000), 9))


def _embedding(picture: bytes) -> bytes:
    from base64 import b64encode

    return b'<p>The limit is 64.</p><img src="data:image/png;base64,' + b64encode(picture + bytes(100)) + b'">'


# ── several formats in one ──────────────────────────────────────────────────────────────────────


def polyglots() -> Iterator[Hostile]:
    good = good_files()
    yield made("polyglot", "pdf and zip", "a.pdf", good[".pdf"] + good[".zip"])
    yield made("polyglot", "zip behind pdf as zip", "a.zip", good[".pdf"] + good[".zip"])
    yield made(
        "polyglot", "gif and html", "a.html", b"GIF89a/*<html><body><script>x()</script><p>text</p>*/", refused=True
    )
    yield made(
        "polyglot", "html and script", "a.html", b"<p>text</p><script>location='http://x/'</script><svg onload=x()>"
    )
    yield made("polyglot", "word file that is a message", "a.eml", b"From: a@example.org\n\ntext\n" + good[".docx"])
    yield made("macros", "xlsm with a program", "a.xlsm", _with_macros(good[".xlsx"], "xl"))
    yield made("macros", "docx with a program", "a.docx", _with_macros(good[".docx"], "word"))


def _with_macros(content: bytes, folder: str) -> bytes:
    from io import BytesIO
    from zipfile import ZipFile

    buffer = BytesIO(content)
    with ZipFile(buffer, "a") as archive:
        archive.writestr(f"{folder}/vbaProject.bin", b'Sub AutoOpen()\nShell "calc"\nEnd Sub' * 20)
    return buffer.getvalue()
