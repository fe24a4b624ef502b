from hypothesis import given
from hypothesis import strategies as st

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages.context import context_tokens
from ragcore.text.token_count import EstimateCounter
from ragcore.types import Passage
from ragcore.types.answering import AnswerState, Question, Ranked
from tests.ragcore.compression.stage_ports import ports

SIZE = 4  # passages of a section


def passage(chunk: int, words: int = 12, **values) -> Passage:
    text = f"Passage {chunk} begins here. " + " ".join(f"word{chunk}x{n}" for n in range(words)) + "."
    values = {"version": 1, "title": "Handbook", "page": chunk, "ordinal": chunk, **values}
    return Passage(chunk=chunk, document=1, text=text, tokens=EstimateCounter().count(text), **values)


class Sections:
    """Sections of four passages: chunks 0 to 3, 4 to 7 …"""

    def __init__(self, words: int = 12) -> None:
        self.words = words
        self.asked: list[tuple[list[int], int]] = []

    async def __call__(self, chunks, *, max_tokens):
        self.asked.append((list(chunks), max_tokens))
        numbers = dict.fromkeys(chunk // SIZE for chunk in chunks)
        return [tuple(passage(n * SIZE + i, self.words) for i in range(SIZE)) for n in numbers]


async def run(chunks, *, budget, siblings=None, words=12):
    found = tuple(Ranked(passage=passage(c, words), score=1 - place / 100) for place, c in enumerate(chunks))
    state = AnswerState(question=Question(text="q"), passages=found)
    extra = {} if siblings is None else {"load_sections": siblings}
    return await run_stages(build_stages([("sections.whole", {"budget_tokens": budget})]), state, ports(**extra))


async def test_fragments_of_one_section_become_the_section_in_the_place_of_the_best():
    state = await run([6, 1, 4], budget=4000, siblings=Sections())

    assert [item.passage.chunk for item in state.passages] == [6, 1]
    best = state.passages[0].passage
    assert best.merged == (4, 5, 6, 7)
    assert (best.page, state.passages[0].score) == (6, 1.0)
    assert best.text[best.start :].startswith("Passage 6 begins")
    assert best.text.index("Passage 4 ") < best.text.index("Passage 7 ")
    assert state.stats["sections.whole"] == {"sections": 2}


async def test_the_best_passages_come_first_when_the_budget_ends():
    one = context_tokens((await run([1], budget=4000, siblings=Sections())).passages, EstimateCounter())
    single = context_tokens([Ranked(passage=passage(9), score=0.0)], EstimateCounter())

    state = await run([1, 9], budget=one + 2 * single, siblings=Sections())

    assert [item.passage.merged for item in state.passages] == [(0, 1, 2, 3), ()]


@given(
    chunks=st.lists(st.integers(0, 19), min_size=1, max_size=8, unique=True),
    budget=st.integers(10, 3000),
    words=st.integers(1, 40),
)
async def test_the_context_is_never_over_its_budget_and_nothing_found_is_lost(chunks, budget, words):
    counter = EstimateCounter()
    before = (await run(chunks, budget=budget, words=words)).passages

    after = (await run(chunks, budget=budget, words=words, siblings=Sections(words))).passages

    assert context_tokens(after, counter) <= max(budget, context_tokens(before, counter))
    assert set(chunks) <= {chunk for item in after for chunk in (item.passage.merged or (item.passage.chunk,))}
    texts = [item.passage.text for item in after]
    assert all(any(item.passage.text in text for text in texts) for item in before)
    assert len(after) <= len(before)


async def test_a_coroutine_may_look_them_up():
    sections = Sections()

    async def siblings(chunks, *, max_tokens):
        return await sections(chunks, max_tokens=max_tokens)

    state = await run([1], budget=4000, siblings=siblings)

    assert state.passages[0].passage.merged == (0, 1, 2, 3)
    assert sections.asked == [([1], 4000)]


async def test_without_a_store_nothing_happens():
    state = await run([1, 2], budget=4000)

    assert [item.passage.merged for item in state.passages] == [(), ()]
    assert state.stats == {}


async def test_a_store_that_fails_costs_nothing_but_the_sections():
    def siblings(chunks, *, max_tokens):
        raise RuntimeError("gone")

    state = await run([1, 2], budget=4000, siblings=siblings)

    assert len(state.passages) == 2
    assert state.records[0].error == "RuntimeError"
