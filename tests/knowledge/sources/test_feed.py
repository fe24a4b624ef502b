"""News feeds as sources."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from knowledge.connector_errors import ConnectorError
from knowledge.connectors import Access, Item, ListEnd, UnreadableItem
from knowledge.connectors.feed import FeedConnector
from knowledge.models import Document
from knowledge.services.sources import source_create
from ragcore.errors import UrlNotAllowedError
from ragcore.fetching import AddressPolicy
from tests.contracts.connector import ConnectorContract
from tests.factories import scope_of
from tests.knowledge.sources.building import counts, here, run, site

XML = {"Content-Type": "application/xml"}


def rss(*entries: str) -> tuple[int, dict[str, str], bytes]:
    body = f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>N</title>{"".join(entries)}'
    return 200, XML, f"{body}</channel></rss>".encode()


def entry(name: str, text: str, *, more: str = "") -> str:
    return (
        f'<item><guid isPermaLink="false">{name}</guid><title>News {name}</title><link>https://news.example.org/{name}</link>'
        f"<author>mei@example.org (Mei)</author><pubDate>Mon, 05 Jan 2026 08:00:00 GMT</pubDate>"
        f"<category>5G</category><description>{text}</description>{more}</item>"
    )


ATOM = """<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>基站</title>
<entry><id>urn:x:1</id><title>切换</title><updated>2026-02-03T04:05:06Z</updated><author><name>李梅</name></author>
<link rel="alternate" href="/posts/1"/><summary>短</summary><content type="html">&lt;p&gt;由基站决定。&lt;/p&gt;
&lt;script&gt;alert(1)&lt;/script&gt;</content></entry></feed>"""


def connector_to(address: str, *, host: str = "127.0.0.1", **settings: Any) -> FeedConnector:
    access = Access(policy=AddressPolicy.of([host]), folder_allowed=Path, workspace=Path("/nonexistent"), secrets={})
    return FeedConnector(location=address, settings=settings, access=access)


def items_of(address: str, **settings: Any) -> list[Item]:
    return [entry for entry in connector_to(address, **settings).changes({}) if isinstance(entry, Item)]


class TestFeedConnector(ConnectorContract):
    @pytest.fixture(params=[False, True], ids=["entries", "pages"])
    def made(self, request):
        web: dict[str, Any] = {"/a": b"<p>The page A.</p>", "/b": b"<p>The page B.</p>"}
        with site(web) as address:
            items = [entry(name, f"Text {name}").replace("https://news.example.org", address) for name in "ab"]
            web["/feed"] = rss(*items)
            yield lambda: connector_to(f"{address}/feed", pages=request.param)


def test_entries_have_link_date_author_and_their_richest_text():
    with site({"/feed": rss(entry("a", "Short.")), "/atom": (200, XML, ATOM.encode())}) as address:
        first, second = items_of(f"{address}/feed\n{address}/atom")

    assert (first.external_id, first.title, first.name) == ("a", "News a", "News a.html")
    assert first.metadata["link"] == "https://news.example.org/a"
    assert first.metadata["published"] == "2026-01-05"
    assert "Mei" in first.metadata["author"]
    assert first.tags == ("5G",)
    content = second.read({}).content.decode()
    assert "由基站决定。" in content
    assert "script" not in content
    assert second.metadata == {"link": f"{address}/posts/1", "author": "李梅", "published": "2026-02-03"}


def test_what_has_left_a_feed_stays():
    with site({"/feed": rss(entry("a", "A."))}) as address:
        first = list(connector_to(f"{address}/feed").changes({}))[-1]
        later = list(connector_to(f"{address}/feed").changes(first.cursor))[-1]

    assert isinstance(later, ListEnd)
    assert (first.is_full, later.is_full) == (True, False)


def test_hostile_feeds_harm_nothing():
    bomb = b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "' + b"&a;" * 1000 + b'"><!ENTITY c "'
    bomb += b"&b;" * 1000 + b'">]><rss version="2.0"><channel><title>&c;</title></channel></rss>'
    twice = rss(entry("a", "A."), entry("a", "B."), "<item></item>", entry("x" * 900, "C.", more="<guid></guid>"))
    with site({"/bomb": (200, XML, bomb), "/twice": twice, "/page": b"<p>No feed.</p>"}) as address:
        assert items_of(f"{address}/bomb") == []
        listed = list(connector_to(f"{address}/twice").changes({}))
        with pytest.raises(ConnectorError, match="no news feed"):
            items_of(f"{address}/page")

    assert all(len(entry.external_id) <= 512 for entry in listed if isinstance(entry, Item))
    assert [entry.external_id for entry in listed if isinstance(entry, Item)][0] == "a"
    assert [entry.error.reason for entry in listed if isinstance(entry, UnreadableItem)] == ["no_id"]


def test_addresses_of_private_networks_are_refused():
    with pytest.raises(UrlNotAllowedError):
        connector_to("http://127.0.0.1:9999/feed", host="news.example.org").allowed()
    web = {"/feed": (302, {"Location": "http://169.254.169.254/x"}, b"")}
    with site(web) as address, pytest.raises(UrlNotAllowedError):
        items_of(f"{address}/feed")
    with pytest.raises(ConnectorError):
        FeedConnector.host_of("file:///etc/passwd")


@pytest.mark.django_db(transaction=False)
def test_a_source_of_a_feed_keeps_what_the_feed_has_no_more(owner, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    web: dict[str, Any] = {"/feed": rss(entry("a", "A."), entry("b", "B."))}
    with site(web) as address:
        values = {"name": "news", "kind": "feed", "location": f"{address}/feed", "options": {"delete_missing": True}}
        source = source_create(scope=scope_of(owner), actor=owner, values=values)
        first = run(owner, source)
        web["/feed"] = rss(entry("b", "B, corrected."), entry("c", "C."))
        source.refresh_from_db()
        second = run(owner, source)

    assert counts(first) == {"found": 2, "new": 2}
    assert counts(second) == {"found": 2, "new": 1, "changed": 1}
    assert here(source) == ["a", "b", "c"]
    assert Document.objects.get(source=source, external_id="a").metadata["published"] == "2026-01-05"
