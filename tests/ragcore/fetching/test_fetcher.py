from __future__ import annotations

import gzip
import socket
import time
from threading import Event

import httpcore
import pytest

from ragcore.errors import UrlNotAllowedError, UrlRefusedError, UrlTooLargeError, UrlUnreachableError
from ragcore.fetching import AddressPolicy, Fetcher, FetchLimits, fetch
from tests.ragcore.fetching.site import free_port, moved, page, serving

AGENT = "Ragsite/1.0 (+https://example.org/bot)"
HERE = AddressPolicy.of(["127.0.0.0/8"])
QUICK = FetchLimits(max_bytes=100_000, total_seconds=5, step_seconds=2)


def fetcher(**changed) -> Fetcher:
    return Fetcher(**{"agent": AGENT, "allow": HERE, "limits": QUICK, **changed})


def test_a_page_comes_with_its_name_type_and_marks():
    answer = page(
        b"<p>hello</p>", "Text/HTML; charset=utf-8", ETag='"1"', Last_Modified="Mon, 02 Mar 2026 10:00:00 GMT"
    )
    with serving({"/guide/handover": answer}) as site:
        found = fetch(f"{site.url}/guide/handover?x=1#top", limits=QUICK, agent=AGENT, allow=HERE)

    assert found.content == b"<p>hello</p>"
    assert (found.name, found.media_type) == ("handover.html", "text/html")
    assert (found.etag, found.last_modified) == ('"1"', "Mon, 02 Mar 2026 10:00:00 GMT")
    assert found.final_url == f"{site.url}/guide/handover?x=1"
    assert not found.not_modified


def test_we_say_who_we_are_and_bring_no_cookies_passwords_or_proxies(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    with serving({"/a": moved("/b"), "/b": page(Set_Cookie="a=1"), "/c": page()}) as site:
        agent = fetcher()
        agent.fetch(f"{site.url}/a")
        agent.fetch(f"{site.url}/b")
        agent.fetch(f"{site.url}/c")

    for _, headers in site.asked:
        assert headers["User-Agent"] == AGENT
        assert not {"Cookie", "Authorization", "Referer", "Proxy-Authorization"} & set(headers)
        assert headers["Host"] == site.url.removeprefix("http://")


def test_what_has_not_changed_is_not_sent_again():
    def answer(handler):
        current = handler.headers.get("If-None-Match") == '"1"' and "2026" in handler.headers["If-Modified-Since"]
        handler.reply(304 if current else 200, b"" if current else b"new")

    with serving({"/": answer}) as site:
        again = fetcher().fetch(f"{site.url}/", etag='"1"', last_modified="Mon, 02 Mar 2026 10:00:00 GMT")
        first = fetcher().fetch(f"{site.url}/")

    assert (again.not_modified, again.content) == (True, b"")
    assert (first.not_modified, first.content) == (False, b"new")


# ── addresses inside the own network ────────────────────────────────────────────────────────────


def test_this_machine_is_refused_unless_permitted():
    with serving({"/": page()}) as site:
        with pytest.raises(UrlNotAllowedError):
            fetcher(allow=AddressPolicy()).fetch(site.url)

        assert site.asked == []


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "[::1]"])
def test_no_spelling_of_this_machine_gets_through(host):
    with serving({"/": page()}) as site:
        with pytest.raises((UrlNotAllowedError, UrlUnreachableError)):
            fetcher(allow=AddressPolicy()).fetch(f"http://{host}:{site.server_port}/")

        assert site.asked == []


def test_a_name_that_changes_its_address_after_the_check_does_not_get_through(monkeypatch):
    """DNS rebinding: the first answer is public, all further ones are this machine."""
    answers, connected = [], []

    def resolve(host, port):
        answers.append("127.0.0.1" if answers else "93.184.215.14")
        return [answers[-1]]

    def connect(self, host, *others):
        connected.append(host)
        raise httpcore.ConnectError("no packet leaves a test")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    agent = fetcher(allow=AddressPolicy(), resolve=resolve)
    with pytest.raises(UrlUnreachableError):
        agent.fetch("http://rebind.example/")
    with pytest.raises(UrlNotAllowedError):
        agent.fetch("http://rebind.example/")

    assert connected == ["93.184.215.14"]


