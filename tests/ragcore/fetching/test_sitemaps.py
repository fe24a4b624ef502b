from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragcore.errors import CorruptDocumentError, UrlNotAllowedError, UrlRefusedError, UrlTooLargeError
from ragcore.fetching import AddressPolicy, Fetcher, SitemapEntry, sitemap_urls, sitemaps
from tests.ragcore.fetching.site import page, serving

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def fetcher() -> Fetcher:
    return Fetcher(agent="Ragsite/1.0", allow=AddressPolicy.of(["127.0.0.1"]))


def urlset(*entries: str) -> bytes:
    return f'<?xml version="1.0"?><urlset xmlns="{NAMESPACE}">{"".join(entries)}</urlset>'.encode()


def entry(url: str, modified: str = "") -> str:
    date = f"<lastmod>{modified}</lastmod>" if modified else ""
    return f"<url><loc> {url} </loc>{date}</url>"


def index(*urls: str) -> bytes:
    listed = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f'<sitemapindex xmlns="{NAMESPACE}">{listed}</sitemapindex>'.encode()


def read(body: bytes, **options) -> list[SitemapEntry]:
    with serving({"/sitemap.xml": page(body, "application/xml")}) as site:
        return list(sitemap_urls(f"{site.url}/sitemap.xml", fetcher=fetcher(), **options).entries)


def test_pages_come_with_the_time_of_their_last_change():
    body = urlset(
        entry("https://example.org/a", "2026-03-02"),
        entry("https://example.org/b?x=1&amp;y=2", "2026-03-02T10:00:00+08:00"),
        entry("https://example.org/c", "some day"),
        entry("https://example.org/a"),
        entry("ftp://example.org/d"),
        entry("http://user:pw@example.org/e"),
    )

    assert read(body) == [
        SitemapEntry(url="https://example.org/a", last_modified=datetime(2026, 3, 2, tzinfo=UTC)),
        SitemapEntry(
            url="https://example.org/b?x=1&y=2",
            last_modified=datetime(2026, 3, 2, 10, tzinfo=timezone(timedelta(hours=8))),
        ),
        SitemapEntry(url="https://example.org/c"),
    ]


def test_an_index_is_followed_also_into_compressed_files_and_not_in_circles():
    with serving({}) as site:
        first, second = f"{site.url}/1.xml", f"{site.url}/2.xml.gz"
        site.pages |= {
            "/sitemap.xml": page(index(first, second, f"{site.url}/sitemap.xml")),
            "/1.xml": page(urlset(entry("https://example.org/a"))),
            "/2.xml.gz": page(gzip.compress(urlset(entry("https://example.org/b"))), "application/gzip"),
        }

        found = sitemap_urls(f"{site.url}/sitemap.xml", fetcher=fetcher()).entries

    assert [entry.url for entry in found] == ["https://example.org/a", "https://example.org/b"]
    assert site.paths().count("/sitemap.xml") == 1


def test_a_list_of_lines_is_a_sitemap_too():
    assert [entry.url for entry in read(b"\xef\xbb\xbfhttps://example.org/a\nhttps://example.org/b\r\n")] == [
        "https://example.org/a",
        "https://example.org/b",
    ]


def test_no_more_pages_are_read_than_wanted():
    body = urlset(*(entry(f"https://example.org/{i}") for i in range(50)))

    assert len(read(body, max_entries=7)) == 7


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>',
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset><url><loc>http://e.org/&a;</loc></url></urlset>',
        b'<!DOCTYPE urlset SYSTEM "http://127.0.0.1/x.dtd"><urlset/>',
        b"<html><body>no sitemap</body></html>",
        b"<urlset><url>",
    ],
)
def test_entities_and_broken_files_are_refused(body):
    with pytest.raises(CorruptDocumentError):
        read(body)


def test_a_compressed_sitemap_is_counted_unpacked(monkeypatch):
    monkeypatch.setattr(sitemaps, "MAX_SITEMAP_BYTES", 10_000)

    with pytest.raises(UrlTooLargeError):
        read(gzip.compress(urlset(entry("https://example.org/" + "a" * 50_000))))


def test_an_index_cannot_lead_into_the_own_network():
    with pytest.raises(UrlNotAllowedError):
        read(index("http://10.0.0.1/sitemap.xml"))


def test_a_part_that_is_missing_is_reported():
    with serving({}) as site:
        site.pages["/sitemap.xml"] = page(index(f"{site.url}/missing.xml"))
        with pytest.raises(UrlRefusedError):
            sitemap_urls(f"{site.url}/sitemap.xml", fetcher=fetcher())


def test_a_sitemap_of_which_not_everything_is_read_says_so(monkeypatch):
    monkeypatch.setattr(sitemaps, "MAX_SITEMAPS", 2)
    with serving({}) as site:
        urls = [f"{site.url}/{n}.xml" for n in range(2)]
        site.pages |= {f"/{n}.xml": page(urlset(entry(f"https://example.org/{n}"))) for n in range(2)}
        site.pages["/all.xml"] = page(index(*urls))
        site.pages["/one.xml"] = page(index(urls[0]))

        found = [sitemap_urls(f"{site.url}/{name}.xml", fetcher=fetcher()) for name in ("all", "one", "0")]
        cut = sitemap_urls(urls[0], fetcher=fetcher(), max_entries=1)

    assert [(len(one.entries), one.is_complete) for one in found] == [(1, False), (1, True), (1, True)]
    assert not cut.is_complete
