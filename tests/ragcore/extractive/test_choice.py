"""Which sentences an answer is made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.extractive.choice import Limits, choose_sentences, is_of_use, with_rest_of_clause
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.text.scripts import columns
from ragcore.text.tokenise import JiebaTokenizer
from tests.contracts.generator import source

TOKENIZER = JiebaTokenizer()


def statement(number, position, text):
    text = f"{text}."
    return Statement(source(number, text), position, text, tuple(text.split()))


def probabilities(*values):
    """As log-odds."""
    return np.log(np.array(values, np.float32))


def test_neighbours_of_the_best_sentence_stand_with_it_in_their_order():
    told = [(1, 0, "alpha one"), (1, 1, "beta two"), (1, 3, "delta four five six seven"), (2, 0, "gamma three")]
    found = [statement(*one) for one in told]

    choice = choose_sentences(found, probabilities(0.2, 0.5, 0.1, 0.2), Limits())

    assert [s.text for s in choice.core] == ["alpha one.", "beta two."]
    assert [[s.text for s in point] for point in choice.points] == [
        ["gamma three."],
        ["delta four five six seven."],
    ]


def test_a_sentence_that_hardly_answers_is_left_out():
    found = [statement(1, 0, "alpha one"), statement(2, 0, "beta two " * 20)]

    choice = choose_sentences(found, probabilities(0.999, 0.001), Limits())

    assert choice.points == ()


def test_a_sentence_that_leans_on_the_one_before_it_comes_with_it():
    text = "Option A has a shorter timer and costs 2 % more. It was rejected for that reason."
    found = read_statements([source(1, f"{text} Nobody asked for option B or for another one.")], TOKENIZER)

    choice = choose_sentences(found, probabilities(0.0001, 0.99, 0.0001), Limits())

    assert " ".join(s.text for s in choice.core) == text


def test_the_same_statement_of_two_sources_is_given_once():
    found = [statement(1, 0, "alpha one two"), statement(2, 0, "alpha one two")]

    assert choose_sentences(found, probabilities(0.6, 0.4), Limits()).points == ()


def test_titles_and_questions_do_not_stand_beside_an_answer():
    found = [
        statement(1, 0, "alpha one"),
        statement(1, 1, "what is beta? (or not?)"),
        *read_statements([source(2, "References")], TOKENIZER),
    ]

    choice = choose_sentences(found, probabilities(0.4, 0.3, 0.3), Limits())

    assert [s.text for s in choice.core] == ["alpha one."]
    assert choice.points == ()


def test_a_first_sentence_beyond_every_limit_is_still_given():
    choice = choose_sentences([statement(1, 0, "x" * 5000)], probabilities(1.0), Limits(most_columns=100))

    assert len(choice.core) == 1


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 300), st.floats(0.01, 1)), min_size=1, max_size=30),
    st.integers(100, 900),
)
def test_an_answer_keeps_to_its_limits(rows, most):
    found = [statement(n, at, f"w{at} " * length) for at, (n, length, _) in enumerate(rows)]
    limits = Limits(most_columns=most)

    choice = choose_sentences(found, probabilities(*(p for _, _, p in rows)), limits)

    everything = [s for group in (choice.core, *choice.points) for s in group]
    assert 1 <= len(everything) <= limits.most_sentences
    assert len(everything) == 1 or sum(columns(s.text) for s in everything) <= max(
        most, max(columns(s.text) for s in everything)
    )


def clause(text, best, scores):
    """What is shown of a text whose best sentence is this one."""
    found = read_statements([source(1, text)], TOKENIZER)
    log_odds = np.array(scores, np.float32)
    chosen = choose_sentences(found, np.where([s.text == best for s in found], log_odds, -20.0), Limits(), "gifts")
    return [s.text for s in with_rest_of_clause(chosen, found, log_odds, "gifts").core]


def test_what_follows_the_best_sentence_in_a_short_paragraph_stands_with_it():
    gifts, back = "8.1 Gifts are declined.", "What cannot be sent back is registered within three days."

    assert clause(f"{gifts} {back}\n\nOther.", gifts, [5, 0, 0]) == [gifts, back]
    assert clause(f"{gifts} {back}\n\nOther.", back, [0, 5, 0]) == [back]
    assert clause(" ".join([gifts, *([back] * 8)]), gifts, [5, *([0] * 8)]) == [gifts]  # a long one
    assert clause(f"{gifts} Is that clear?", gifts, [5, 0]) == [gifts]  # of no use
    assert clause(f"{gifts} Line 2 leaves at seven.", gifts, [5, -15]) == [gifts]  # told of another thing


@pytest.mark.parametrize(
    ("text", "question", "is_useful"),
    [
        ("访客停车位在东门 B 区", "访客停车位在哪里？", True),
        ("换班须提前三天", "换班要提前几天申请？", True),
        ("值班长：王芳", "值班长是谁？", True),
        ("端口改为 9553", "端口改为多少？", True),
        ("Budget raised to 1250 EUR", "To how much was the budget raised?", True),
        ("Budget of 2026", "To how much was the budget raised?", False),
        ("访客停车位管理", "访客停车位在哪里？", False),
        ("换班申请表", "换班要提前几天申请？", False),
        ("加班须提前三天", "换班要提前几天申请？", False),
    ],
)
def test_a_short_line_that_says_what_is_asked_is_no_title(text, question, is_useful):
    (line,) = read_statements([source(1, text)], TOKENIZER)

    assert is_of_use(line, question) is is_useful
