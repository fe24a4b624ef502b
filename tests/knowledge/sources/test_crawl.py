"""Websites along their links, as sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from knowledge.connector_errors import ConnectorError
from knowledge.connectors import Access, Item, ListEnd, UnreadableItem, crawl
from knowledge.connectors.crawl import CrawlConnector
from knowledge.connectors.web_pages import is_wanted, page_address
from knowledge.services.sources import source_create
from ragcore.errors import UrlNotAllowedError
from ragcore.fetching import AddressPolicy
from tests.contracts.connector import ConnectorContract
from tests.factories import scope_of
from tests.knowledge.sources.building import counts, here, run, site

FAST = {"pages_per_minute": 6000}


def page(text: str, *links: str, head: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
    anchors = "".join(f'<a href="{link}">next</a>' for link in links)
    body = f"<html><head><title>{text}</title>{head}</head><body><nav>{anchors}</nav><p>{text}</p></body></html>"
    return 200, {"Content-Type": "text/html; charset=utf-8", **headers}, body.encode()


def pages() -> dict[str, Any]:
    return {
        "/": page("Start", "/beams#top", "docs/paging?utm_source=x", "/style.css", "https://elsewhere.example.com/"),
        "/beams": page("Beams", "/", "/beams/narrow", ETag='"1"'),
        "/beams/narrow": page("Narrow beams", "/beams"),
        "/docs/paging": page("Paging", "/gone"),
    }


def connector_to(address: str, folder: Path, *, host: str = "127.0.0.1", **settings: Any) -> CrawlConnector:
    access = Access(policy=AddressPolicy.of([host]), folder_allowed=Path, workspace=folder / "source", secrets={})
    return CrawlConnector(location=address, settings={**FAST, **settings}, access=access)


def listed_of(address: str, folder: Path, **settings: Any) -> tuple[list[str], list[Any]]:
    """Paths of the pages, and all that was listed."""
    listed = list(connector_to(address, folder, **settings).changes({}))
    base = address.partition("\n")[0].rstrip("/")
    return [entry.external_id.removeprefix(base) for entry in listed if isinstance(entry, Item)], listed


class TestCrawlConnector(ConnectorContract):
    @pytest.fixture
    def made(self, tmp_path):
        with site(pages()) as address:
            yield lambda: connector_to(address, tmp_path)


def test_links_are_followed_on_the_hosts_of_the_source(tmp_path):
    with site(pages()) as address:
        paths, listed = listed_of(f"{address}/", tmp_path)
        assert paths == ["/", "/beams", "/docs/paging", "/beams/narrow"]
        assert [type(entry) for entry in listed[4:]] == [ListEnd]
        assert listed_of(f"{address}/", tmp_path, depth=1)[0] == ["/", "/beams", "/docs/paging"]
        assert listed_of(f"{address}/", tmp_path, depth=0)[0] == ["/"]

        paths, listed = listed_of(f"{address}/", tmp_path, max_pages=2)
        assert paths == ["/", "/beams"]
        assert [entry.hides for entry in listed if isinstance(entry, UnreadableItem)] == [True]


def test_a_page_that_has_not_changed_is_not_sent_again_and_its_links_are_known(tmp_path):
    web = pages()
    with site(web) as address:
        before = listed_of(f"{address}/", tmp_path)[1]
        web["/beams"] = (304, {"ETag": '"1"'}, b"")
        after = listed_of(f"{address}/", tmp_path)[1]
        assert [entry.external_id for entry in after[:-1]] == [entry.external_id for entry in before[:-1]]
        assert [entry.stamp for entry in after[:-1]] == [entry.stamp for entry in before[:-1]]

        # who does not have it gets it all the same
        web["/beams"] = page("Beams", "/", "/beams/narrow", ETag='"1"')
        again = listed_of(f"{address}/", tmp_path)[1]
        assert b"Beams" in again[1].read({}).content
        assert again[1].read(again[1].stamp) is None


def test_only_another_text_is_another_version(tmp_path):
    web = pages()
    web["/"] = page("Start", "/beams", head="<script>token = 1</script>")
    with site(web) as address:
        before = listed_of(f"{address}/", tmp_path)[1]
        web["/"] = page("Start", "/beams", head="<script>token = 2</script>")
        web["/beams"] = page("Wider beams")
        after = listed_of(f"{address}/", tmp_path)[1]

    assert after[0].stamp == before[0].stamp
    assert after[1].stamp != before[1].stamp


def test_robots_and_what_a_page_says_of_itself_are_respected(tmp_path):
    web = {
        "/robots.txt": (200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /closed\nCrawl-delay: 0.01\n"),
        "/": page("Start", "/closed/a", "/hidden", "/copy", "/real"),
        "/closed/a": page("Closed"),
        "/hidden": page("Hidden", "/deep", head='<meta name="robots" content="noindex">'),
        "/deep": page("Deep", "/never", head='<meta name="robots" content="nofollow">'),
        "/never": page("Never"),
        "/copy": page("A copy", head='<link rel="canonical" href="/real">'),
        "/real": page("A copy"),
    }
    with site(web) as address:
        assert listed_of(f"{address}/", tmp_path)[0] == ["/", "/real", "/deep"]


def test_pauses_are_kept_for_each_host(tmp_path, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr(crawl.time, "sleep", pauses.append)
    web = pages() | {"/robots.txt": (200, {}, b"User-agent: Ragsite\nCrawl-delay: 7\n")}
    with site(web) as address:
        listed_of(f"{address}/", tmp_path)
        assert max(pauses) > 6
        pauses.clear()
        listed_of(f"{address}/", tmp_path / "slow", pages_per_minute=5)

    assert max(pauses) > 11


def test_traps_end(tmp_path, monkeypatch):
    """Rings, calendars without end, paths that grow, and servers that have every page."""
    monkeypatch.setattr(crawl, "MOST_ALIKE", 10)

    class Everything(dict):
        def get(self, path: str, default: Any = None) -> Any:
            if path.startswith("/calendar"):
                day = int(path.rpartition("=")[2] or 0)
                return page(f"Day {day}", f"/calendar?day={day + 1}", f"/calendar?day={day + 2}")
            if path.startswith("/deep"):
                return page(f"Deep {len(path)}", "deep/", "./deep/deep/")
            if path in ("/", "/ring"):
                return page(f"At {path}", "/ring", "/", "/calendar?day=1", "/deep/", "/nothing/here")
            if path == "/robots.txt":
                return default
            return page("Sorry, there is nothing here.")

    with site(Everything()) as address:
        paths, listed = listed_of(f"{address}/", tmp_path, depth=40)

    assert {"/", "/ring"} <= set(paths)
    assert "/nothing/here" not in paths
    assert sum(path.startswith("/calendar") for path in paths) == 10
    assert sum(path.startswith("/deep") for path in paths) <= 5
    reasons = [entry.error.reason for entry in listed if isinstance(entry, UnreadableItem)]
    assert reasons == ["alike"]


def test_what_leads_into_a_private_network_is_refused(tmp_path):
    web = pages() | {"/beams": (302, {"Location": "http://169.254.169.254/latest"}, b"")}
    with site(web) as address:
        paths, listed = listed_of(f"{address}/", tmp_path)
        assert paths == ["/", "/docs/paging"]
        refused = [entry.error for entry in listed if isinstance(entry, UnreadableItem)]
        assert [type(error) for error in refused] == [UrlNotAllowedError]

        with pytest.raises(UrlNotAllowedError):
            connector_to(address, tmp_path, host="site.example.org").allowed()


def test_a_server_that_fails_hides_what_it_has(tmp_path):
    web = pages()
    with site(web) as address:
        listed_of(f"{address}/", tmp_path)
        web["/beams"] = (503, {}, b"")
        web["/docs/paging"] = page("Paging", "/new")
        web["/new"] = (503, {}, b"")
        paths, listed = listed_of(f"{address}/", tmp_path)

    assert paths == ["/", "/docs/paging", "/beams/narrow"]
    # the links of a page that is known are known, too
    refused = {entry.path: entry.hides for entry in listed if isinstance(entry, UnreadableItem)}
    assert refused == {f"{address}/beams": False, f"{address}/new": True}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("HTTP://Wiki.Example.org:80/a/../b?utm_source=x&id=7#part", "http://wiki.example.org/b?id=7"),
        ("https://wiki.example.org", "https://wiki.example.org/"),
        ("https://wiki.example.org/文档?q=切换", "https://wiki.example.org/%E6%96%87%E6%A1%A3?q=%E5%88%87%E6%8D%A2"),
        ("mailto:mei@example.org", ""),
        ("javascript:alert(1)", ""),
    ],
)
def test_one_page_has_one_address(address, expected):
    assert page_address(address) == expected


def test_parts_of_pages_are_no_pages():
    names = ("a.PNG", "a.css", "a.pdf", "a.html", "a", "v1.2")

    wanted = [name for name in names if is_wanted(f"https://x.example.org/{name}")]

    assert wanted == ["a.pdf", "a.html", "a", "v1.2"]


@pytest.mark.parametrize("location", ["ftp://x.example.org/", "https://me:x@x.example.org/", "nowhere", ""])
def test_other_addresses_are_no_website(location):
    with pytest.raises(ConnectorError):
        CrawlConnector.host_of(location)


@pytest.mark.django_db(transaction=False)
def test_a_source_of_a_website_brings_pages_and_takes_them_away(owner, tmp_path, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    settings.DATA_DIR = tmp_path / "data"
    web = pages()
    with site(web) as address:
        values = {"name": "site", "kind": "crawl", "location": f"{address}/", "settings": FAST}
        source = source_create(
            scope=scope_of(owner), actor=owner, values={**values, "options": {"delete_missing": True}}
        )
        first = run(owner, source)
        web["/"] = page("Start", "/beams")
        source.refresh_from_db()
        second = run(owner, source)

    assert counts(first) == {"found": 4, "new": 4}
    assert counts(second) == {"found": 3, "changed": 1, "unchanged": 2, "deleted": 1}
    assert here(source) == [f"{address}/", f"{address}/beams", f"{address}/beams/narrow"]
