from __future__ import annotations

import os
import struct
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ragcore.errors import (
    ConverterMissingError,
    CorruptDocumentError,
    EmptyDocumentError,
    PasswordProtectedError,
    ResourceLimitError,
)
from ragcore.parsing.office import legacy
from ragcore.parsing.office.legacy import (
    CONVERT_LIMITS,
    convert_in_sandbox,
    convert_legacy,
    converter_available,
    pdf_rendition,
)
from ragcore.parsing.office.package import is_encrypted
from ragcore.parsing.sandbox.parse import parse_in_sandbox
from tests.ragcore.parsing.build import docx_bytes
from tests.ragcore.parsing.office_build import odf_bytes, ole_bytes, png_bytes, pptx_bytes, xlsx_bytes

RTF = rb"{\rtf1\ansi The timer T304 is 100 ms.\par Second paragraph.\par}"
EXCEL_XML = b"""<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
<Worksheet ss:Name="Load"><Table><Row><Cell><Data ss:Type="String">Site</Data></Cell><Cell><Data ss:Type="String">kW
</Data></Cell></Row><Row><Cell><Data ss:Type="String">x</Data></Cell><Cell><Data ss:Type="Number">5</Data></Cell></Row>
</Table></Worksheet></Workbook>"""

needs_converter = pytest.mark.skipif(not converter_available(), reason="LibreOffice is not installed")


@pytest.fixture
def no_converter(monkeypatch):
    monkeypatch.setattr(legacy.shutil, "which", lambda name: None)


# ── what a file really is ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "name", "ending"),
    [
        (docx_bytes(lambda document: document.add_paragraph("x")), "a.doc", ".docx"),
        (xlsx_bytes(lambda workbook: None), "a.xls", ".xlsx"),
        (pptx_bytes(lambda presentation: None), "a.ppt", ".pptx"),
        (b"\xef\xbb\xbf<html><body><table><tr><td>1</td></tr></table></body></html>", "report.xls", ".html"),
        (
            b"Date: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n<html>",
            "wiki.doc",
            ".eml",
        ),
        ("姓名\t部门\n张三\t财务\n".encode("gb18030"), "report.xls", ".tsv"),
    ],
)
def test_a_file_that_is_no_old_one_is_read_as_what_it_is(content, name, ending, no_converter):
    assert convert_legacy(content, name=name) == (content, f"{name.rpartition('.')[0]}{ending}")


def test_a_table_that_a_web_page_exported_for_excel_is_read():
    page = "<html><body><table><tr><th>Site</th><th>kW</th></tr><tr><td>x</td><td>5</td></tr></table></body></html>"

    assert parse_in_sandbox(page.encode(), name="export.xls").markdown() == "| Site | kW |\n| --- | --- |\n| x | 5 |"


@pytest.mark.parametrize(
    ("content", "name", "advice"),
    [
        (RTF, "a.rtf", ".docx"),
        (ole_bytes({"WordDocument": b""}), "a.doc", ".docx"),
        (ole_bytes({"WordDocument": b""}), "renamed.docx", ".docx"),
        (ole_bytes({"Workbook": b"", "WordDocument": b""}), "holds-a-letter.xls", ".xlsx"),
        (ole_bytes({"Book": b""}), "from-1995.xls", ".xlsx"),
        (ole_bytes({"PowerPoint Document": b""}), "a.ppt", ".pptx"),
        (EXCEL_XML, "a.xls", ".xlsx"),
    ],
)
def test_without_a_converter_the_error_says_in_which_format_to_save(content, name, advice, no_converter):
    with pytest.raises(ConverterMissingError) as refusal:
        parse_in_sandbox(content, name=name)

    assert f"Save it as {advice}" in refusal.value.message


@pytest.mark.parametrize("name", ["a.doc", "a.xls", "a.ppt", "a.rtf", "a.wps"])
@pytest.mark.parametrize("content", [b"\x00\x01\x02" * 300, b"PK\x03\x04 broken", ole_bytes({"Other": b"x"})])
def test_content_that_no_office_program_wrote_is_corrupt(content, name):
    with pytest.raises(CorruptDocumentError):
        parse_in_sandbox(content, name=name)


def test_a_file_of_zero_bytes_is_empty():
    with pytest.raises(EmptyDocumentError):
        parse_in_sandbox(b"", name="a.doc")


