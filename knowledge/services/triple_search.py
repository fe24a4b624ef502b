"""Questions about facts, within the rights of one asker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from accounts.scope import Scope
from knowledge import model_registry
from knowledge.indexes.graph_triples import ScopedTriples
from knowledge.model_setup import setup_refresh
from knowledge.selectors.sets import sets_readable
from knowledge.selectors.visibility import visible_to
from knowledge.types import Filters
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.graph.name_linking import (
    LinkedEntity,
    corrected,
    entities_by_meaning,
    entities_near,
    find_entities,
    misspelt_entities,
)
from ragcore.graph.paths import PathAnswer, PathSearch
from ragcore.graph.retrieval import DEFAULT_RESULTS, RankedTriples, SignalWeights, TripleSearch, Weights
from ragcore.graph.rewriting import FactAnswer, retrieve_and_rewrite, rewrite_by_model
from ragcore.llm.client import LlmClient
from ragcore.ports import Embedder
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.types import Language

MODEL_SECONDS = 20.0  # that a language model may take for a chain
MAX_QUESTION = 2000  # characters that are read


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsFound:
    """Facts with their chain, and answers over several facts, best first.

    `entities`: names that the question has misspelt or says in other words.
    """

    answer: FactAnswer
    paths: tuple[PathAnswer, ...]
    entities: tuple[LinkedEntity, ...] = ()


def triple_index(*, scope: Scope, sets: Sequence[int] = (), filters: Filters | None = None) -> ScopedTriples:
    """The facts that the asker may see. `filters` of documents leave out imported facts, which are of none."""
    visible = visible_to(scope=scope, sets=sets, filters=filters)
    readable = sets_readable(scope=scope).order_by()
    if sets:
        readable = readable.filter(pk__in=list(sets))
    imported = [] if filters else list(readable.values_list("pk", flat=True))
    return ScopedTriples(scope, imported, visible, model_registry.tokenizer(), model_registry.embedder().model)


def triples_retrieve_and_rewrite(
    *,
    scope: Scope,
    question: str,
    n_results: int = DEFAULT_RESULTS,
    use_reranking: bool = True,
    sets: Sequence[int] = (),
    prompt_type: str | None = None,
    weights: Weights = "learned",
    language: Language | None = None,
) -> FactsFound:
    """Facts for the question with their scores, the chain that the rules write, and answers over up to three facts."""
    setup_refresh()
    text = normalise_query(question)[:MAX_QUESTION]
    index = triple_index(scope=scope, sets=sets)
    embedder = CachingEmbedder(model_registry.embedder())
    search = triple_search(index, embedder)
    linked = misspelt_entities(text, index)
    question_corrected = corrected(text, linked)
    answer = retrieve_and_rewrite(
        search, question_corrected, n_results, use_reranking, prompt_type=prompt_type, weights=weights,
        language=language or language_of(text),
    )  # fmt: skip
    paths, by_meaning = _paths(question_corrected, answer, index, PathSearch(source=index, embedder=embedder))
    return FactsFound(answer=replace(answer, question=text), paths=tuple(paths), entities=tuple(linked or by_meaning))


def _paths(
    question: str, answer: FactAnswer, index: ScopedTriples, search: PathSearch
) -> tuple[list[PathAnswer], list[LinkedEntity]]:
    """Answers over several facts; where no name stands in the question, from the entities that its words mean."""
    if not question.strip():
        return [], []
    entities = find_entities(question, search.source)
    if entities or search.embedder is None:
        return search.answer(question, entities=entities), []
    by_meaning = entities_near(question, index, search.embedder)
    if not by_meaning:  # names that have no vector yet
        names = [name for scored in answer.triples for name in (scored.triple.subject, scored.triple.object)]
        by_meaning = entities_by_meaning(question, names, search.embedder)
    return search.answer(question, entities=[(entity.key, entity.span) for entity in by_meaning]), by_meaning


def triples_rank(
    *, scope: Scope, question: str, sets: Sequence[int] = (), n_results: int = DEFAULT_RESULTS
) -> RankedTriples:
    """Facts for the question with and without re-scoring, from one search."""
    text = normalise_query(question)[:MAX_QUESTION]
    index = triple_index(scope=scope, sets=sets)
    search = triple_search(index, CachingEmbedder(model_registry.embedder()))
    return search.rank(corrected(text, misspelt_entities(text, index)), n_results=n_results)


def triple_search(index: ScopedTriples, embedder: Embedder) -> TripleSearch:
    """A search over these facts with the shipped weights."""
    return TripleSearch(
        index=index, embedder=embedder, tokenizer=model_registry.tokenizer(), weights=SignalWeights.shipped()
    )


async def chain_written_by_model(facts: FactsFound, *, seconds: float = MODEL_SECONDS) -> FactsFound:
    """The same facts with a chain whose reasons the language model wrote; unchanged without one, or where it fails."""
    model = model_registry.chat_model()
    if model is None:
        return facts
    answer = await rewrite_by_model(facts.answer, LlmClient(model, seconds=seconds))
    return replace(facts, answer=answer)
