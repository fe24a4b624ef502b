"""The page of search results, and replies to small talk."""

import asyncio
import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.answering.fallback import (
    GREETING,
    SNIPPET_CHARACTERS,
    YOU_ARE_WELCOME,
    format_search_results,
    highlighted,
    small_talk_reply,
    without_introduction,
)
from chat.rendering import render_markdown
from ragcore.grounding.links import without_links
from ragcore.options import VoiceOptions
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source
from ragcore.types.answering import Question, Turn


@pytest.fixture(scope="module")
def tokenizer():
    return JiebaTokenizer()


def source(text, *, title="Manual", page=None, number=1):
    passage = Passage(chunk=number, document=number, version=number, text=text, title=title, page=page)
    return Source(number=number, passage=passage, text=text, score=1.0)


def page(question, *sources, tokenizer, language="en"):
    return format_search_results(question, sources, tokenizer=tokenizer, language=language)


def test_each_result_has_title_page_snippet_and_marker(tokenizer):
    text = page("preamble formats", source("The Preamble has formats.", page=3), tokenizer=tokenizer)

    assert "1. **Manual** (p. 3)\\\n   The **Preamble** has **formats**. [1]" in text


def test_chinese_words_are_marked_too(tokenizer):
    text = page("载波聚合是什么", source("支持载波聚合功能。"), tokenizer=tokenizer, language="zh")

    assert "**载波" in text
    assert text.startswith("没有找到答案")


@pytest.mark.parametrize(
    ("texts", "english", "chinese"),
    [
        (("The preamble has formats.", "A preamble."), "Keyword matches:", "关键词命中的段落："),
        (
            ("The preamble has formats.", "A cell."),
            "Closest passages:",
            "最相近的段落",
        ),
        (("A terminal.", "A cell."), "No keyword matches; closest in meaning:", "以下为语义最相近的段落"),
    ],
)
def test_how_results_were_found_is_said_as_it_is(tokenizer, texts, english, chinese):
    sources = [source(text, number=number) for number, text in enumerate(texts, 1)]

    assert english in page("preamble", *sources, tokenizer=tokenizer).splitlines()[0]
    assert chinese in page("preamble", *sources, tokenizer=tokenizer, language="zh").splitlines()[0]


def test_the_snippet_shows_the_part_with_the_words(tokenizer):
    text = page("preamble", source("filler " * 100 + "the preamble is here " + "filler " * 100), tokenizer=tokenizer)

    assert "the **preamble** is here" in text
    assert len(text.split("\\\n")[1]) < SNIPPET_CHARACTERS + 30


@given(before=st.integers(0, 60), length=st.integers(1, 12), after=st.integers(0, 60))
def test_the_snippet_shows_whole_words(before, length, after):
    word = "abcdefghijkl"[:length]
    text = f"{f'{word} ' * before}preamble{f' {word}' * after}"

    shown = highlighted(text, re.compile("preamble")).replace("**", "").strip("… ").split()

    assert "preamble" in shown
    assert set(shown) <= {"preamble", word}


def test_the_snippet_begins_with_a_sentence_that_begins_nearby():
    text = f"{'Filler words. ' * 30}The preamble is here. {'More words follow. ' * 30}"

    assert highlighted(text, re.compile("preamble")).startswith("… The **preamble** is here. More")


def test_marks_of_headings_lists_and_tables_are_left_out(tokenizer):
    markdown = "## 4 Cells\n\n- **Primary**: first\n\n| Event | Use |\n|---|---|\n| A4 | add |\n"

    text = page("zebra", source(markdown), tokenizer=tokenizer)

    assert "4 Cells Primary: first Event · Use A4 · add [1]" in text


def test_markup_in_documents_stays_text(tokenizer):
    text = page("x", source("<b>[link](http://evil) `code` **x**", title="a*b*[c]"), tokenizer=tokenizer)

    shown = render_markdown(text, citations={1})
    assert "<a " not in shown
    assert "<code>" not in shown
    assert "a*b*[c]" in shown