# ── encryption ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("streams", "expected"),
    [
        ({"WordDocument": struct.pack("<6H", 0xA5EC, 0, 0, 0, 0, 0x0100)}, True),
        ({"WordDocument": struct.pack("<6H", 0xA5EC, 0, 0, 0, 0, 0)}, False),
        ({"Workbook": struct.pack("<HHIHHI", 0x0809, 4, 0, 0x002F, 4, 0)}, True),
        ({"Workbook": struct.pack("<HHIHHI", 0x0809, 4, 0, 0x000A, 0, 0)}, False),
        ({"Current User": struct.pack("<4I", 0, 0, 0, 0xF3D1C4DF)}, True),
        ({"Current User": struct.pack("<4I", 0, 0, 0, 0xE391C05F)}, False),
        ({"EncryptedPackage": b""}, True),
    ],
)
def test_encryption_is_seen_in_the_head_of_the_main_stream(streams, expected):
    assert is_encrypted(ole_bytes(streams)) is expected


@needs_converter
def test_an_encrypted_old_document_says_so():
    content = ole_bytes({"WordDocument": struct.pack("<6H", 0xA5EC, 0, 0, 0, 0, 0x0100)})

    with pytest.raises(PasswordProtectedError):
        parse_in_sandbox(content, name="a.doc")


# ── conversion ──────────────────────────────────────────────────────────────────────────────────


@needs_converter
@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (RTF, "a.rtf", "The timer T304 is 100 ms.\n\nSecond paragraph."),
        (RTF, "really-rtf.doc", "The timer T304 is 100 ms.\n\nSecond paragraph."),
        (EXCEL_XML, "a.xls", "# Load\n\n| Site | kW |\n| --- | --- |\n| x | 5 |"),
    ],
)
def test_old_formats_are_converted_and_read(content, name, expected):
    assert parse_in_sandbox(content, name=name).markdown() == expected


@pytest.mark.full
@pytest.mark.slow
@needs_converter
def test_presentations_and_texts_become_pdf():
    slides = pptx_bytes(lambda presentation: presentation.slides.add_slide(presentation.slide_layouts[5]))
    text = odf_bytes("text", "<text:p>x</text:p>")

    assert pdf_rendition(slides, name="a.pptx").startswith(b"%PDF")
    assert pdf_rendition(text, name="a.odt").startswith(b"%PDF")


def test_without_a_converter_there_is_no_pdf(no_converter):
    assert pdf_rendition(b"x", name="a.pptx") is None
    with pytest.raises(ConverterMissingError):
        convert_in_sandbox(b"x", name="a.doc", to="docx")


@needs_converter
def test_files_of_this_machine_do_not_come_into_a_converted_document(tmp_path):
    picture = tmp_path / "private.png"
    picture.write_bytes(png_bytes())
    linked = f'<draw:image xlink:href="{picture.as_uri()}" xlink:type="simple"/>'
    own = '<draw:image xlink:href="Pictures/a.png" xlink:type="simple"/>'

    def pictures_in_pdf(image):
        frame = f'<draw:frame svg:width="3cm" svg:height="3cm" text:anchor-type="as-char">{image}</draw:frame>'
        content = odf_bytes("text", f"<text:p>x{frame}</text:p>", parts={"Pictures/a.png": png_bytes()})
        return convert_in_sandbox(content, name="a.odt", to="pdf").count(b"/Subtype/Image")

    assert pictures_in_pdf(own) == 1
    assert pictures_in_pdf(linked) == 0


@pytest.mark.full
@needs_converter
def test_nothing_of_a_conversion_stays_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tmp_path.chmod(0o755)

    convert_in_sandbox(RTF, name="a.rtf", to="docx")

    assert list(tmp_path.iterdir()) == []


@needs_converter
def test_a_conversion_that_takes_too_long_ends_with_all_its_processes(monkeypatch):
    started: list[int] = []
    original = subprocess.Popen

    def popen(*arguments, **options):
        process = original(*arguments, **options)
        started.append(process.pid)
        return process

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(ResourceLimitError):
        convert_in_sandbox(RTF, name="a.rtf", to="docx", limits=replace(CONVERT_LIMITS, wall_seconds=0.4))

    deadline = time.monotonic() + 10
    while (alive := running_in_group(started[0])) and time.monotonic() < deadline:
        os.sched_yield()
    assert alive == []


def running_in_group(group: int) -> list[int]:
    """Processes of a group that have not ended; those that nobody has waited for yet have."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = entry.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it ended while we looked
            continue
        if int(of_group) == group and state not in "ZX":
            found.append(int(entry.parent.name))
    return found


@pytest.mark.full
@needs_converter
def test_what_the_converter_cannot_read_is_corrupt():
    with pytest.raises(CorruptDocumentError):
        convert_in_sandbox(ole_bytes({"PowerPoint Document": b"\1" * 4000}), name="a.ppt", to="pptx")
