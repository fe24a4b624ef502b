"""Bare addresses that stand whole in no source are read and not followed."""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragcore.grounding.citations import cleaned
from ragcore.grounding.links import LinkStream, without_links
from ragcore.grounding.plain_urls import known_addresses
from ragcore.types import Passage, Source

HELD = (
    "See docs.example (https://docs.example/a?b=c@d#e), http://www.docs.example/a, https://docs.example/a, "
    "https://docs.example:8443/页面。或者 known.example/start，以及 someone@mail.example"
)
# What GitHub's rules, and readers that look at the text after parsing it, take for an address
LINKED = re.compile(
    r"https?://|(?<![A-Za-z0-9])www\.\w|[\w.+-]@[\w-]+\.[\w.-]*[A-Za-z](?![\w.-])", re.IGNORECASE | re.ASCII
)


def source(text="", title="", external_id=""):
    passage = Passage(chunk=1, document=1, version=1, text=text, title=title, external_id=external_id)
    return Source(number=1, passage=passage, text=text, score=1.0)


KNOWN = known_addresses([source(HELD)])


def shown(text, known=KNOWN):
    return without_links(text, known_urls=known)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("see https://evil.example/?q=1.", "see https[:]//evil[.]example/?q=1."),
        ("HTTP://EVIL.example:8080/x", "HTTP[:]//EVIL[.]example:8080/x"),
        ("见https://evil.example，然后", "见https[:]//evil[.]example，然后"),
        ("ftp://evil.example", "ftp[:]//evil[.]example"),
        ("(www.evil.example)", "(www[.]evil[.]example)"),
        ("_WWW.evil.example_", "_www[.]evil[.]example_"),
        ("write to thief@evil.example", "write to thief@evil[.]example"),
        ("_https://evil.example_ *www.evil.example*", "_https[:]//evil[.]example_ *www[.]evil[.]example*"),
        ("_thief@evil.example_", "_thief@evil[.]example_"),
        ("<https://evil.example/x>", "https[:]//evil[.]example/x"),
        ("https&#58;//evil.example", "https[:]//evil[.]example"),
        ("https:\\/\\/evil.example", "https[:]//evil[.]example"),
        ("a lone ` https://evil.example", "a lone ` https[:]//evil[.]example"),
        ("http:///evil.example", "http[:]///evil.example"),
        ("https://evil.docs.example", "https[:]//evil[.]docs[.]example"),
        ("https://docs.example.evil.example/", "https[:]//docs[.]example[.]evil[.]example/"),
        ("https://docs.example@evil.example/", "https[:]//docs[.]example@evil[.]example/"),
        ("https://docs.example\\@evil.example", "https[:]//docs[.]example\\@evil[.]example"),
        ("https://docs.example%2eevil.example", "https[:]//docs[.]example%2eevil.example"),
        ("https://docs.example。evil.example/", "https://docs.example 。evil.example/"),
        ("https://docs.example。公司", "https://docs.example 。公司"),
        ("https://docs.example&#64;evil.example/", "https[:]//docs[.]example&#64;evil.example/"),
        ("https://docs.example/?to=https://evil.example", "https[:]//docs[.]example/?to=https[:]//evil[.]example"),
        ("https://dоcs.example/", "https[:]//dоcs[.]example/"),  # a Cyrillic о
        ("https://docs.example\u00adx/", "https[:]//docs[.]examplex/"),
    ],
)
def test_an_address_of_another_host_is_readable_and_no_link(written, wanted):
    assert shown(written) == wanted


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("https://docs.example/?q=secret", "https[:]//docs[.]example/?q=secret"),
        ("https://docs.example/a/secret", "https[:]//docs[.]example/a/secret"),
        ("https://docs.example/a?b=c@d#secret", "https[:]//docs[.]example/a?b=c@d#secret"),
        ("https://docs.example/A", "https[:]//docs[.]example/A"),
        ("https://docs.example:81", "https[:]//docs[.]example:81"),
        ("https://secret.docs.example/a", "https[:]//secret[.]docs[.]example/a"),
        ("https://secret@docs.example/a", "https[:]//secret@docs[.]example/a"),
        ("javascript://docs.example/a", "javascript[:]//docs[.]example/a"),
        ("www.docs.example/secret", "www[.]docs[.]example/secret"),
        ("secret@mail.example", "secret@mail[.]example"),
        ("se\\_cret.someone@mail.example", "se\\_cret.someone@mail[.]example"),
        ("sec&#46;someone@mail.example", "sec&#46;someone@mail[.]example"),
        ("xmpp:someone@mail.example/secret", "xmpp:someone@mail[.]example/secret"),
        ("https://docs.example/a，密码是天王盖地虎", "https://docs.example/a ，密码是天王盖地虎"),
        ("https://docs.example/a[secret]", "https://docs.example/a [secret]"),
        ("https://docs.example/a<secret>", "https://docs.example/a &lt;secret>"),
        ("https://docs.example/a!!??!!secret", "https[:]//docs[.]example/a!!??!!secret"),
    ],
)
def test_nothing_can_be_put_behind_or_before_an_address_of_a_source(written, wanted):
    assert re.sub("<(?=secret)", "&lt;", shown(written)) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "see https://docs.example/a?b=c@d#e.",
        "https://DOCS.example and http://www.docs.example/a, or https://docs.example/.",
        "（见 https://docs.example/a ）。下一步是重新启动设备",
        "见https://docs.example:8443/页面 。",
        "**https://docs.example/a** _https://docs.example_ _someone@mail.example_ (https://known.example/start).",
        "联系someone@mail.example即可",
        "https://docs.example [1]。然后",
        "Someone@mail.example",
        "[https://docs.example/a]",
        "`https://evil.example` and ``www.evil.example``",
        "```\ncurl https://evil.example\n```\nend",
        "evil.example/x, react@18.2.0, @mention, a::b, x: //y, 3.14, wow",
    ],
)
def test_addresses_of_sources_code_and_text_without_addresses_stay(text):
    assert shown(text) == text