def test_the_checked_address_is_the_one_that_is_connected_to():
    """One look-up a connection: what was checked cannot differ from what is used."""
    asked = []

    def resolve(host, port):
        asked.append(host)
        return ["127.0.0.1"]

    with serving({"/": page()}) as site:
        fetcher(resolve=resolve, respect_robots=False).fetch(f"http://wiki.example:{site.server_port}/")

    assert asked == ["wiki.example"]
    assert site.asked[0][1]["Host"] == f"wiki.example:{site.server_port}"


@pytest.mark.parametrize(
    "place",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fd00:ec2::254]/",
        "http://10.0.0.1/",
        "http://0x0a000001/",
        "//192.168.0.1/x",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "http://user:pw@127.0.0.1/",
        "http://127.0.0.1:22/",
        "http://[bad",
    ],
)
def test_a_redirect_to_where_we_may_not_go_is_not_followed(place):
    with serving({"/": moved(place)}) as site, pytest.raises(UrlNotAllowedError):
        fetcher().fetch(f"{site.url}/")


def test_redirects_are_followed_and_counted():
    pages = {f"/{i}": moved(f"/{i + 1}", 301 + i % 2) for i in range(5)} | {"/5": page(b"end"), "/6": moved("/0")}
    with serving(pages) as site:
        found = fetcher().fetch(f"{site.url}/0")
        with pytest.raises(UrlRefusedError):
            fetcher().fetch(f"{site.url}/6")

    assert (found.content, found.final_url) == (b"end", f"{site.url}/5")


def test_a_redirect_to_itself_ends():
    with serving({"/": moved("/")}) as site:
        with pytest.raises(UrlRefusedError):
            fetcher(respect_robots=False).fetch(f"{site.url}/")

        assert site.paths() == ["/"] * 6


# ── what hosts answer ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451])
def test_a_refusal_is_final(status):
    with serving({"/": lambda handler: handler.reply(status)}) as site, pytest.raises(UrlRefusedError) as refusal:
        fetcher().fetch(f"{site.url}/")

    assert refusal.value.data["status"] == status


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_fault_of_the_host_may_be_tried_again(status):
    with serving({"/": lambda handler: handler.reply(status)}) as site, pytest.raises(UrlUnreachableError):
        fetcher().fetch(f"{site.url}/")


def test_a_closed_port_may_be_tried_again():
    with pytest.raises(UrlUnreachableError):
        fetcher().fetch(f"http://127.0.0.1:{free_port()}/")


def test_a_certificate_that_does_not_fit_the_name_is_refused():
    with serving({"/": page()}) as site, pytest.raises(UrlUnreachableError):
        fetcher().fetch(f"https://127.0.0.1:{site.server_port}/")


@pytest.mark.parametrize(
    "raw", [b"", b"\x00\x01\x02", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", b"SSH-2.0-x\r\n"]
)
def test_what_is_no_http_is_a_fault_of_the_host(raw):
    def answer(handler):
        handler.wfile.write(raw)
        handler.close_connection = True

    with serving({"/": answer}) as site, pytest.raises(UrlUnreachableError):
        fetcher().fetch(f"{site.url}/")


# ── limits ──────────────────────────────────────────────────────────────────────────────────────


def test_a_body_that_says_that_it_is_too_large_is_not_read():
    with serving({"/": page(b"x" * 200_000)}) as site, pytest.raises(UrlTooLargeError):
        fetcher().fetch(f"{site.url}/")


def test_a_body_without_a_length_is_counted():
    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1000):
            handler.wfile.write(b"x" * 10_000)
        handler.close_connection = True

    with serving({"/": endless}) as site, pytest.raises(UrlTooLargeError):
        fetcher().fetch(f"{site.url}/")


