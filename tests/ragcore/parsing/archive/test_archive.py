from __future__ import annotations

import struct
from base64 import b64encode
from io import BytesIO
from zipfile import ZIP_LZMA, ZIP_STORED, ZipFile, ZipInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, PasswordProtectedError, UnsafeArchiveError
from ragcore.parsing import parse
from ragcore.parsing.archive.parser import archive_members, unpack_in_sandbox
from ragcore.parsing.archive.safe_zip import ArchiveLimits, clean_name
from ragcore.parsing.sandbox.process import SandboxLimits
from tests.ragcore.parsing.pack import PNG, zip_bytes, zip_with_raw_names

INNER = zip_bytes({"deep/x.txt": "inner text", "b.exe": b"MZ"})
SMALL = ArchiveLimits(members=5, total_bytes=100_000, member_bytes=60_000, ratio=10, ratio_from_bytes=50_000)


def test_members_become_sections_in_the_order_of_their_paths():
    content = zip_bytes({"b.md": "# Head\n\ntext", "a/page.html": "<h2>Page</h2><p>words</p>", "in.zip": INNER})

    document = parse(content, name="manuals.zip")

    assert [(block.kind, block.level, block.text) for block in document.blocks] == [
        ("heading", 1, "a/page.html"),
        ("heading", 3, "Page"),
        ("paragraph", 0, "words"),
        ("heading", 1, "b.md"),
        ("heading", 2, "Head"),
        ("paragraph", 0, "text"),
        ("heading", 1, "in.zip"),
        ("heading", 2, "deep/x.txt"),
        ("paragraph", 0, "inner text"),
        ("paragraph", 0, "Files that could not be read: b.exe (unsupported format)."),
    ]
    assert document.title == "manuals"


def test_what_could_not_be_read_is_said_in_words_and_for_programs():
    document = parse(zip_bytes({"a.txt": "text", "b.exe": b"MZ", "c.docx": b"no word file"}), name="a.zip")

    assert document.metadata == {"skipped": "b.exe: unsupported_format\nc.docx: corrupt_document"}
    assert document.blocks[-1].text.startswith("Files that could not be read: b.exe (unsupported format), c.docx")


def test_what_operating_systems_leave_behind_is_not_even_mentioned():
    junk = {"__MACOSX/._a.txt": b"x", ".DS_Store": b"x", "b/Thumbs.db": b"x", "._a.txt": b"x", "folder/": b""}

    document = parse(zip_bytes({"a.txt": "text", **junk}), name="a.zip")

    assert [block.text for block in document.blocks] == ["a.txt", "text"]


def test_pictures_of_members_keep_apart():
    page = f'<p>see <img src="data:image/png;base64,{b64encode(PNG).decode()}" alt="p"></p>'

    document = parse(zip_bytes({"a.html": page, "b.html": page}), name="a.zip")

    assert [picture.name for picture in document.pictures] == ["part1-picture-1.png", "part2-picture-1.png"]
    assert "![p](picture:part2-picture-1.png)" in document.blocks[3].text


@pytest.mark.parametrize("encoding", ["gbk", "utf-8", "big5"])
def test_names_in_the_encoding_of_the_country_are_repaired(encoding):
    names = ["說明文件與資料" if encoding == "big5" else "参数配置说明", "第二章 系統的使用"]
    content = zip_with_raw_names({f"{name}.txt".encode(encoding): b"text" for name in names if _fits(name, encoding)})

    found = [member.path for member in archive_members(content, name="a.zip")]

    assert sorted(found) == sorted(f"{name}.txt" for name in names if _fits(name, encoding))


def _fits(name: str, encoding: str) -> bool:
    try:
        name.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def test_western_names_stay_western():
    content = zip_with_raw_names({"Übersicht.txt".encode("cp437"): b"text"})

    assert archive_members(content, name="a.zip")[0].path == "Übersicht.txt"


@pytest.mark.parametrize(
    "path",
    [
        "../evil.txt",
        "a/../../evil.txt",
        "/etc/evil.txt",
        "C:\\evil.txt",
        "c:/evil.txt",
        "..\\evil.txt",
        "\\\\host\\x.txt",
    ],
)
def test_names_that_lead_out_of_the_archive_are_refused(path):
    content = zip_bytes({"good.txt": "text", path: "evil"})

    for read in (parse, archive_members, unpack_in_sandbox):
        with pytest.raises(UnsafeArchiveError):
            read(content, name="a.zip")


def test_links_are_not_followed():
    link = ZipInfo("link.txt")
    link.external_attr = 0o120777 << 16
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("a.txt", "text")

    assert [member.path for member in archive_members(buffer.getvalue(), name="a.zip")] == ["a.txt"]
    assert parse(buffer.getvalue(), name="a.zip").metadata == {"skipped": "link.txt: link_not_followed"}


