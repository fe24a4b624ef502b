"""Terms of the lexicon marked in answers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.rendering import render_markdown
from chat.rendering.terms import explained_terms, mark_terms
from knowledge import model_registry
from ragcore.text.lexicon import LexiconEntry, TermLexicon

ENTRIES = (
    LexiconEntry(text="RACH", long_form="random access channel", translations=("随机接入信道",)),
    LexiconEntry(text="AS", long_form="access stratum"),
    LexiconEntry(text="R&D", long_form="research and development"),
    LexiconEntry(text="RRC 连接", translations=("RRC connection",)),
    LexiconEntry(text="lonely"),
)
MARK = re.compile(r'<span class="term" tabindex="0" data-term="([^"]*)">(.*?)</span>', re.DOTALL)
PIECES = (
    "RACH",
    " ",
    "random access channel",
    "**",
    "`",
    "[1]",
    "随机接入信道",
    "AS",
    "as",
    "<b>",
    "R&D",
    "\n\n",
    "# ",
)


@pytest.fixture(scope="module")
def lexicon():
    return TermLexicon.of(ENTRIES, model_registry.tokenizer())


def marked(lexicon, text):
    return mark_terms(render_markdown(text, citations=(1,)), explained_terms(lexicon, text))


def test_a_term_is_marked_once_with_its_other_names(lexicon):
    found = MARK.findall(marked(lexicon, "The RACH is shared. RACH again, and lonely."))

    assert found == [("random access channel · 随机接入信道", "RACH")]


@pytest.mark.parametrize("text", ["`RACH`", "# RACH", "BRACH RACHEL", "rach", "Such as this.", "```\nRACH\n```"])
def test_code_headings_and_other_words_are_left_alone(lexicon, text):
    assert 'class="term"' not in marked(lexicon, text)


def test_names_are_found_in_either_language_and_with_markup_characters(lexicon):
    found = MARK.findall(marked(lexicon, "随机接入信道由小区共享。The Random Access\nChannel, AS, R&D"))

    assert found[:2] == [
        ("RACH · random access channel", "随机接入信道"),
        ("RACH · 随机接入信道", "Random Access\nChannel"),
    ]
    assert [words for _names, words in found[2:]] == ["AS", "R&amp;D"]


@pytest.mark.parametrize("written", ["RRC 连接", "RRC连接", "rrc 连接"])
def test_a_name_in_both_scripts_is_marked_with_and_without_its_space(lexicon, written):
    assert MARK.findall(marked(lexicon, f"终端释放{written}，然后休眠。")) == [("RRC connection", written)]
    assert 'class="term"' not in marked(lexicon, f"终端释放X{written}，然后休眠。")


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_without_the_marks_it_is_the_same_markup(lexicon, text):
    plain = render_markdown(text, citations=(1,))

    assert MARK.sub(r"\2", mark_terms(plain, explained_terms(lexicon, text))) == plain