@pytest.mark.parametrize("layers", [1, 2])
def test_a_compressed_body_is_counted_unpacked(layers):
    body = gzip.compress(bytes(60_000_000 if layers == 1 else 20_000_000))
    if layers == 2:
        body = gzip.compress(body)

    with serving({"/": page(body, Content_Encoding=", ".join(["gzip"] * layers))}) as site:
        agent = fetcher(limits=FetchLimits(max_bytes=1_000_000, total_seconds=5))
        with pytest.raises((UrlTooLargeError, UrlRefusedError)):
            agent.fetch(f"{site.url}/")


def test_compressed_pages_are_unpacked_also_in_pieces():
    body = gzip.compress(b"<p>one</p>") + gzip.compress(b"<p>two</p>") + b"\x00" * 8
    with serving({"/": page(body, Content_Encoding="gzip")}) as site:
        assert fetcher().fetch(f"{site.url}/").content == b"<p>one</p><p>two</p>"


@pytest.mark.parametrize("body", [gzip.compress(b"text" * 100)[:-10], b"no gzip at all"], ids=["cut", "no gzip"])
def test_a_damaged_compressed_page_is_a_fault_of_the_host(body):
    with serving({"/": page(body, Content_Encoding="gzip")}) as site, pytest.raises(UrlUnreachableError):
        fetcher().fetch(f"{site.url}/")


def test_a_compression_that_we_did_not_ask_for_is_refused():
    with serving({"/": page(b"x", Content_Encoding="br")}) as site, pytest.raises(UrlRefusedError):
        fetcher().fetch(f"{site.url}/")


@pytest.mark.parametrize("where", ["head", "body"])
def test_a_host_cannot_hold_us_by_single_bytes(where):
    stop = Event()

    def drip(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"\r\n" if where == "body" else b"X-A: "))
        while not stop.wait(0.05):
            handler.wfile.write(b"x")

    with serving({"/": drip}) as site:
        begin = time.monotonic()
        with pytest.raises(UrlUnreachableError):
            fetcher(respect_robots=False, limits=FetchLimits(total_seconds=0.6, step_seconds=5)).fetch(f"{site.url}/")
        stop.set()

    assert time.monotonic() - begin < 3


def test_a_host_that_accepts_and_says_nothing_is_left():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(UrlUnreachableError):
            fetcher(limits=FetchLimits(total_seconds=5, step_seconds=0.2)).fetch(
                f"http://127.0.0.1:{silent.getsockname()[1]}/"
            )


# ── robots.txt ──────────────────────────────────────────────────────────────────────────────────

ROBOTS = b"User-agent: ragsite\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n"


def test_robots_are_heeded_by_our_name_and_asked_once():
    with serving({"/robots.txt": page(ROBOTS, "text/plain"), "/a": page(), "/b": page(), "/private": page()}) as site:
        agent = fetcher()
        agent.fetch(f"{site.url}/a")
        agent.fetch(f"{site.url}/b")
        with pytest.raises(UrlRefusedError):
            agent.fetch(f"{site.url}/private")
        with pytest.raises(UrlRefusedError):
            fetcher(agent="Other/2").fetch(f"{site.url}/a")

    assert site.paths() == ["/robots.txt", "/a", "/b", "/robots.txt"]


def test_a_redirect_does_not_lead_around_robots():
    with serving({"/robots.txt": page(ROBOTS), "/a": moved("/private"), "/private": page()}) as site:
        with pytest.raises(UrlRefusedError):
            fetcher().fetch(f"{site.url}/a")

        assert "/private" not in site.paths()


def test_no_robots_file_means_welcome_and_a_broken_one_means_later():
    with serving({"/": page()}) as site:
        assert fetcher().fetch(f"{site.url}/").content
        site.pages["/robots.txt"] = lambda handler: handler.reply(503)
        with pytest.raises(UrlUnreachableError):
            fetcher().fetch(f"{site.url}/")


def test_robots_may_be_left_aside_by_whom_the_site_belongs_to():
    with serving({"/robots.txt": page(ROBOTS), "/private": page(b"x")}) as site:
        assert fetcher(respect_robots=False).fetch(f"{site.url}/private").content == b"x"