def test_titles_and_words_with_underscores_carry_no_back_slash(tokenizer):
    text = page("x", source("the file a_b_c and _d", title="norlift_spare_parts_2026"), tokenizer=tokenizer)

    assert "1. **norlift_spare_parts_2026**\\\n   the file a_b_c" in text
    assert "<em>" not in render_markdown(text, citations={1})


@given(st.text(alphabet="ab _*`~#<>[]()!\\&|1.-", max_size=30))
def test_a_title_reads_as_it_is_written(title):
    written = page("x", source("Text.", title=title), tokenizer=JiebaTokenizer())
    shown = render_markdown(without_links(written), citations={1})

    assert not re.search("<(?:em|code|a|img|s|h1)[ >]", shown)
    words = html.unescape(re.sub("<[^>]*>", "", shown))
    assert re.sub(r"\W", "", title) in re.sub(r"\W", "", words)


def test_addresses_in_mails_are_shown_without_brackets_and_back_slashes():
    written = r"From: Greta Lindqvist \<greta.lindqvist@norlift.example\> and \<tomasz.k@norlift.example\>"

    shown = without_links(highlighted(written, re.compile("greta", re.IGNORECASE)))

    assert shown == ("From: **Greta** Lindqvist **greta**.lindqvist@norlift.example and tomasz.k@norlift.example")


def test_words_that_touch_share_their_bold():
    assert highlighted("随机接入过程", re.compile("随机|接入")) == "**随机接入**过程"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("# 6\\. Travel expense\n\n- Keep receipts", "6. Travel expense Keep receipts"),
        ("6\\\nTravel expense", "6 Travel expense"),
        ("> - quoted", "quoted"),
        ("| - first<br>- second | [Form](https://forms.example/1) |\n| --- | --- |\n| - | 2 |", ""),
    ],
)
def test_the_snippet_is_plain_text(text, plain):
    shown = highlighted(text, None)

    assert "](" not in shown
    assert "<br>" not in shown
    assert not shown.startswith("- ")
    assert not plain or shown == plain


@pytest.mark.parametrize(("language", "first"), [("en", "<p>Closest passages:</p>"), ("zh", "<p>最相近的段落：</p>")])
def test_below_its_heading_a_page_of_results_begins_with_the_passages(tokenizer, language, first):
    sources = [source("A preamble.", number=1), source("A cell.", number=2)]
    shown = render_markdown(page("preamble", *sources, tokenizer=tokenizer, language=language), citations={1, 2})

    assert without_introduction(shown).startswith(first)


@pytest.mark.parametrize(
    ("history", "text", "reply"),
    [
        (["hi"], "谢谢", YOU_ARE_WELCOME["zh"]),
        (["What is PRACH?"], "hello", GREETING["en"]),
        (["hi"], "What did I just ask?", "You have not asked a question yet."),
        (["hi", "What is PRACH?"], "What did I just ask?", "So far you have asked:\n\n- What is PRACH?"),
    ],
)
def test_without_a_model_thanks_are_answered_as_thanks_and_greetings_do_not_count_as_questions(history, text, reply):
    question = Question(
        text=text,
        language="zh" if text == "谢谢" else "en",
        history=tuple(Turn(question=said, answer="-") for said in history),
    )

    assert asyncio.run(small_talk_reply(question, llm=None, voice=VoiceOptions())) == (reply, "")


def test_code_in_a_snippet_keeps_its_characters(tokenizer):
    code = "# A\n\nRun `a ** b` first.\n\n```python\n# slots\nreturn 2 ** mu\n```\n"

    text = page("zebra", source(code), tokenizer=tokenizer)

    shown = html.unescape(re.sub("<[^>]*>", "", render_markdown(text, citations={1})))
    assert "A Run a ** b first. # slots return 2 ** mu" in shown
