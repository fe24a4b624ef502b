"""Facts for the answer to a question, with where each is from, within the rights of one asker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from accounts.compiled_queries import CompiledQuery
from accounts.scope import Scope
from knowledge import model_registry
from knowledge.indexes.graph_triples import ScopedTriples
from knowledge.indexes.visible_passages import passages_load
from knowledge.models import Triple
from knowledge.selectors.triples import triples_named
from knowledge.services.triple_search import MAX_QUESTION, triple_index, triple_search
from knowledge.types import Filters
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.graph.chains import chain_by_rules
from ragcore.graph.name_linking import corrected, entities_near, find_entities, misspelt_entities, surely_meant
from ragcore.graph.relation_groups import groups_of
from ragcore.graph.retrieval import ScoredTriple
from ragcore.graph.rewriting import FactAnswer
from ragcore.graph.stating import StatedFact, facts_stating
from ragcore.graph.triples import sentence
from ragcore.ports import Embedder
from ragcore.text.fact_question import kind_of_question
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.types import Language, Passage

RETRIEVED = 20  # facts that may answer
IN_CHAIN = 5  # facts of which the chain is made


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFact:
    """A fact with where it is from: a file that was imported, or a passage.

    `text`: as a sentence; `states`: whether it answers the whole question, else it only belongs to what is asked.
    """

    id: int
    text: str
    states: bool
    set_id: int
    file: str = ""  # that it was imported from; "" for one that was read in a passage
    import_id: int = 0
    passage: Passage | None = None
    sentence: str = ""  # of the passage that says it
    confidence: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsOfQuestion:
    """Facts for a question, those that state the answer first, with the chain of all of them."""

    answer: FactAnswer
    facts: tuple[KnownFact, ...]


def _one_of_tenant(*, tenant: int) -> QuerySet[Triple, int]:
    return Triple.objects.filter(tenant_id=tenant).order_by().values_list("pk", flat=True)[:1]


_ANY_OF_TENANT = CompiledQuery(_one_of_tenant, tenant=int)


def any_facts(*, tenant_id: int) -> bool:
    """Whether the tenant has facts at all: most have none, and every question asks for one."""
    return bool(_ANY_OF_TENANT(tenant=tenant_id))


def facts_for_answer(
    *,
    scope: Scope,
    question: str,
    sets: Sequence[int] = (),
    filters: Filters | None = None,
    prompt_type: str | None = None,
    with_related: bool = False,
) -> FactsOfQuestion | None:
    """What the asker may know of facts about a name of the question; None without any.

    `with_related`: also imported facts that say something of what is asked and leave a part of it open.

    `filters` are those of documents: with them imported facts, which are of none, are left out. Bounded, however many
    facts a name has (`ScopedTriples`).
    """
    text = normalise_query(question)[:MAX_QUESTION]
    index = triple_index(scope=scope, sets=sets, filters=filters)
    embedder = CachingEmbedder(model_registry.embedder())
    plain, sure = _with_names(text, index, embedder)
    if not sure:
        return None
    search = triple_search(index, embedder)
    kind = kind_of_question(plain, prompt_type)
    triples = search.search(plain, kind=kind, n_results=RETRIEVED)
    language = language_of(text)
    stated = {
        fact.id: fact for fact in facts_stating(plain, kind, triples, tokenizer=search.tokenizer, language=language)
    }
    related = [t for t in triples if t.id not in stated and _is_about(t)] if with_related else []
    chosen = [*(t for t in triples if t.id in stated), *related]
    facts = _with_origins(scope, index, chosen, stated, language, sure)[:IN_CHAIN]
    if not facts:
        return None
    by_id = {scored.id: scored for scored in chosen}
    in_chain = tuple(by_id[fact.id] for fact in facts)
    chain = chain_by_rules(plain, kind, in_chain, language=language)
    return FactsOfQuestion(
        answer=FactAnswer(question=text, kind=kind, triples=in_chain, chain=chain), facts=tuple(facts)
    )


def _with_names(text: str, index: ScopedTriples, embedder: Embedder) -> tuple[str, float]:
    """The question with the name of an entity in the place of what it writes, and how sure that is; 0 without a name.

    What it means in other words is looked for only where it says a relation, without which no fact would answer it.
    """
    plain = corrected(text, misspelt_entities(text, index))
    if find_entities(plain, index):
        return plain, 1.0
    entity = surely_meant(entities_near(plain, index, embedder)) if groups_of(plain) else None
    return (plain, 0.0) if entity is None else (corrected(plain, [entity]), entity.score)


def _is_about(scored: ScoredTriple) -> bool:
    """Whether the question names an end of the fact and has words of its relation."""
    detail = scored.detailed_scores
    return detail["named_whole"] > 0 and (detail["relation_words"] > 0 or detail["relation_group"] > 0)


def _with_origins(
    scope: Scope,
    index: ScopedTriples,
    triples: Sequence[ScoredTriple],
    stated: Mapping[int, StatedFact],
    language: Language,
    sure: float,
) -> list[KnownFact]:
    """The facts with their file or passage, in their order; those that are gone meanwhile are left out.

    `sure`: how certain it is that the question means them, 0 to 1. Of facts that were read in passages only those that
    state the answer.
    """
    rows = {row.pk: row for row in triples_named(scope=scope, ids=[scored.id for scored in triples])}
    chunks = [row.chunk_id for row in rows.values() if row.chunk_id is not None]
    passages = passages_load(scope=scope, visible=index.visible, chunks=chunks) if chunks else {}
    facts = []
    for scored in triples:
        row = rows.get(scored.id)
        if row is None:
            continue
        if row.document_id is not None and (scored.id not in stated or row.chunk_id not in passages):
            continue  # what only belongs to the question is read in its passage, where the search finds that
        text = stated[scored.id].text if scored.id in stated else sentence(scored.triple, language)
        facts.append(
            KnownFact(
                id=scored.id,
                text=text,
                states=scored.id in stated,
                set_id=row.knowledge_set_id,
                file=row.source.name if row.source is not None else "",
                import_id=row.source_id or 0,
                passage=passages.get(row.chunk_id or 0),
                sentence=row.sentence,
                confidence=row.confidence * sure,
            )
        )
    return facts
