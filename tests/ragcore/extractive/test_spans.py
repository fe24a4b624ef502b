"""Explanations are connected sentences; points name each thing; several questions are answered one by one."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.questions import split_questions
from ragcore.extractive.relevance import aspect_coverage
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.spans import as_runs, choose_points, choose_runs, main_source, needs_before
from ragcore.ports import GenerationRequest
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

TOKENIZER = JiebaTokenizer()


def source(number, text, title=""):
    passage = Passage(chunk=number, document=number, version=number, text=text, title=title)
    return Source(number=number, passage=passage, text=text, score=1 / number)


def statements(*sources):
    return read_statements(sources, TOKENIZER)


def test_a_run_does_not_begin_with_a_sentence_that_leans_on_the_one_before_it():
    first = "Paint keeps the water of rain and of melting snow away from the steel of the mast during the whole winter."
    second = "It also keeps the steel cool on long days of summer, because white paint throws back most of the light."
    found = statements(source(1, f"{first} {second} Ropes are checked daily by two people of the crew."))
    chances = np.array([0.1, 0.9, 0.05], np.float32)

    run = choose_runs(found, np.arange(3), chances, "What is paint for?")

    assert [s.text for s in run] == [first, second]


def test_a_short_explanation_goes_on_while_its_section_does():
    found = statements(source(1, "Paint keeps water out. Ropes are checked daily. Nobody climbs alone."))

    run = choose_runs(found, np.arange(3), np.array([0.9, 0.01, 0.01], np.float32), "What is paint for?")

    assert [s.position for s in run] == [0, 1, 2]


def test_what_lies_between_two_far_sentences_is_left_out():
    text = " ".join(
        f"Sentence number {word} of the text stands here." for word in ["one", "two", "three", "four", "five", "six"]
    )
    found = statements(source(1, text))
    chances = np.array([0.95, 0.02, 0.02, 0.02, 0.02, 0.95], np.float32)

    run = choose_runs(found, np.arange(6), chances, "Which?")

    assert [s.position for s in run] == [0, 5]


def test_neighbours_are_one_run_and_the_better_source_comes_first():
    found = statements(source(1, "Ants walk. Birds fly. Fish swim."), source(2, "Cats climb. Dogs run."))

    runs = as_runs(found, [3, 1, 0])

    assert [[s.text for s in run] for run in runs] == [["Cats climb."], ["Ants walk.", "Birds fly."]]


def test_the_words_of_the_title_do_not_tell_its_sentences_apart():
    text = "The Norwood court sat in May. The evidence is a ledger of the forged permits."
    found = statements(source(1, text, title="Norwood court"))

    shares = aspect_coverage("Summarize the evidence of the Norwood court", found, TOKENIZER)

    assert shares[1] > shares[0] == pytest.approx(0)


def test_points_keep_to_their_budget_and_say_nothing_twice():
    same = "The mast was inspected in spring and painted in summer by the crew."
    found = statements(source(1, same), source(2, same), source(3, "Ropes were replaced in autumn by another crew."))
    scores = np.array([3.0, 2.0, 1.0], np.float32)

    points = choose_points(found, scores, "Summarize the work.", most_columns=200)

    assert [run[0].source.number for run in points] == [1, 3]


def test_without_sentences_there_is_no_main_source():
    assert len(main_source([], np.zeros(0, np.float32), np.zeros(0, np.float32))) == 0


@pytest.mark.parametrize(
    ("text", "leans"),
    [
        ("It was closed.", True),
        ("However, it rained.", True),
        ("因此终端回退。", True),
        ("该值不变。", True),
        ("The mast stands.", False),
    ],
)
def test_sentences_that_need_the_one_before_them_are_known(text, leans):
    assert needs_before(text) is leans


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("What is a mast? Who paints the masts?", ["What is a mast?", "Who paints the masts?"]),
        ("切片由什么组成？一个终端最多用几个切片？", ["切片由什么组成？", "一个终端最多用几个切片？"]),
        ("What is a mast? Why is it painted red?", ["What is a mast? Why is it painted red?"]),
        ("What is a mast and why is it red", ["What is a mast?", "Why is mast red"]),
        (
            "What is M10 set to, and how many coats does M20 need?",
            ["What is M10 set to?", "How many coats does M20 need?"],
        ),
        ("Who paints the mast and when is it painted?", ["Who paints the mast and when is it painted?"]),
        ("How high is the mast and who painted it?", ["How high is the mast and who painted it?"]),
        ("We bought a mast. Who paints masts?", ["We bought a mast. Who paints masts?"]),
        ("什么是塔？为什么？", ["什么是塔？为什么？"]),
        ("网络切片和载波聚合分别是什么", ["网络切片是什么？", "载波聚合是什么？"]),
        ("请问塔、桅杆以及缆绳各自指什么？", ["塔是什么？", "桅杆是什么？", "缆绳是什么？"]),
        ("研究和开发是什么", ["研究和开发是什么"]),
        ("CA和DC是什么？", ["CA是什么？", "DC是什么？"]),
        ("What are RedCap and VSWR?", ["What is RedCap?", "What is VSWR?"]),
        ("what do PDCP, RLC and MAC mean?", ["What is PDCP?", "What is RLC?", "What is MAC?"]),
        ("What are roles and responsibilities?", ["What are roles and responsibilities?"]),
        ("What is the difference of CA and DC?", ["What is the difference of CA and DC?"]),
    ],
)
def test_several_questions_are_told_apart_unless_one_leans_on_another(text, parts):
    assert split_questions(text) == parts


def test_several_questions_are_answered_one_by_one_below_their_words():
    text = "A mast is a tall pole. Painters from Kiel paint the masts every spring."
    request = GenerationRequest(question="What is a mast? Who paints the masts?", sources=(source(1, text),))

    answer = "".join(ExtractiveGenerator(TOKENIZER).blocks(request))

    first, second = answer.split("**Who paints the masts?**")
    assert "A mast is a tall pole. [1]" in first
    assert "Painters from Kiel paint the masts every spring. [1]" in second
