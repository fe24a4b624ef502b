"""What a search for an answer is asked with."""

import pytest

from chat.answering.retrieval import with_rewrites
from knowledge.types import RetrievalRequest
from ragcore.types.answering import Rewrite

SAME = ("related", "multi", "expand", "step_back", "variants", "simplify", "clarify", "domain")
OTHER = ("decompose", "hop", "original")


@pytest.mark.parametrize(
    ("method", "field"),
    [
        *((method, "forms") for method in SAME),
        *((method, "parts") for method in OTHER),
    ],
)
def test_what_asks_the_same_is_a_form_and_what_asks_something_else_a_part(method, field):
    made = with_rewrites(RetrievalRequest(query="a question"), [Rewrite(text="another", method=method)])

    expected = {"forms": (), "parts": (), "hypothetical": (), field: ("another",)}
    assert {name: getattr(made, name) for name in expected} == expected


def test_an_answer_that_might_be_is_neither():
    rewrites = [Rewrite(text="It is so.", method="hyde", is_hypothetical=True), Rewrite(text="b", method="multi")]

    made = with_rewrites(RetrievalRequest(query="a question", top_k=3), rewrites)

    assert (made.query, made.top_k) == ("a question", 3)
    assert (made.hypothetical, made.forms, made.parts) == (("It is so.",), ("b",), ())


def test_the_words_of_the_conversation_are_no_form_of_the_question():
    made = with_rewrites(RetrievalRequest(query="a question"), [Rewrite(text="a question of cells", method="history")])

    assert (made.context, made.forms, made.parts) == ("a question of cells", (), ())
