"""Markdown of answers as safe HTML."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.rendering import BlockStream, claim_at, effort, render_markdown


def test_markers_of_known_sources_become_buttons_and_others_stay_text():
    html = render_markdown("A claim [1][2] and [7].", citations={1, 2})

    assert '<button class="cite" type="button" data-cite="1">1</button>' in html
    assert html.count("<button") == 2
    assert "[7]" in html


def test_a_marker_in_code_stays_code():
    html = render_markdown("`a[1]`\n\n```python\nb[1]\n```", citations={1})

    assert "<button" not in html
    assert "<code>a[1]</code>" in html
    assert 'class="language-python"' in html


def test_a_marker_before_a_bracket_is_not_a_link():
    html = render_markdown("See [1](http://evil.example).", citations={1})

    assert "data-cite" in html
    assert "<a " not in html


@pytest.mark.parametrize(
    "text",
    [
        "[t](javascript:alert(1))",
        "[t](http://evil.example)",
        "![t](http://evil.example/pixel.png)",
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<http://evil.example>",
        "[t]: http://evil.example\n\n[t]",
        '<a href="http://evil.example" onclick="x()">t</a>',
        "[t](data:text/html;base64,PHNjcmlwdD4=)",
        "![t](data:image/svg+xml,<svg/onload=alert(1)>)",
        "[t][r]\n\n[r]: http://evil.example",
        "![t][r]\n\n[r]: <javascript:alert(1)> 'x'",
        "http://evil.example www.evil.example",
        "[![t](http://evil.example/a)](http://evil.example/b)",
        "<svg onload=alert(1)>",
        "&lt;img src=x onerror=alert(1)&gt;",
        "| a |\n|---|\n| ![t](http://evil.example) |",
    ],
)
def test_nothing_that_a_model_writes_becomes_active(text):
    html = render_markdown(text)

    assert not any(tag in html for tag in ("<a ", "<img", "<script", "<svg"))


def test_the_address_of_a_source_may_be_linked_and_shown():
    html = render_markdown("![Figure](/pages/3.png) [open](/documents/4)", addresses={"/pages/3.png", "/documents/4"})

    assert '<img src="/pages/3.png" alt="Figure">' in html
    assert '<a href="/documents/4"' in html


def test_chinese_and_english_blocks_tell_their_language_where_that_is_asked_for():
    text = (
        "**原文为英文**\n\nThe gNB sends a response [1].\n\n- the first point\n- 第二個要點\n\n"
        "| name | 值 |\n|:--|--|\n| the rate of the cell | 网络 |\n\nsi vous voulez\n\n## 4.2"
    )

    html = render_markdown(text, citations=[1], with_languages=True)

    assert '<p lang="zh-Hans"><strong>原文为英文' in html
    assert '<p lang="en">The gNB' in html
    assert '<li lang="en">the first point' in html
    assert '<li lang="zh-Hant">第二個要點' in html
    assert '<td class="align-left" lang="en">the rate' in html
    assert '<td lang="zh-Hans">网络' in html
    assert "<p>si vous voulez" in html  # English is told from other languages by its commonest words
    assert "<h2>4.2" in html
    assert "lang=" not in render_markdown(text, citations=[1])


def test_tables_keep_their_alignment_without_inline_style():
    html = render_markdown("| a | b |\n|:--|--:|\n| 1 | 2 |")

    assert '<td class="align-right">2</td>' in html
    assert "style=" not in html


def test_cells_of_a_table_that_is_too_wide_for_a_phone_carry_the_head_of_their_column():
    rows = "|---|---|---|---|\n| 26101 | Major | fibre attenuation above the budget | clean the connector [1] |"

    html = render_markdown(f'| Alarm | **Severity** "S" | Cause | Action [1] |\n{rows}', citations=[1])

    assert [cell.split(">")[0] for cell in html.split("<td ")[1:]] == [
        'data-head="Alarm"',
        'data-head="Severity &quot;S&quot;"',
        'data-head="Cause"',
        'data-head="Action"',
    ]


@pytest.mark.parametrize(
    "table",
    [
        "| n | a | b | c |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |",  # fits
        "| alarm | cause |\n|---|---|\n| 26101 | fibre attenuation above the budget of the link in front |",
        f"| {'head ' * 20}| b | c | d |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |",  # would be repeated in every row
    ],
)
def test_cells_of_other_tables_do_not(table):
    assert "data-head" not in render_markdown(table)


def test_sentences_that_are_not_supported_are_marked_with_the_reason():
    text = "Good one [1]. **Weak** one.\n\n- Bad one."
    sentences = [
        {"text": "Good one [1].", "support": "supported", "reason": None},
        {"text": "**Weak** one.", "support": "weak", "reason": 'says "maybe"'},
        {"text": "Bad one.", "support": "unsupported", "reason": "none"},
    ]

    html = render_markdown(text, citations={1}, sentences=sentences)

    assert html.count("<span") == 2
    assert '<span class="support weak" tabindex="0" data-support-reason="says &quot;maybe&quot;">' in html
    assert '<li><span class="support unsupported" tabindex="0" data-support-reason="none">Bad one.</span></li>' in html


def test_a_sentence_that_cuts_emphasis_in_two_is_left_alone():
    html = render_markdown("**One. Two.**", sentences=[{"text": "**One.", "support": "weak", "reason": "x"}])

    assert html == "<p><strong>One. Two.</strong></p>\n"


BLOCKS = [
    "# Title\n\n",
    "A paragraph\nof two lines.\n\n",
    "- one\n\n- two\n\n",
    "| a |\n|---|\n| 1 |\n\n",
    "```\nx\n\ny\n```\n\n",
]


@given(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=6), st.integers(1, 7))
def test_blocks_and_tail_together_are_the_text_wherever_it_is_cut(blocks, size):
    text, stream, out = "".join(blocks), BlockStream(), []

    for start in range(0, len(text), size):
        out += stream.feed(text[start : start + size])

    assert "".join(out) + stream.tail == text


def test_a_block_is_finished_once_the_next_one_begins():
    stream = BlockStream()

    assert stream.feed("First.\n\n") == []
    assert stream.feed("1. a\n\n2. b\n") == ["First.\n\n"]
    assert stream.feed("\nNext") == ["1. a\n\n2. b\n\n"]
    assert stream.tail == "Next"


@pytest.mark.parametrize("forged", ["\ue0000\ue000x\ue001", "&#xE000;0&#xE000;x&#xe001;", "&#57344;7&#57344;x&#57345;"])
def test_a_text_cannot_forge_the_marks_of_sentences(forged):
    html = render_markdown(f"{forged} Bad one.", sentences=[{"text": "Bad one.", "support": "weak", "reason": "none"}])

    assert html.count("<span") == 1
    assert ">Bad one.</span>" in html


def test_markers_tell_their_place_and_code_keeps_its_brackets():
    text = "A first claim stands here [1] and a second one there [2].\n\n    code[1]\n\n`list[2]` works [1]. $a[1]$"

    html = render_markdown(text, citations=[1, 2], with_places=True)

    assert [f'data-cite="{n}" data-place="{place}"' in html for n, place in ((1, 0), (2, 1), (1, 4))] == [True] * 3
    assert "code[1]" in html
    assert "<code>list[2]</code>" in html
    assert not set(html) & set("\ue000\ue001\ue002")
    assert claim_at(text, 0) == "A first claim stands here"
    assert claim_at(text, 1) == "and a second one there"
    assert claim_at(text, 4).startswith("`list[2]` works")
    assert claim_at(text, 9) == claim_at(text, -1) == ""


def test_a_quotation_that_may_not_answer_is_marked_as_such():
    sentence = {"text": "A claim [1].", "support": "supported", "reason": None, "relevance": 0.01}

    html = render_markdown("A claim [1].", citations=[1], sentences=[sentence])

    assert '<span class="support doubtful"' in html
    assert "support" not in render_markdown("A claim [1].", sentences=[{**sentence, "relevance": 0.9}])


def test_deep_lists_keep_their_words_and_deeper_ones_are_shown_as_they_were_written():
    nested = "\n".join("  " * level + f"- level {level}." for level in range(30))
    too_deep = f"{'> ' * 500}deepest [1].\n\nNext."

    assert render_markdown(nested).count("<ul>") == 30
    html = render_markdown(too_deep, citations=[1], sentences=[{"text": "Next.", "support": "weak", "reason": "r"}])
    assert "deepest <button" in html
    assert '<span class="support weak" tabindex="0" data-support-reason="r">Next.</span>' in html
    assert "<blockquote>" not in html


def test_a_text_that_takes_too_long_is_shown_as_it_was_written(monkeypatch):
    monkeypatch.setattr(effort.Effort.__init__, "__defaults__", (-1.0, 1.0, 0))

    assert render_markdown("**a** <b> " * 60).startswith("<p>**a** &lt;b&gt; **a**")


HOSTILE = {
    "brackets": "[",
    "pictures": "![",
    "open formulas": "\\(a",
    "open displays": "\n\\[a",
    "formulas": "$\\frac{a}{b}$ ",
    "emphasis": "*a **b ",
    "quotes": "> ",
    "cells": "|a|b|\n|-|-|\n" + "|\n" * 50,
    "fences": "```python\n%0000\n```\n",
    "markers": "[1]",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_longest_answer_is_rendered_within_its_time(name):
    """The longest that a model can write: 4,096 tokens of 16 characters."""
    text = (HOSTILE[name] * 65_536)[:65_536]
    start = time.thread_time()

    html = render_markdown(text, citations=[1], with_places=True)

    assert html
    assert time.thread_time() - start < effort.MAX_SECONDS + 1.0


@pytest.mark.parametrize("piece", ["a\n", "1. a\n", "- a\n\n", "> a\n", "|a|\n", "```\n", "\n\nfoo", "    a\n\n"])
@pytest.mark.parametrize("before", ["", "```\n"])
def test_cutting_a_growing_text_costs_a_few_times_its_length(before, piece):
    stream, text, start = BlockStream(), before + piece * 16_000, time.thread_time()

    for at in range(0, 16_000, 4):
        stream.feed(text[at : at + 4])

    assert time.thread_time() - start < 2.0


def test_line_ends_that_markdown_does_not_know_lose_nothing():
    text = "a\u2028b\x0cc\n\nd\r\n\r\ne\x85f\n\ng"
    stream = BlockStream()

    assert "".join(stream.feed(text)) + stream.tail == text


@pytest.mark.parametrize(
    ("text", "is_alone"),
    [
        ("```python\nprint(1)\n```\n\n[1]", True),
        ("```\nmake run\n```\n\n[1] [2]", True),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n[1]", True),
        ("The mast is high. [1]", False),
        ("[1] says so.", False),
        ("```\nmake run\n```\n\nRun it. [1]", False),
        ("[3]", False),  # a number that is no source
    ],
)
def test_a_marker_by_itself_belongs_to_the_block_above_it(text, is_alone):
    html = render_markdown(text, citations=[1, 2], with_places=True)

    assert ('<p class="block-source"><button' in html) is is_alone
