from __future__ import annotations

import httpx
import pytest

from ragcore.fetching.fetcher import MAX_NAME_CHARACTERS, file_name, media_type_of
from ragcore.parsing import MEDIA_TYPE_ENDINGS, SUPPORTED_FORMATS


@pytest.mark.parametrize(
    ("url", "media_type", "expected"),
    [
        ("https://example.org/", "text/html", "example.org.html"),
        ("https://example.org", "application/xhtml+xml", "example.org.html"),
        ("https://example.org/a/guide", "text/html", "guide.html"),
        ("https://example.org/a/guide.htm", "text/html", "guide.htm"),
        ("https://example.org/a/show.php?id=3", "text/html", "show.html"),
        ("https://example.org/a/v1.2", "text/html", "v1.2.html"),
        ("https://example.org/a/spec.pdf", "application/pdf", "spec.pdf"),
        ("https://example.org/download", "application/pdf", "download.pdf"),
        ("https://example.org/README.md", "text/plain", "README.md"),
        ("https://example.org/a.csv", "text/plain", "a.csv"),
        ("https://example.org/a.docx", "application/octet-stream", "a.docx"),
        ("https://example.org/%E6%8C%87%E5%8D%97.pdf", "application/pdf", "指南.pdf"),
        ("https://example.org/a.exe", "application/x-msdownload", "a.exe"),
    ],
)
def test_the_name_says_which_parser_takes_the_page(url, media_type, expected):
    assert file_name(httpx.URL(url), media_type, "", b"") == expected


@pytest.mark.parametrize(
    ("disposition", "expected"),
    [
        ('attachment; filename="report.pdf"', "report.pdf"),
        ("attachment; filename=report.pdf", "report.pdf"),
        ("attachment; filename=x.pdf; filename*=UTF-8''%E6%8A%A5%E5%91%8A.pdf", "报告.pdf"),
        ('attachment; filename="../../etc/passwd"', "_.._etc_passwd.pdf"),
        ('attachment; filename="a\u202efdp.exe"', "a_fdp.exe.pdf"),
    ],
)
def test_the_name_of_the_host_wins_and_is_made_harmless(disposition, expected):
    assert file_name(httpx.URL("https://example.org/get"), "application/pdf", disposition, b"") == expected


@pytest.mark.parametrize(("content", "ending"), [(b"%PDF-1.7", ".pdf"), (b" <!DOCTYPE html><p>", ".html"), (b"?", "")])
def test_where_the_host_does_not_know_the_type_the_first_bytes_tell(content, ending):
    assert file_name(httpx.URL("https://example.org/get"), "", "", content) == f"get{ending}"


def test_names_do_not_grow_without_end():
    name = file_name(httpx.URL("https://example.org/" + "a" * 3000), "text/html", "", b"")

    assert len(name) <= MAX_NAME_CHARACTERS + 5
    assert name.endswith(".html")


def test_every_ending_that_we_give_has_a_parser():
    assert set(MEDIA_TYPE_ENDINGS.values()) <= set(SUPPORTED_FORMATS)


def test_parameters_of_a_media_type_are_cut_off():
    assert media_type_of(" Text/HTML ; charset=x") == "text/html"
