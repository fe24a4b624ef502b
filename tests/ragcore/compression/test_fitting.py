import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.compression.compress import STRATEGIES, fit_passages
from ragcore.errors import InvalidOptionsError
from ragcore.llm.client import LlmClient
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.model_limits import ModelLimits
from ragcore.text.token_count import EstimateCounter
from tests.ragcore.compression.stage_ports import ports, ranked
from tests.ragcore.compression.test_extraction import TEXTS
from tests.scripted_llm import Reply, serving

SENTENCE = "The random access procedure of the cell has four steps in all releases. "


def total(passages):
    return sum(EstimateCounter().count(item.passage.text) for item in passages)


@given(texts=st.lists(TEXTS, min_size=1, max_size=6), budget=st.integers(1, 300), strategy=st.sampled_from(STRATEGIES))
async def test_together_they_are_within_the_budget(texts, budget, strategy):
    passages = [ranked(text, chunk=number, score=1 / (number + 1)) for number, text in enumerate(texts)]

    result = await fit_passages(passages, "steps", budget_tokens=budget, strategy=strategy, ports=ports())

    assert total(result) <= budget
    assert [item.passage.chunk for item in result] == sorted(item.passage.chunk for item in result)


async def fit(strategy, *, llm=None, budget=60):
    passages = [ranked(SENTENCE * 2, chunk=n, score=1 - n / 10) for n in range(4)]  # 30 tokens or so each
    return await fit_passages(passages, "steps", budget_tokens=budget, strategy=strategy, ports=ports(llm=llm))


async def test_top_k_keeps_whole_passages_only():
    result = await fit("top_k")

    assert len(result) >= 1
    assert all(item.passage.text == SENTENCE * 2 for item in result)


async def test_truncate_cuts_the_first_one_that_does_not_fit():
    whole = await fit("top_k", budget=80)
    result = await fit("truncate", budget=80)

    assert len(result) == len(whole) + 1
    assert SENTENCE.startswith(result[-1].passage.text[:20])
    assert len(result[-1].passage.text) < len(SENTENCE * 2)


async def test_even_a_single_long_passage_is_cut_rather_than_dropped():
    for strategy in STRATEGIES:
        result = await fit_passages(
            [ranked(SENTENCE * 20)], "steps", budget_tokens=50, strategy=strategy, ports=ports()
        )

        assert result[0].passage.text
        assert total(result) <= 50


async def test_summaries_of_the_model_stand_for_what_does_not_fit():
    with serving() as llm:
        llm.default = Reply(texts=("Four steps.",))
        client = LlmClient(
            OpenAIChatModel(llm.url, "", "scripted", limits=ModelLimits(first_token_seconds=90)),
            seconds=90,
        )

        result = await fit("summarise", llm=client, budget=120)

    assert result[0].passage.text == SENTENCE * 2
    assert result[-1].passage.text == "Four steps."
    assert result[-1].passage.version == 7


async def test_passages_that_fit_stay_as_they_are():
    passages = [ranked("b", score=0.1), ranked("a", score=0.9)]

    assert await fit_passages(passages, "q", budget_tokens=10, strategy="truncate", ports=ports()) == tuple(passages)


async def test_another_strategy_is_refused():
    with pytest.raises(InvalidOptionsError):
        await fit("shuffle")
