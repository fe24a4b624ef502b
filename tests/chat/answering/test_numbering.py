"""Citations are numbered in the order in which an answer first has them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.answering.grounding import sources_of_text
from chat.rendering.text_emitter import TextEmitter
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.markers import MarkerStream
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState, Question
from tests.scripted_llm import Reply

QUESTION = "What do a handover and a random access procedure have in common in a cell?"
TEXT = "One [3]. Two [1][3]. `x[2]` is code. Three [Sources 2 and 3].\n\n```\na[4] = [3]\n```\n[4]"
NUMBERED = "One [1]. Two [2][1]. `x[2]` is code. Three [3][1].\n\n```\na[4] = [3]\n```\n[4]"


def source(number):
    passage = Passage(chunk=10 + number, document=number, version=1, text=f"Text {number}.", title=f"T{number}")
    return Source(number=number, passage=passage, text=passage.text, score=1 / number)


def stream():
    return MarkerStream(numbers=frozenset({1, 2, 3, 4}), renumbers=True)


def test_markers_get_the_numbers_of_their_order():
    markers = stream()

    assert markers.feed(TEXT) + markers.flush() == NUMBERED
    assert markers.numbering == {3: 1, 1: 2, 2: 3, 4: 4}
    assert [marker.number for marker in markers.markers] == [1, 2, 1, 3, 1, 4]


@given(st.lists(st.integers(0, len(TEXT)), max_size=6))
def test_however_a_text_is_cut_its_numbers_are_the_same(cuts):
    markers, places = stream(), sorted({0, len(TEXT), *cuts})

    pieces = [TEXT[start:end] for start, end in zip(places, places[1:], strict=False)]

    assert "".join(map(markers.feed, pieces)) + markers.flush() == NUMBERED


def test_a_marker_of_no_source_takes_no_number():
    markers = MarkerStream(numbers=frozenset({2, 5}), renumbers=True)

    assert markers.feed("A [9]. B [5]. C [2].") + markers.flush() == "A. B [1]. C [2]."


@pytest.mark.parametrize(
    ("numbering", "documents"),
    [({3: 1, 1: 2}, [3, 1, 2]), ({}, [1, 2, 3]), ({2: 1}, [2, 1, 3])],
)
def test_sources_stand_in_the_order_of_the_text_and_others_behind(numbering, documents):
    state = AnswerState(question=Question(text="?"), sources=(source(1), source(2), source(3)))

    numbered = sources_of_text("a model", state, numbering)

    assert [one.number for one in numbered] == [1, 2, 3]
    assert [one.passage.document for one in numbered] == documents


def test_further_sources_are_used_where_they_are_cited_or_quoted():
    state = AnswerState(question=Question(text="?"), sources=(source(1),), further_sources=(source(2),))

    assert len(sources_of_text("a model", state, {1: 1})) == 1
    assert [one.passage.document for one in sources_of_text("a model", state, {2: 1})] == [2, 1]
    assert len(sources_of_text(ExtractiveGenerator.name, state, {1: 1})) == 2


async def test_what_is_streamed_has_the_same_numbers_in_text_and_html():
    events = []

    async def sink(name, **data):
        events.append((name, data))

    output = TextEmitter(events=sink, numbers=[2, 7], ids={}, blocks=True, renumbers=True)
    for piece in ("First [", "7]. Second [2", "].\n\nThird [7].\n"):
        await output.write(piece)

    assert await output.finish() == "First [1]. Second [2].\n\nThird [1]."
    html = "".join(data["html"] for name, data in events if name == "block")
    assert [html.count(f'data-cite="{number}"') for number in (1, 2, 7)] == [2, 1, 0]
    assert dict(output.numbering) == {7: 1, 2: 2}


@pytest.mark.django_db
async def test_an_answer_begins_with_the_first_citation(api, llm):
    llm.default = Reply(texts=("The answer is elsewhere [2]. The first source says so [1].",))

    answer = await api.generate(QUESTION, cache=False)

    assert answer["answer"] == "The answer is elsewhere [1]. The first source says so [2]."
    assert [citation["citation_num"] for citation in answer["citations"]] == [1, 2]
    assert len({citation["chunk_id"] for citation in answer["citations"]}) == 2


@pytest.mark.django_db
async def test_a_kept_answer_keeps_its_numbers(api, llm):
    llm.default = Reply(texts=("The answer is elsewhere [2].",))

    first, again = await api.generate(QUESTION), await api.generate(QUESTION)

    assert first["answer"] == again["answer"] == "The answer is elsewhere [1]."
    assert again["metadata"]["cache"] == "exact"
    assert [c["chunk_id"] for c in again["citations"]] == [c["chunk_id"] for c in first["citations"]]