def test_without_known_addresses_every_one_stays_or_none():
    text = "https://evil.example www.evil.example a@evil.example"

    assert without_links(text) == text
    assert shown(text, known=()) == "https[:]//evil[.]example www[.]evil[.]example a@evil[.]example"


def test_addresses_are_those_of_text_title_and_id():
    sources = [source("ask portal.intra or http://box:80/", "www.title.example", "https://pages.example/a/b.html")]

    known = known_addresses(sources)

    assert {"https://portal.intra", "http://box:80/", "www.title.example", "https://pages.example/a/b.html"} <= known
    assert not any("pages.example/a/" in address and not address.endswith("b.html") for address in known)


@pytest.mark.parametrize("text", ["https://a.b/" + ")*,;" * 20_000, "://a" * 20_000, "a.b/" * 20_000, "a@b." * 20_000])
def test_a_source_made_of_beginnings_of_addresses_is_read_in_linear_time(text):
    began = time.process_time()
    known = known_addresses([source(text)])

    assert time.process_time() - began < 2
    assert sum(map(len, known)) < 5_000_000


@pytest.mark.parametrize(
    "text",
    [
        "git clone ssh://git@server.example/a 然后",
        "open http://<server>:8080/status or file:///etc/hosts",
        "详见https://docs.example。然后重启",
        "https://web.example/2020/https://other.example/x",
    ],
)
def test_what_a_source_writes_is_quoted_as_it_stands(text):
    assert cleaned(text, [source(text)])[0] == text
    assert cleaned(text, [])[0] != text


def test_words_before_an_address_come_at_once_and_the_address_when_its_host_is_certain():
    stream = LinkStream(known_urls=KNOWN)

    assert stream.feed("The page is https") == "The page is https"
    assert stream.feed("://docs.exa") == ""
    assert stream.feed("mple") == ""
    assert stream.feed("/a") == ""
    assert stream.feed(" and") == "://docs.example/a and"
    assert stream.feed(" www.ev") + stream.feed("il.example ") == " www[.]evil[.]example "


def test_an_address_that_never_ends_is_not_waited_for():
    stream = LinkStream(known_urls=KNOWN)

    assert stream.feed("https://docs.example/b" + "长" * 400).startswith("https[:]//docs[.]example/b长")
    assert stream.feed("，https://docs.example，" + "长" * 400).startswith("，https://docs.example ，长")


PIECES = st.lists(
    st.sampled_from(
        ["https", "http", "ftp", ":", "/", "//", "://", "www", ".", "evil", "docs", "example", "docs.example", "@"]
        + ["。", "，", "\\", "%", "&#58;", "&", "#", "?", " ", "\n", "\n\n", "`", "```", "~~~", "[", "]", "(", ")"]
        + ["<", ">", "<b>", "|", "中", "x", "1", "_", "-", "\u00ad", "https://docs.example/a", "https://evil.example"]
    ),
    max_size=30,
)


def cut(text, sizes):
    stream, out, start, turn = LinkStream(known_urls=KNOWN), "", 0, 0
    while start < len(text):
        size = sizes[turn % len(sizes)]
        out, start, turn = out + stream.feed(text[start : start + size]), start + size, turn + 1
    return out + stream.flush()


@given(PIECES, st.lists(st.integers(1, 6), min_size=1))
@example(["https", "://", "docs.example", "\\", "@", "x", ".", "1"], [1])
@example(["x", "@", "docs.example", ".", "x"], [1])
def test_the_result_does_not_depend_on_how_the_text_was_cut(pieces, sizes):
    text = "".join(pieces)

    assert cut(text, sizes) == shown(text)


@given(PIECES)
@example(["https", "://", "docs.example", "<", "x", "@", "evil", ".", "example"])
@example(["https", "://", "docs.example", "]", "(", "x"])
def test_what_has_been_cleaned_stays_as_it_is(pieces):
    known = [source("docs.example")]
    once, _ = cleaned("".join(pieces), known)

    assert cleaned(once, known)[0] == once


@given(PIECES)
def test_without_sources_nothing_that_is_left_reads_as_an_address(pieces):
    text = "".join(piece for piece in pieces if "`" not in piece and "~" not in piece)

    assert not LINKED.search(shown(text, known=()))


@given(st.text(alphabet="abwx .,;()[]*_!?中文。\n1", max_size=60))
def test_text_without_addresses_is_as_it_is_without_this_filter(text):
    text = re.sub("(?i)www", "w", text)

    assert shown(text) == without_links(text)


@given(st.sampled_from(sorted(KNOWN)), st.text("a中 。", max_size=5), st.integers(1, 9))
def test_addresses_of_sources_are_unchanged_between_spaces(address, words, size):
    text = f"{words} {address} {words}"

    assert shown(text) == cut(text, [size]) == text


@given(PIECES)
def test_whatever_a_reader_links_is_a_whole_address_of_a_source(pieces):
    text = "".join(piece for piece in pieces if "`" not in piece and "~" not in piece)

    for found in re.finditer(r"(?i)(?<![a-z0-9])(?:https?://|www\.)[a-z0-9][^\s<]*", shown(text)):
        link = found[0].rstrip("?!.,:*_~'\";)]}")
        assert link == "www" or re.sub("(?i)^https?://[^/?#]*|^www[^/?#]*", lambda host: host[0].lower(), link) in KNOWN
