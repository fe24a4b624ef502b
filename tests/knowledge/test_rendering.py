"""Passages as safe HTML with the cited sentences marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.rendering import markdown_html

ENGLISH = "The timer starts at once. When the timer expires, the session falls back to the **source path**. It ends."
CHINESE = "定时器缺省为 2 秒。超时后回退到源侧路径，并记录告警。随后结束。"


def test_the_sentence_that_carries_the_claim_is_marked_across_emphasis():
    html = markdown_html(ENGLISH, claim="The session falls back to the source path when the timer expires [1].")

    assert "<mark>When the timer expires, the session falls back to the </mark>" in html
    assert "<strong><mark>source path</mark></strong>" in html
    assert "<mark>It ends" not in html


def test_chinese_sentences_are_compared_by_pairs_of_characters():
    html = markdown_html(CHINESE, claim="如果超时，网元会回退到源侧路径并记录告警 [2]。")

    assert "<mark>超时后回退到源侧路径，并记录告警。</mark>" in html
    assert "<mark>定时器" not in html


def test_nothing_is_marked_where_nothing_fits():
    assert "<mark>" not in markdown_html(ENGLISH, claim="Bananas are yellow.")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "![x](https://example.org/pixel.png)",
        '<a href="x" onclick="y">z</a>',
    ],
)
def test_documents_cannot_bring_scripts_or_pictures(text):
    html = markdown_html(text, claim="alert")

    assert not any(part in html for part in ("<script", 'href="javascript', "<img", '<a href="x"'))


@given(st.text(), st.text())
def test_any_text_and_any_claim_can_be_shown(text, claim):
    html = markdown_html(text, claim=claim)

    assert html.count("<mark>") == html.count("</mark>")


def test_the_row_of_a_table_that_carries_the_claim_is_marked_as_a_whole():
    table = "| 项目 | 要求 |\n|---|---|\n| 接地电阻 | 不大于 10 Ω |\n| 环境温度 | -40 至 50 |\n"

    html = markdown_html(table, claim="接地电阻不大于 10 Ω [1]。")

    assert "<td><mark>接地电阻</mark></td>" in html
    assert "<td><mark>不大于 10 Ω</mark></td>" in html
    assert "<mark>环境" not in html


def test_a_picture_of_the_document_is_a_figure_that_opens_it_in_full():
    html = markdown_html("Before.\n\n![Mast & dish](picture:p1-2.png)\n\nAfter.", version_id=7)

    assert (
        '<figure><a href="/pictures/7/p1-2.png" rel="noopener noreferrer">'
        '<img src="/pictures/7/p1-2.png" alt="Mast &amp; dish" loading="lazy"></a>'
        "<figcaption>Mast &amp; dish</figcaption></figure>"
    ) in html
    assert "<p><figure" not in html


def test_a_picture_within_a_sentence_stays_within_it():
    html = markdown_html("Press ![the button](picture:b.png) twice.", version_id=7)

    assert '<p>Press <img src="/pictures/7/b.png" alt="the button" loading="lazy"> twice.</p>' in html


def test_without_a_version_only_the_words_of_a_picture_are_left():
    assert markdown_html("![Mast](picture:p1.png)").strip() == "Mast"


@pytest.mark.parametrize(
    "address", ["https://example.org/a.png", "//example.org/a.png", "data:image/png;base64,xx", "picture:../secret"]
)
def test_no_picture_is_loaded_from_elsewhere(address):
    html = markdown_html(f"![words]({address})", version_id=7)

    assert "<img" not in html
    assert "words" in html


def test_deep_lists_keep_their_words():
    text = "\n".join("  " * level + f"- level {level}." for level in range(30))

    assert "level 29." in markdown_html(text)
