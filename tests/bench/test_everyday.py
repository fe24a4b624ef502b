"""Verdicts on answers to everyday questions."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from bench.everyday.questions import (
    Answer,
    EverydayQuestion,
    Turn,
    questions_read,
    questions_sample,
    reach_of,
    verdict_of,
)

ASKED = Turn(text="how long and who", must=(("3 days", "three days"), ("Lab manager",)), must_not=("5 days",))


def answered(text: str, *, status: str = "answered", sources: tuple[str, ...] = ()) -> Answer:
    return Answer(text=text, status=status, has_citations=True, sources=sources)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Three **days** [1]. Ask the lab manager [2].", "useful"),
        ("| Time | Who |\n|---|---|\n| 3 days | Lab manager [1] |", "useful"),
        ("Three days [1].", "wrong"),
        ("3 days, before 5 days [1]. Lab manager.", "wrong"),
        ("3 days, Lab manager. " + "More. " * 200, "wrong"),
    ],
)
def test_an_answer_is_useful_with_everything_that_was_asked_for_nothing_wrong_and_not_too_long(text, verdict):
    assert verdict_of(ASKED, answered(text)) == verdict


def test_who_refuses_what_is_there_refuses_wrongly_and_who_answers_what_is_not_answers_wrongly():
    nothing = Turn(text="weather", expect="refuse")

    assert verdict_of(ASKED, answered("", status="refused")) == "wrongly_refused"
    assert verdict_of(nothing, answered("", status="search_results")) == "useful"
    assert verdict_of(nothing, answered("Rain [1].")) == "wrong"


def test_talk_is_answered_without_sources():
    hello = Turn(text="hello", expect="talk")

    assert verdict_of(hello, answered("Hello!", status="conversation")) == "useful"
    assert verdict_of(hello, answered("Hello [1].")) == "wrong"


def test_it_is_told_where_what_was_asked_for_stood():
    sources = ("nothing", "after three days", "the lab manager decides", "3 days, says the Lab manager")

    assert reach_of(ASKED, answered("3 days, Lab manager")) == "answer"
    assert reach_of(ASKED, answered("?", sources=sources)) == "source 4"
    assert reach_of(ASKED, answered("?", sources=sources[:3])) == "sources"
    assert reach_of(ASKED, answered("?", sources=sources[:1])) == "no"


def test_a_file_of_conversations_is_read(tmp_path):
    turns = [{"q": "how long", "must": ["3 days", ["A", "B"]]}, {"q": "and then", "expect": "refuse"}]
    row = {"id": "q1", "kind": "followup", "lang": "en", "turns": turns}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row) + "\n\n", encoding="utf-8")

    (one,) = questions_read(tmp_path / "questions.jsonl")

    assert [turn.must for turn in one.turns] == [(("3 days",), ("A", "B")), ()]
    assert [turn.expect for turn in one.turns] == ["answer", "refuse"]


def test_a_sample_is_the_same_each_time_and_has_every_kind_in_its_share():
    kinds = ["list"] * 60 + ["who"] * 40
    questions = [
        EverydayQuestion(id=f"q{place:02}", kind=kind, language="en", turns=()) for place, kind in enumerate(kinds)
    ]

    sample = questions_sample(questions, 20)

    assert sample == questions_sample(questions[::-1], 20)
    assert Counter(one.kind for one in sample) == {"list": 12, "who": 8}
    assert len({one.id for one in sample}) == 20
    assert len(questions_sample(questions, 500)) == 100
