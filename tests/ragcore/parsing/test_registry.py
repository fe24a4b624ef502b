from __future__ import annotations

import subprocess
import sys

import pytest

from ragcore import parsing
from ragcore.errors import CorruptDocumentError, EmptyDocumentError
from ragcore.parsing import MEDIA_TYPE_ENDINGS, SUPPORTED_FORMATS, parse, parser_for
from ragcore.parsing.parser_errors import UnsupportedFormatError


@pytest.mark.parametrize("ending", SUPPORTED_FORMATS)
def test_every_supported_format_has_a_parser_that_claims_it(ending):
    assert ending in parser_for(f"Report{ending.upper()}").formats


@pytest.mark.parametrize("media_type", MEDIA_TYPE_ENDINGS)
def test_a_media_type_is_declared_by_the_parser_of_its_ending(media_type):
    parser = parser_for(f"report{MEDIA_TYPE_ENDINGS[media_type]}")

    assert parser.media_types[media_type] == MEDIA_TYPE_ENDINGS[media_type]


def test_a_class_that_declares_formats_is_found_as_a_parser(tmp_path, monkeypatch):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "wiki.py").write_text(
        "import no_such_library\n\n\n"
        "class _Page:\n    size = 1\n\n\n"
        'class WikiParser:\n    """Reads pages of a wiki."""\n\n'
        '    formats = (\n        ".wiki",\n        ".page",\n    )\n    media_types = {"text/wiki": ".wiki"}\n'
        '    label = _("wiki pages")\n'
    )
    monkeypatch.setattr(parsing, "_FOLDER", tmp_path)

    (declared,) = parsing._declarations()

    assert (declared.module, declared.class_name) == ("ragcore.parsing.notes.wiki", "WikiParser")
    assert declared.formats == (".wiki", ".page")
    assert declared.media_types == {"text/wiki": ".wiki"}


@pytest.mark.parametrize("name", ["table.xyz", "README", ".pdf.exe", ""])
def test_other_names_are_refused_with_the_list_of_formats(name):
    with pytest.raises(UnsupportedFormatError) as refusal:
        parse(b"text", name=name)

    assert refusal.value.data["supported"] == SUPPORTED_FORMATS


@pytest.mark.parametrize("ending", SUPPORTED_FORMATS)
def test_a_file_of_zero_bytes_is_empty_in_every_format(ending):
    with pytest.raises(EmptyDocumentError):
        parse(b"", name=f"empty{ending}")


@pytest.mark.parametrize("ending", [".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".ods", ".odp", ".doc", ".xls", ".ppt"])
@pytest.mark.parametrize("content", [b"\x00\x01\x02" * 300, b"just text", b"PK\x03\x04 broken", b"%PDF-1.7 broken"])
def test_content_that_is_not_what_the_name_says_is_corrupt(ending, content):
    with pytest.raises(CorruptDocumentError):
        parse(content, name=f"file{ending}")


@pytest.mark.parametrize("ending", [".txt", ".md", ".html", ".log"])
def test_binary_content_is_no_text(ending):
    noise = bytes(range(1, 32)) * 20

    with pytest.raises((CorruptDocumentError, EmptyDocumentError)):
        parse(noise, name=f"noise{ending}")


def test_the_registry_loads_no_library_before_a_file_needs_it():
    libraries = ["docx", "pptx", "openpyxl", "lxml", "olefile", "pypdfium2", "bs4", "markdown_it", "PIL"]
    code = f"import sys, ragcore.parsing; print([name for name in {libraries} if name in sys.modules])"

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() == "[]"


def test_every_format_has_a_name_for_people():
    endings = [ending for of_name in parsing.FORMAT_ENDINGS.values() for ending in of_name]

    assert sorted(endings) == sorted(SUPPORTED_FORMATS)
    assert not [name for name in parsing.FORMAT_ENDINGS if name.startswith(".") or not name.strip()]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("tender.dwg", "Files of the kind .dwg are not read. Readable are: CSV"),
        ("报价.rvt", "Files of the kind .rvt are not read."),
        ("README", "The name of this file has no ending that tells its format. Readable are: CSV"),
    ],
)
def test_a_refusal_says_the_ending_and_what_can_be_read(name, words):
    with pytest.raises(UnsupportedFormatError) as refusal:
        parser_for(name)

    assert refusal.value.message.startswith(words)
    assert "PDF" in refusal.value.message
