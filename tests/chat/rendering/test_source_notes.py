"""Notes on the language of sources on pages: in the language of the page, whatever the question was in."""

from __future__ import annotations

import pytest
from django.utils import translation

from chat.rendering.markdown import render_markdown
from chat.rendering.source_notes import with_page_language


def shown(text: str, language: str) -> str:
    with translation.override(language):
        return with_page_language(render_markdown(text, with_languages=True))


@pytest.mark.parametrize(
    ("line", "language", "words"),
    [
        ("原文为英文", "en", "The source is in English"),
        ("原文為英文", "en", "The source is in English"),
        ("The source is in Chinese", "zh-hans", "原文为中文"),
        ("原文为英文", "zh-hans", "原文为英文"),
        (
            "以下来源的原文为英文：Alarm guide、Mast &amp; tower",
            "en",
            "Sources in English: Alarm guide、Mast &amp; tower",
        ),
        ("Sources in Chinese: 告警手册", "zh-hans", "以下来源的原文为中文：告警手册"),
    ],
)
def test_a_note_is_said_in_the_language_of_the_page(line, language, words):
    html = shown(f"**{line}**\n\nThe mast is high.", language)

    assert f'<p class="language-note"><strong>{words}</strong></p>' in html
    assert "The mast is high." in html


@pytest.mark.parametrize("line", ["补充要点", "Sources in Chinese", "原文", "Result"])
def test_other_headings_of_an_answer_stay_in_its_language(line):
    assert f"<strong>{line}</strong>" in shown(f"**{line}**\n\nText.", "en")
    assert f"<strong>{line}</strong>" in shown(f"**{line}**\n\nText.", "zh-hans")


def test_a_note_within_a_sentence_is_text():  # only a line of its own is a note
    assert "原文为英文" in shown("文中写道 **原文为英文** 等等。", "en")
