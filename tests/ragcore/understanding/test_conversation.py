from hypothesis import given
from hypothesis import strategies as st

from ragcore.types.answering import Question, Turn
from ragcore.understanding.standalone import (
    MOST_CONTEXT,
    OWN_TIMES,
    add_context,
    has_new_subject,
    within_conversation,
)
from tests.ragcore.understanding.stage_ports import tokenizer


def question(text, *turns):
    history = tuple(Turn(question=asked, answer=answer) for asked, answer in turns)
    return Question(text=text, language="en", history=history)


RANDOM_ACCESS = ("What is random access?", "A procedure by which a device joins the network.")


def test_the_form_with_context_holds_the_question_and_then_the_latest_words():
    asked = question(
        "How long does it last?", ("Who makes the antenna?", "Initech."), ("What is the backoff timer?", "")
    )

    text = add_context("How long does it last?", asked, tokenizer())

    assert text.startswith("How long does it last? " * OWN_TIMES)
    assert text.index("backoff") < text.index("antenna")


def test_words_of_turns_that_have_faded_are_left_out():
    asked = question("How long?", ("Who sells bicycles?", ""), ("What is the timer?", ""), ("Which alarms exist?", ""))

    words = add_context("How long?", asked, tokenizer()).split()[-MOST_CONTEXT:]

    assert any(word.startswith("alarm") for word in words)
    assert not any(word.startswith("sell") for word in words)


def test_a_question_about_another_subject_is_searched_with_its_own_words_only():
    text = "Which languages descend from Common Brittonic today?"

    assert has_new_subject(text, question(text, RANDOM_ACCESS), tokenizer())
    assert add_context(text, question(text, RANDOM_ACCESS), tokenizer()) == ""


def test_a_question_without_a_name_or_with_a_word_in_common_keeps_the_conversation():
    for text in ("How were the facilities of the building heated?", "Which network did Initech build in Hanover?"):
        assert not has_new_subject(text, question(text, RANDOM_ACCESS), tokenizer())
        assert "random access" in add_context(text, question(text, RANDOM_ACCESS), tokenizer())


def test_a_question_that_was_rewritten_has_not_changed_the_subject():
    asked = question("Where did she study Numerical Analysis?", RANDOM_ACCESS)

    assert not has_new_subject("Where did Grace Hopper study Numerical Analysis?", asked, tokenizer())


def test_without_a_conversation_there_is_no_context():
    assert add_context("What is random access?", question("What is random access?"), tokenizer()) == ""


@given(text=st.text(max_size=40), turns=st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=4))
def test_the_form_with_context_is_empty_or_begins_with_the_question(text, turns):
    found = add_context(text, question(text, *turns), tokenizer())

    assert found == "" or found.startswith(text)


def test_a_question_stands_behind_the_one_before_it():
    asked = question(
        "Who signs?", ("When is the pump inspected?", ""), ("How long may the pump of hall 3 stand still?", "")
    )

    text = within_conversation(asked.text, asked, tokenizer())

    assert text == "How long may the pump of hall 3 stand still? Who signs?"


def test_before_one_of_few_words_stands_the_one_before_that():
    asked = question("Who signs?", ("How long may the pump of hall 3 stand still?", ""), ("And if I miss that?", ""))

    text = within_conversation(asked.text, asked, tokenizer())

    assert text == "How long may the pump of hall 3 stand still? And if I miss that? Who signs?"


def test_a_question_that_repeats_the_one_before_stands_alone():
    asked = question(
        "How long may the pump of hall 4 stand still?", ("How long may the pump of hall 3 stand still?", "")
    )

    assert within_conversation(asked.text, asked, tokenizer()) == ""
    assert within_conversation("Who signs?", question("Who signs?"), tokenizer()) == ""
