"""What English follow-ups leave out, one phenomenon after the other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ragcore.understanding.test_standalone import asked

PLANS = ("Which plans are there?", "There are two:\n1. Basic plan\n2. Full plan")


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        pytest.param(
            ["Does the BX300 support TDD?"], "Since when?", "Since when does the BX300 support TDD?", id="when"
        ),
        pytest.param(
            ["Is the BX300 sold in Europe?"], "Where exactly?", "Where exactly is the BX300 sold in Europe?", id="where"
        ),
        pytest.param(
            ["When was the mesh licence introduced?"],
            "By whom?",
            "By whom? When was the mesh licence introduced?",
            id="who",
        ),
        pytest.param(
            ["Can the BX300 be used outdoors?"], "Why not?", "Why not? Can the BX300 be used outdoors?", id="why not"
        ),
        pytest.param(
            ["What does the mesh licence include?"], "What else?", "What else does the mesh licence include?", id="else"
        ),
        pytest.param(
            ["Which plans include roaming?"], "Any others?", "Which other plans include roaming?", id="others"
        ),
    ],
)
def test_a_bare_question_word_asks_the_earlier_question_in_another_way(history, question, expected):
    assert asked(question, *history).text == expected


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        pytest.param(["How do I create an account?"], "Can I delete one?", "Can I delete an account?", id="one"),
        pytest.param(
            ["What does the small licence cost?"],
            "What does the large one cost?",
            "What does the large licence cost?",
            id="the large one",
        ),
        pytest.param(
            ["How much is the blue bicycle?"], "And the red one?", "How much is the red bicycle?", id="and the red one"
        ),
        pytest.param(
            [PLANS], "Which one is cheaper?", "Which one of Basic plan and Full plan is cheaper?", id="which one"
        ),
    ],
)
def test_one_stands_for_a_noun(history, question, expected):
    assert asked(question, *history).text == expected


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        pytest.param(
            [("Where did Grace Hopper study?", "She studied at Vassar College.")],
            "What did she study there?",
            "What did Grace Hopper study at Vassar College?",
            id="at an institution",
        ),
        pytest.param(
            ["What is the climate of New Zealand like?"],
            "Which languages are spoken there?",
            "Which languages are spoken in New Zealand?",
            id="in a country",
        ),
        pytest.param(
            [("Which city hosts the fair?", "Hanover")],
            "How many people live there?",
            "How many people live in Hanover?",
            id="an answer that is a place",
        ),
        pytest.param(
            ["What is the climate of New Zealand like?"],
            "Is there a train to the airport?",
            "Is there a train to the airport?",
            id="there is",
        ),
    ],
)
def test_there_is_the_place_that_was_spoken_of(history, question, expected):
    assert asked(question, *history).text == expected


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        (["What is the price of the basic plan?"], "No, I meant the full plan.", "What is the price of the full plan?"),
        (["How much is the BX300 in the US?"], "How about in Europe?", "How much is the BX300 in Europe?"),
        (["How much is the BX300?"], "How about in Europe?", "How much is the BX300 in Europe?"),
        (["Is privacy protected?"], "What about security?", "Is security protected?"),
        (
            ["I am looking for a hotel in the north part of town."],
            "How about a hostel?",
            "How about a hostel in the north part of town?",
        ),
        (
            ["Which shop sells spicy food in the old town?"],
            "How about mild food?",
            "Which shop sells mild food in the old town?",
        ),
    ],
)
def test_what_about_changes_one_part_of_the_earlier_question(history, question, expected):
    assert asked(question, *history).text == expected


@pytest.mark.parametrize(
    ("history", "question", "expected"),
    [
        (["How does the backoff timer work?"], "When does the timer expire?", "When does the backoff timer expire?"),
        (["What is Grenade about?"], "When was the song released?", "When was the song Grenade released?"),
        (["What is the mesh licence?"], "What permits are needed?", "What permits are needed for the mesh licence?"),
        (
            ["What is the mesh licence?"],
            "Are there any common problems?",
            "Are there any common problems of the mesh licence?",
        ),
        (["How do I renew my passport?"], "What are the requirements?", "What are the requirements of my passport?"),
    ],
)
def test_nouns_that_are_always_those_of_something_are_completed(history, question, expected):
    assert asked(question, *history).text == expected


def test_a_chain_of_follow_ups_keeps_its_subject():
    history = ["What is the BX300?", "What is its price?", "And its weight?"]

    assert asked("Who makes it?", *history).text == "Who makes the BX300?"


def test_a_person_that_an_answer_names_is_meant_and_not_a_place_or_date_beside_it():
    history = [("Who founded the company?", "In March 1979, in Columbia, Missouri, Bill Lumbergh founded it.")]

    assert asked("Where was he born?", *history).text == "Where was Bill Lumbergh born?"


@pytest.mark.parametrize(
    "question",
    [
        "The fan makes a noise. Does it need oil?",
        "What is a catchbasin and how is it built?",
        "Is it more difficult to install antennas on a roof?",
        "Isn't it odd that nobody asks?",
        "Besides Initech, are there any other interesting aspects about this article?",
        "What about domestic guinea pigs, where do they live and how active are they?",
        "How many licences do I have?",
        "Which colours can I choose for my bicycle?",
        "I meant to ask how a virtual machine is created.",
        "Wow, great, thanks!",
    ],
)
def test_a_question_that_says_itself_what_it_is_about_is_left_alone(question):
    found = asked(question, ("What is the BX300?", "The BX300 is a radio. Unfortunately it has no fan."))

    assert found.text == question


def test_a_heading_that_is_repeated_and_an_abbreviation_do_not_spoil_a_name():
    twice = ("Who was it?", "Anna Marie Berg Anna Marie Berg was born in 1920.")
    shortened = ("Who wrote so?", "Historian Linda M. Wagner wrote so.")

    assert asked("When did she die?", twice).text == "When did Anna Marie Berg die?"
    assert asked("When did she die?", shortened).text == "When did Linda M. Wagner die?"


@given(
    question=st.sampled_from(
        ["Why?", "What else?", "And the red one?", "How about there?", "Which one is it?", "Any?"]
    ),
    history=st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), min_size=1, max_size=3),
)
def test_short_questions_after_anything_never_fail(question, history):
    found = asked(question, *history)

    assert found.text.strip()
    assert found.changed == (found.text != question)
