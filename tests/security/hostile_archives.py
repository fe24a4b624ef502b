"""Archives that unpack to too much, write elsewhere, or contain themselves."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile, ZipInfo

from tests.ragcore.parsing.build import part, with_part
from tests.ragcore.parsing.pack import epub_bytes, zip_bytes
from tests.security.hostile import Hostile, Trap, good_files, made

MIB = 1 << 20
_MAIN_PARTS = {
    ".docx": "word/document.xml",
    ".xlsx": "xl/worksheets/sheet1.xml",
    ".pptx": "ppt/slides/slide1.xml",
    ".odt": "content.xml",
    ".epub": "OEBPS/1.xhtml",
}


def archives() -> Iterator[Hostile]:
    yield from _bombs()
    yield from _packages()
    yield from _elsewhere()
    yield made("archive", "locked", "a.zip", lambda _: _locked(), refused=True)
    yield made("archive", "nothing inside", "a.zip", lambda _: zip_bytes({}), refused=True)
    yield made(
        "archive",
        "names that deceive",
        "a.zip",
        zip_bytes({"a\u202etxt.exe": "x", "b" * 300 + ".txt": "text", "c\nd.txt": "t"}),
    )
    yield made("archive", "the same name twice", "a.zip", lambda _: _twice())
    yield made("archive", "holds its own directory", "a.zip", lambda _: _holds_itself())
    yield made("archive", "comment of 64 KB", "a.zip", lambda _: _commented())


def _bombs() -> Iterator[Hostile]:
    yield made("bomb", "flat", "a.zip", lambda _: flat(), refused=True)
    yield made(
        "bomb", "many members", "a.zip", lambda _: zip_bytes({f"{i}.txt": "" for i in range(6000)}), refused=True
    )
    yield made("bomb", "nested", "a.zip", lambda _: zip_bytes({f"{i}.zip": flat() for i in range(10)}), refused=True)
    yield made("bomb", "twenty levels", "a.zip", lambda _: _levels(20), refused=True)
    yield made("bomb", "overlapping", "a.zip", lambda _: _overlapping(300), refused=True)
    yield made("bomb", "size that lies", "a.zip", lambda _: _lying(flat()), refused=True)
    yield made(
        "bomb", "bzip2", "a.zip", lambda _: zip_bytes({"a.txt": bytes(60 * MIB)}, compression=ZIP_BZIP2), refused=True
    )
    yield made(
        "bomb", "lzma", "a.zip", lambda _: zip_bytes({"a.txt": bytes(60 * MIB)}, compression=ZIP_LZMA), refused=True
    )
    yield made("bomb", "attached", "a.eml", lambda _: _attached(flat()), refused=True)


@cache
def flat() -> bytes:
    """60 MiB of zeros in 60 KiB."""
    return zip_bytes({"a.txt": bytes(60 * MIB)})


def _packages() -> Iterator[Hostile]:
    """Office files and books whose main part, or a part that nobody needs, unpacks without end."""
    for ending in _MAIN_PARTS:
        yield made("bomb", f"main part of {ending}", f"a{ending}", lambda _, ending=ending: _swollen(ending))
        yield made("bomb", f"spare part of {ending}", f"a{ending}", lambda _, ending=ending: _burdened(ending))


def _swollen(ending: str) -> bytes:
    name = _MAIN_PARTS[ending]
    main = part(good_files()[ending], name)
    end = main.rindex(b"<")
    return with_part(good_files()[ending], name, main[:end] + b" " * (60 * MIB) + main[end:])


def _burdened(ending: str) -> bytes:
    return with_member(good_files()[ending], "media/a.xml", bytes(60 * MIB))


def _elsewhere() -> Iterator[Hostile]:
    paths: dict[str, Callable[[Trap], str]] = {
        "climbs": lambda trap: "../" * 12 + f"{trap.outside}/evil.txt",
        "absolute": lambda trap: f"{trap.outside}/evil.txt",
        "drive": lambda _: "C:\\evil.txt",
        "backslashes": lambda _: "..\\..\\evil.txt",
        "hidden climb": lambda _: "a/b/../../../evil.txt",
    }
    for label, path in paths.items():
        yield made("escape", label, "a.zip", lambda trap, path=path: zip_bytes({path(trap): "evil"}), refused=True)
    yield made("escape", "link to a secret", "a.zip", lambda trap: _linked(str(trap.secret_file)), refused=True)
    yield made("escape", "through a linked folder", "a.zip", lambda trap: _linked(str(trap.outside), "link/evil.txt"))
    for ending in (".docx", ".epub"):
        yield made(
            "escape",
            f"part of {ending}",
            f"a{ending}",
            lambda trap, ending=ending: _climbing(ending, trap),
            refused=True,
        )
    yield made("escape", "picture of a book", "a.epub", lambda trap: _reaching(trap))


def _climbing(ending: str, trap: Trap) -> bytes:
    return with_member(good_files()[ending], "../" * 12 + f"{trap.outside}/evil.xml", b"<a/>")


def _reaching(trap: Trap) -> bytes:
    path = "../" * 12 + str(trap.secret_file).lstrip("/")
    return epub_bytes({"1.xhtml": f'<p>text</p><img src="{path}" alt="x"/><img src="file://{trap.secret_file}"/>'})


def _levels(depth: int) -> bytes:
    content = zip_bytes({"a.txt": "deep"})
    for _ in range(depth):
        content = zip_bytes({"a.zip": content}, compression=ZIP_STORED)
    return content


def _overlapping(count: int) -> bytes:
    """All entries of the directory name the one member that there is."""
    one = zip_bytes({"a.txt": bytes(MIB)})
    start = one.index(b"PK\x01\x02")
    entry, end = one[start : one.index(b"PK\x05\x06")], one[one.index(b"PK\x05\x06") :]
    directory = b"".join(entry.replace(b"a.txt", b"%05d" % i) for i in range(count))
    fixed = bytearray(end)
    struct.pack_into("<HHII", fixed, 8, count, count, len(directory), start)
    return one[:start] + directory + bytes(fixed)


def _lying(content: bytes) -> bytes:
    lying = bytearray(content)
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", lying, content.index(mark) + offset, 10)
    return bytes(lying)


def _locked() -> bytes:
    locked = bytearray(zip_bytes({"a.txt": "text"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(mark) + offset] |= 1
    return bytes(locked)


def _linked(target: str, through: str = "") -> bytes:
    link = ZipInfo("link" if through else "link.txt")
    link.external_attr = 0o120777 << 16
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        archive.writestr(link, target)
        if through:
            archive.writestr(through, "evil")
    return buffer.getvalue()


def _twice() -> bytes:
    return zip_bytes({"a.txt": "first", "b.txt": "second"}).replace(b"b.txt", b"a.txt")


def _holds_itself() -> bytes:
    """A stored member whose bytes are the directory that lists it: reading it gives the archive again."""
    name = b"a.zip"
    entry = struct.pack(
        "<4sBBHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0
    )
    size = len(entry) + len(name) + 22
    for _ in range(2):
        head = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 20, 0, 0, 0, 0, 0, size, size, len(name), 0) + name
        entry = struct.pack(
            "<4sBBHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 0, size, size, len(name), 0, 0, 0, 0, 0, 0
        )
        end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry) + len(name), len(head), 0)
    return head + entry + name + end


def _commented() -> bytes:
    buffer = BytesIO(zip_bytes({"a.txt": "text"}))
    with ZipFile(buffer, "a") as archive:
        archive.comment = b"PK\x05\x06" * 16_000
    return buffer.getvalue()


def _attached(archive: bytes) -> bytes:
    from email.message import EmailMessage

    letter = EmailMessage()
    letter["From"] = "a@example.org"
    letter.set_content("See the attachment.")
    letter.add_attachment(archive, maintype="application", subtype="zip", filename="a.zip")
    return letter.as_bytes()


def with_member(content: bytes, name: str, data: bytes) -> bytes:
    """A package with one more member."""
    buffer = BytesIO(content)
    with ZipFile(buffer, "a", ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return buffer.getvalue()
