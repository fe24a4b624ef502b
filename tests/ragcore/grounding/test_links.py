"""Nothing that a model writes leads or loads anything."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ragcore.grounding.link_guard import LinkGuard
from ragcore.grounding.links import LinkStream, without_links

EVIL = "http://evil.example/?q=secret"


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        (f"see [the site]({EVIL}).", "see the site."),
        (f"![a figure]({EVIL})", "a figure"),
        (f"![]({EVIL})done", "done"),
        (f'[t](<{EVIL}> "a title")', "t"),
        (f"[![alt]({EVIL})]({EVIL})", "alt"),
        ("[t](javascript:alert(1))", "t"),
        ("[t](data:text/html;base64,PHNjcmlwdD4=)", "t"),
        ("[t](/relative/path)", "t"),
        (f"claim [1]({EVIL}).", "claim [1]."),
        (f"claim [[1]]({EVIL}).", "claim [1]."),
        (f"<{EVIL}>", EVIL),
        ("<mail@evil.example>", "mail@evil.example"),
        (r"\<mail@evil.example\>", "mail@evil.example"),
        (rf"\<{EVIL}\>", EVIL),
        (r"\<img src=x onerror=alert(1)\>", r"&lt;img src=x onerror=alert(1)\>"),
        (r"`\<mail@evil.example\>`", r"`\<mail@evil.example\>`"),
        (f"[ref]: {EVIL}", f"[ref] : {EVIL}"),
        (f"> - [ref]: {EVIL}", f"> - [ref] : {EVIL}"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)>"),
        ("so <script>alert(1)</script>", "so &lt;script>alert(1)&lt;/script>"),
        ("a <!-- comment -->", "a &lt;!-- comment -->"),
    ],
)
def test_links_pictures_and_active_html_lose_their_effect_and_keep_their_words(written, wanted):
    assert without_links(written) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "claims [1][2] and 3 < 5 > 4.",
        "a List<String> of items",
        "H<sub>2</sub>O and a<br>line",
        "[ ] to do (later)",
        "the interval [0, 1) and f(x)[2]",
        "`[a](b)` and `<img src=x>`",
        '```html\n<a href="x">[a](b)</a>\n[r]: b\n```\nend',
        "~~~\n![a](b)\n~~~",
        "see http://server.example:8080/status",
        "as in [1]: the value",
        "- [ ] open\n- [x] done",
    ],
)
def test_what_leads_nowhere_stays_as_it_is(text):
    assert without_links(text) == text


def test_the_address_of_a_source_stays_linked():
    text = "![Figure](/pages/3.png) [open](/documents/4) [out](/documents/44)"

    assert without_links(text, {"/pages/3.png", "/documents/4"}) == ("![Figure](/pages/3.png) [open](/documents/4) out")


def test_a_stream_shows_text_before_a_link_at_once():
    stream = LinkStream()

    assert stream.feed("The answer is ") == "The answer is "
    assert stream.feed("[here](http://ev") == ""
    assert stream.feed("il.example) now") == "here now"


PIECES = st.lists(
    st.sampled_from(
        [
            "[",
            "]",
            "(",
            ")",
            "](",
            "![",
            "<",
            ">",
            "<img ",
            "<a>",
            "</",
            "`",
            "``",
            "```",
            "~~~",
            "\n",
            "\n\n",
            "|",
            "\\",
            ":",
        ]
        + [
            "]: ",
            " ",
            "- ",
            "> ",
            "x",
            "http://e.example",
            "/ok",
            "1",
            "a@b.c",
            '"',
            "'",
            "!",
            "&",
            "#",
            "    ",
            "\t",
            "1. ",
        ]
    ),
    max_size=40,
)


def cut(stream, text, sizes):
    out, start, turn = "", 0, 0
    while start < len(text):
        size = sizes[turn % len(sizes)]
        out, start, turn = out + stream.feed(text[start : start + size]), start + size, turn + 1
    return out + stream.flush()


@given(PIECES, st.lists(st.integers(1, 6), min_size=1))
def test_the_result_does_not_depend_on_how_the_text_was_cut(pieces, sizes):
    text = "".join(pieces)

    assert cut(LinkStream({"/ok"}), text, sizes) == without_links(text, {"/ok"})


def parsed(text):
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # also what this parser would refuse
    return parser.render(text)


ACTIVE = re.compile(r"<(?:a |img )[^>]*?(?:href|src)=\"(?!/ok\")", re.IGNORECASE)
TAG_WITH_ATTRIBUTE = re.compile(r"<(?!(?:a|img|code|ol|td|th|pre)\b)[a-zA-Z][^<>\"=]*\s[^<>]*=")


@given(PIECES)
@example(["`", "\n", "- ", "![", "x", "](", "http://e.example", ")", "`"])
@example(["```", "\n", "```", "![", "x", "](", "http://e.example", ")"])
@example(["> ", "```", "\n", "![", "x", "](", "http://e.example", ")"])
@example(["`", "x", "\n", "x", "`", "![", "x", "](", "http://e.example", ")", "`"])
@example(["[", "[", "x", "]", "](", "/ok", ")", "(", "http://e.example", ")"])
@example(["[", "`", "x", "]: ", "http://e.example", ' "', "`", '"', "\n\n", "[", "`", "x", "]"])
@example(["\\", "`", "![", "x", "](", "http://e.example", ")", "`"])
def test_no_reader_of_markdown_finds_a_link_in_what_is_left(pieces):
    html = parsed(without_links("".join(pieces), {"/ok"}))

    assert not ACTIVE.search(html)


@given(st.text(alphabet="[]()<>`~\n|\\:! -ax/\"'=1", max_size=60))
def test_no_link_survives_in_any_text_of_these_characters(text):
    html = parsed(without_links(text))

    assert not re.search(r"<a |<img ", html)


@given(PIECES)
def test_what_has_been_guarded_comes_through_unchanged(pieces):
    guard = LinkGuard(("/ok",))
    once = guard.feed("".join(pieces)) + guard.flush()
    again = LinkGuard(("/ok",))

    assert again.feed(once) + again.flush() == once