def test_an_encrypted_archive_says_so():
    content = bytearray(zip_bytes({"a.txt": "text"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1

    with pytest.raises(PasswordProtectedError):
        parse(bytes(content), name="a.zip")


def test_an_archive_of_locked_files_is_locked_and_one_of_programs_is_empty():
    with pytest.raises(EmptyDocumentError) as refusal:
        parse(zip_bytes({"a.exe": b"MZ"}), name="a.zip")
    assert refusal.value.data["skipped"] == "a.exe: unsupported_format"
    with pytest.raises(EmptyDocumentError):
        archive_members(zip_bytes({}), name="a.zip")


def test_what_is_no_archive_is_corrupt():
    for content in (b"text", zip_bytes({"a.txt": "text"})[:-30]):
        with pytest.raises(CorruptDocumentError):
            parse(content, name="a.zip")


def test_a_damaged_member_costs_only_itself():
    content = zip_bytes({"a.txt": "first" * 100, "b.txt": "second"}, compression=ZIP_STORED)

    document = parse(content.replace(b"firstfirst", b"firstFIRST", 1), name="a.zip")

    assert document.metadata == {"skipped": "a.txt: corrupt_document"}


def test_compressions_that_cannot_be_bounded_are_not_read():
    buffer = BytesIO(zip_bytes({"a.txt": "text"}))
    with ZipFile(buffer, "a", ZIP_LZMA) as archive:
        archive.writestr("b.txt", "text" * 100)

    assert parse(buffer.getvalue(), name="a.zip").metadata == {"skipped": "b.txt: corrupt_document"}


@pytest.mark.parametrize(
    "members",
    [
        {f"{i}.txt": "x" for i in range(6)},
        {"a.txt": bytes(70_000)},
        {"a.bin": bytes(range(256)) * 210, "b.bin": bytes(range(256)) * 220},
    ],
    ids=["members", "density", "bytes"],
)
def test_limits_hold(members):
    with pytest.raises(UnsafeArchiveError):
        archive_members(
            zip_bytes(members, compression=ZIP_STORED if "b.bin" in members else 8), name="a.zip", limits=SMALL
        )


def test_sizes_are_counted_not_believed():
    """A header that says 10 bytes does not make a bomb small: it makes the member damaged."""
    content = bytearray(zip_bytes({"a.txt": bytes(70_000)}))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.index(mark) + offset, 10)

    with pytest.raises(EmptyDocumentError):
        archive_members(bytes(content), name="a.zip", limits=SMALL)


def test_members_that_share_their_bytes_are_refused():
    content = bytearray(zip_bytes({"a.txt": "text", "b.txt": "text"}))
    second = content.rindex(b"PK\x01\x02")
    struct.pack_into("<I", content, second + 42, 0)

    with pytest.raises(UnsafeArchiveError):
        archive_members(bytes(content), name="a.zip")


def test_archives_nest_to_a_fixed_depth():
    two = zip_bytes({"in.zip": INNER})
    three = zip_bytes({"a.txt": "text", "two.zip": two})

    assert [member.path for member in archive_members(two, name="a.zip")] == ["in.zip/b.exe", "in.zip/deep/x.txt"]
    for read in (parse, archive_members):
        with pytest.raises(UnsafeArchiveError):
            read(three, name="a.zip")


def test_limits_count_over_all_archives_inside():
    inner = zip_bytes({"x.bin": bytes(range(256)) * 200}, compression=ZIP_STORED)

    with pytest.raises(UnsafeArchiveError):
        archive_members(zip_bytes({"1.zip": inner, "2.zip": inner}, compression=ZIP_STORED), name="a.zip", limits=SMALL)


def test_a_contained_unpacking_gives_the_same_members():
    content = zip_bytes({"a.txt": "text", "in.zip": INNER, "文件.bin": bytes(range(256))})

    assert unpack_in_sandbox(content, name="a.zip") == archive_members(content, name="a.zip")


def test_a_contained_unpacking_reports_errors_and_limits():
    with pytest.raises(CorruptDocumentError):
        unpack_in_sandbox(b"PK no archive", name="a.zip")
    with pytest.raises(UnsafeArchiveError):
        unpack_in_sandbox(zip_bytes({"a.txt": bytes(70_000)}), name="a.zip", archive=SMALL)
    with pytest.raises(Exception, match="exceeded the limits of memory or time") as refusal:
        unpack_in_sandbox(zip_bytes({"a.txt": bytes(50_000)}), name="a.zip", limits=SandboxLimits(output_bytes=1000))
    assert refusal.value.code == "resource_limit"


@given(st.text(max_size=50))
def test_clean_names_are_harmless_and_stay_so(name):
    cleaned = clean_name(name)

    assert clean_name(cleaned) == cleaned
    assert not any(ord(char) < 32 or char in "\u202e\u200b\x7f" for char in cleaned)
    assert not cleaned.startswith("/")
