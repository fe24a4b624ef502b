"""Numbered sources from passages."""

from dataclasses import replace

from ragcore.answering.stages.context import BuildContext
from ragcore.types.answering import AnswerState, Question
from tests.ragcore.compression.stage_ports import ports, ranked


def of_difficulty(chunk, score, difficulty):
    item = ranked(f"Passage {chunk} of the cell.", chunk=chunk, score=score)
    return replace(item, passage=replace(item.passage, difficulty=difficulty))


async def test_of_equally_good_passages_those_of_easier_documents_come_first():
    passages = (of_difficulty(1, 0.5, "高级"), of_difficulty(2, 0.5, "入门"), of_difficulty(3, 0.9, "expert"))
    state = AnswerState(question=Question(text="How many steps?"), passages=passages)

    state = await BuildContext(max_chunks=2)(state, ports())

    assert [source.passage.chunk for source in state.sources] == [3, 2]


async def test_without_difficulties_equally_good_passages_stay_in_their_order():
    passages = tuple(of_difficulty(chunk, 0.5, "") for chunk in (4, 1, 3))
    state = AnswerState(question=Question(text="How many steps?"), passages=passages)

    state = await BuildContext()(state, ports())

    assert [source.passage.chunk for source in state.sources] == [4, 1, 3]


async def test_passages_of_the_graph_take_the_last_places_of_a_shorter_context():
    passages = [ranked(f"Passage {n} of the cell.", chunk=n, score=1 - n / 100) for n in range(1, 17)]
    passages[12:15] = [replace(item, by_graph=True) for item in passages[12:15]]
    state = AnswerState(question=Question(text="How many steps?"), passages=tuple(passages))

    whole = await BuildContext(max_chunks=16)(state, ports())
    shorter = await BuildContext(max_chunks=10)(state, ports())

    assert [source.passage.chunk for source in whole.sources] == list(range(1, 17))
    assert [source.passage.chunk for source in shorter.sources] == [*range(1, 9), 13, 14]


async def test_passages_of_the_graph_that_are_there_already_take_no_further_place():
    passages = [ranked(f"Passage {n} of the cell.", chunk=n, score=1 - n / 100) for n in range(1, 14)]
    for at in (0, 1, 12):
        passages[at] = replace(passages[at], by_graph=True)
    state = AnswerState(question=Question(text="How many steps?"), passages=tuple(passages))

    state = await BuildContext(max_chunks=10)(state, ports())

    assert [source.passage.chunk for source in state.sources] == list(range(1, 11))
