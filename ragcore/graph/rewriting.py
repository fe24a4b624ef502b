"""From a question to triples, a chain of reasons and an answer: the entry point of questions about facts."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.graph.chains import FactChain, chain_by_model, chain_by_rules
from ragcore.graph.retrieval import DEFAULT_RESULTS, ScoredTriple, TripleSearch, Weights
from ragcore.llm.client import LlmClient
from ragcore.text.fact_question import KindOfQuestion, kind_of_question
from ragcore.text.scripts import language_of
from ragcore.types import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class FactAnswer:
    """What is known of a question about facts."""

    question: str
    kind: KindOfQuestion
    triples: tuple[ScoredTriple, ...]
    chain: FactChain


def retrieve_and_rewrite(
    search: TripleSearch,
    question: str,
    n_results: int = DEFAULT_RESULTS,
    use_reranking: bool = True,
    *,
    prompt_type: str | None = None,
    weights: Weights = "learned",
    language: Language | None = None,
) -> FactAnswer:
    """Triples for the question, best first, with the chain that the rules write from them.

    `prompt_type`: subject, object, relationship or type; None: the question says it. `language` of the chain; None: of
    the question.
    """
    kind = kind_of_question(question, prompt_type)
    triples = search.search(question, kind=kind, n_results=n_results, use_reranking=use_reranking, weights=weights)
    chain = chain_by_rules(question, kind, triples, language=language or language_of(question))
    return FactAnswer(question=question, kind=kind, triples=tuple(triples), chain=chain)


async def rewrite_by_model(answer: FactAnswer, llm: LlmClient, *, language: Language | None = None) -> FactAnswer:
    """The same triples with a chain whose reasons a language model wrote; unchanged where it fails."""
    chain = await chain_by_model(
        answer.question, answer.kind, answer.triples, language=language or language_of(answer.question), llm=llm
    )
    return FactAnswer(question=answer.question, kind=answer.kind, triples=answer.triples, chain=chain)
