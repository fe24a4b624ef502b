"""Search: the one entry point for REST, chat, evaluation and the lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge import model_registry
from knowledge.errors import GraphNotBuiltError, RetrievalTimeoutError, RetrievalUnavailableError
from knowledge.indexes.corpus_epoch import epoch_of
from knowledge.indexes.entity_graph import ScopedEntityGraph
from knowledge.indexes.search_space import passages_visible
from knowledge.indexes.statements import run_concurrently, statement_timeout
from knowledge.indexes.visibility import Visible
from knowledge.indexes.visible_passages import passages_of_sections, passages_of_versions
from knowledge.model_setup import setup_refresh
from knowledge.models import KnowledgeSet
from knowledge.options_draft import set_options_in_force
from knowledge.selectors import sets_listed
from knowledge.selectors.entities import graph_of_search
from knowledge.selectors.filters import filters_check
from knowledge.selectors.lexicon import lexicon_of_search
from knowledge.selectors.options import site_options
from knowledge.selectors.refusal_lines import refusal_lowered
from knowledge.selectors.visibility import visible_to
from knowledge.services.filters import filters_explained
from knowledge.services.focus import MOST_IN_FOCUS, narrowed_to_focus, with_focus
from knowledge.services.merging import merge_results
from knowledge.types import RetrievalRequest, Retrieved
from knowledge.wiring import query_of, retrieval_pipeline, sentence_index
from ragcore.options import Resolved, RetrievalOptions, resolve
from ragcore.ports import Together, one_after_the_other
from ragcore.retrieval.pipeline import stage_infos
from ragcore.retrieval.stage_plan import run_queries
from ragcore.retrieval.stages.selection import DUPLICATE_SIMILARITY, is_near
from ragcore.text.lexicon import TermLexicon
from ragcore.text.matching import keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.spelling import corrected_text, topic_text
from ragcore.types import Passage, StageRecord, State

STATEMENT_SECONDS = 10
APART_FROM = 15_000  # passages, from which both arms are searched at the same time
OWN_WORDS = 2  # keywords; a question with that many is understood without its conversation


def retrieve(
    *,
    scope: Scope,
    request: RetrievalRequest,
    on_stage: Callable[[StageRecord], None] | None = None,
    within: Scope | None = None,
) -> Retrieved:
    """Passages for a question, best first, within the asker's rights; `within`: and within a second person's, too.

    The forms, parts and hypothetical answers of the request are searched, too. Without these, the style "advanced"
    searches up to three forms: as written, topic words only, and with corrected spelling. Their results are
    merged (`knowledge.services.merging`).

    Raises NotFoundError for a set that does not exist, UnknownFilterError, InvalidFilterError, GraphNotBuiltError,
    InvalidOptionsError, RetrievalUnavailableError if Postgres does not answer, RetrievalTimeoutError if it takes
    longer than STATEMENT_SECONDS.
    """
    finds_forms = request.style == "advanced" and not (request.forms or request.parts)
    queries = forms_of(request.query) if finds_forms else list(dict.fromkeys((request.query, *request.forms)))
    context = [request.context] if request.context and request.context not in queries else []
    queries += context
    parts = [part for part in dict.fromkeys(request.parts) if part not in queries]
    every = retrieve_many(scope=scope, request=request, queries=[*queries, *parts], on_stage=on_stage, within=within)
    found, own = every[: len(queries)], every[len(queries) :]
    if context and len(keywords(request.query, model_registry.tokenizer())) >= OWN_WORDS:
        # what the conversation was about is near to its words, whatever is asked now
        found[-1] = replace(found[-1], relevant=False)
    if finds_forms and found[0].state.query.corrections:
        corrected = corrected_text(found[0].state.query, model_registry.tokenizer())
        found += retrieve_many(scope=scope, request=request, queries=[corrected], within=within)
    if request.hypothetical and request.mode != "bm25":
        others = {name: value for name, value in request.options.items() if name != "rerank"}  # that of a preset
        by_meaning = replace(request, mode="vector", rerank=False, cliff=False, options=others)
        found += retrieve_many(scope=scope, request=by_meaning, queries=request.hypothetical, within=within)
    found += own
    top_k = request.top_k or max(len(one.state.candidates) for one in found)
    merged = merge_results(found, top_k=top_k, parts=len(parts))
    if request.focus and (narrowed := narrowed_to_focus(request)) is not None:
        inside = retrieve_many(scope=scope, request=narrowed, queries=[request.query, *context], within=within)
        merged = with_focus(merged, merge_results(inside, top_k=MOST_IN_FOCUS), top_k=top_k)
    lowered = refusal_lowered(scope=scope, sets=request.sets, epoch=merged.epoch)
    return replace(merged, refusal_lowered=lowered) if lowered else merged


def retrieve_many(
    *,
    scope: Scope,
    request: RetrievalRequest,
    queries: Sequence[str],
    on_stage: Callable[[StageRecord], None] | None = None,
    within: Scope | None = None,
) -> list[Retrieved]:
    """The results of `retrieve` for each query as written, in order.

    `request` holds everything but the question. All queries are embedded and searched coarsely at once. Same errors.
    """
    setup_refresh()
    # another connection would not see what the caller's transaction has changed
    sees_all = not connection.in_atomic_block
    try:
        with statement_timeout(seconds=STATEMENT_SECONDS):
            sets = _sets(scope=scope, set_ids=request.sets)
            filters_check(scope=scope, filters=request.filters)
            resolved = retrieval_options(scope=scope, sets=sets, request=request)
            options = resolved.value
            visible = visible_to(scope=scope, sets=request.sets, filters=request.filters, within=within)
            epoch = epoch_of(scope=scope, visible=visible)
            lexicon = None
            if options.lexicon:
                lexicon = lexicon_of_search(scope=scope, visible=visible, sets=request.sets, within=within)
            asked = [query_of(text, profile=request.profile, style=request.style, lexicon=lexicon) for text in queries]
            asked = [replace(one, adapter=options.query_adapter, set_embedder=options.set_embedder) for one in asked]
            searched = passages_visible(scope=scope, visible=visible, epoch=epoch)
            pipeline = retrieval_pipeline(
                scope=scope,
                visible=visible,
                mode=request.mode,
                options=options,
                sets=request.sets,
                within=within,
                lexicon=lexicon,
                graph=_graph(scope=scope, visible=visible, request=request, within=within, lexicon=lexicon),
                together=_together(searched) if sees_all else one_after_the_other,
            )
            states = run_queries(pipeline, asked, on_stage=on_stage)
            warnings = filters_explained(scope=scope, filters=request.filters, searched=searched)
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise RetrievalTimeoutError from error
        raise RetrievalUnavailableError from error
    return [
        Retrieved(
            state=state,
            relevant=_is_relevant(state, options),
            timings_ms=_timings(state),
            searched=searched,
            warnings=warnings,
            duplicate_similarity=DUPLICATE_SIMILARITY if options.deduplicate else None,
            options=resolved,
            epoch=epoch,
        )
        for state in states
    ]


def _graph(
    *, scope: Scope, visible: Visible, request: RetrievalRequest, within: Scope | None, lexicon: TermLexicon | None
) -> ScopedEntityGraph | None:
    """The graph of entities that the asker sees, None where there is none for anybody.

    Raises GraphNotBuiltError where only the graph is to be searched, and nothing of it can be seen.
    """
    graph = graph_of_search(scope=scope, visible=visible, sets=request.sets, within=within, lexicon=lexicon)
    if request.mode == "graph" and (graph is None or not graph.is_built()):
        raise GraphNotBuiltError
    return graph


def sections_around(
    *, scope: Scope, request: RetrievalRequest, chunks: Sequence[int], max_tokens: int, within: Scope | None = None
) -> list[tuple[Passage, ...]]:
    """The whole section of each chunk, in reading order, if it has at most `max_tokens`.

    Within what the request may search, and within a second person's rights, too, where there is one.
    """
    visible = visible_to(scope=scope, sets=request.sets, filters=request.filters, within=within)
    with statement_timeout(seconds=STATEMENT_SECONDS):
        return passages_of_sections(scope=scope, visible=visible, chunks=chunks, max_tokens=max_tokens, any_share=True)


def document_passages(
    *, scope: Scope, request: RetrievalRequest, chunks: Sequence[int], most: int, within: Scope | None = None
) -> list[Passage]:
    """The first `most` passages of each document that one of the chunks belongs to, with vectors of their sentences.

    Documents come in the order of the chunks, passages in reading order. Within what the request may search; `within`:
    and within a second person's rights, too. Documents that the asker may not see are left out. Raises NotFoundError
    for a set that does not exist, UnknownFilterError, InvalidFilterError, InvalidOptionsError.
    """
    sets = _sets(scope=scope, set_ids=request.sets)
    options = retrieval_options(scope=scope, sets=sets, request=request).value
    visible = visible_to(scope=scope, sets=request.sets, filters=request.filters, within=within)
    with statement_timeout(seconds=STATEMENT_SECONDS):
        passages = passages_of_versions(scope=scope, visible=visible, chunks=chunks, most=most)
        index = sentence_index(scope=scope, visible=visible, options=options)
        vectors = index.vectors([passage.chunk for passage in passages]) if index is not None else {}
    places = {chunk: place for place, chunk in enumerate(chunks)}
    first: dict[int, int] = {}
    for passage in passages:
        place = places.get(passage.chunk, len(chunks))
        first[passage.version] = min(place, first.get(passage.version, place))
    told = [replace(one, sentences=vectors[one.chunk]) if one.chunk in vectors else one for one in passages]
    return sorted(told, key=lambda passage: first[passage.version])


def forms_of(question: str) -> list[str]:
    """The question, and its topic words if it has other words, too."""
    topic = topic_text(query_of(question), model_registry.tokenizer())
    return [question] if topic in ("", normalise_query(question).lower()) else [question, topic]


def retrieval_options(
    *, scope: Scope, sets: Sequence[KnowledgeSet], request: RetrievalRequest
) -> Resolved[RetrievalOptions]:
    """Options by layer: default, embedding model, purpose, site, the set if it is searched alone, mode, request.

    A search by one arm alone is reranked where the request asks for it, and not because the site does so for hybrid.
    """
    floor = model_registry.cosine_floor(tenant_id=scope.tenant_id)
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("model", {} if floor is None else {"min_cosine": round(floor, 3)}),
        ("purpose", request.defaults),
        ("site", site_options(tenant_id=scope.tenant_id).get("retrieval", {})),
    ]
    if len(sets) == 1:
        layers.append((f"set {sets[0].code}", set_options_in_force(sets[0]).get("retrieval", {})))
    if request.mode != "hybrid":
        layers.append((f"mode {request.mode}", {"rerank": False}))
    asked = {"top_k": request.top_k, "rerank": request.rerank, "cliff": request.cliff, **request.options}
    return resolve(RetrievalOptions, *layers, ("request", asked))


def is_lexicon_on(*, scope: Scope, request: RetrievalRequest) -> bool:
    """Whether a search uses the published terms, as its options say. Sets that do not exist are passed over."""
    sets = list(sets_listed(scope=scope).filter(pk__in=request.sets)) if request.sets else []
    return retrieval_options(scope=scope, sets=sets, request=request).value.lexicon


def _together(passages: int) -> Together:
    """Two searches at once, where that saves more time than a second connection costs."""
    if passages < APART_FROM:
        return one_after_the_other
    return partial(run_concurrently, seconds=STATEMENT_SECONDS)


def _sets(*, scope: Scope, set_ids: Sequence[int]) -> list[KnowledgeSet]:
    """The requested sets. Everyone may know that a set exists; the search decides what they see of it."""
    if not set_ids:
        return []
    found = list(sets_listed(scope=scope).filter(pk__in=set_ids))
    if missing := set(set_ids) - {s.pk for s in found}:
        raise NotFoundError("set", sets=sorted(missing), set=min(missing))
    return found


def _is_relevant(state: State, options: RetrievalOptions) -> bool:
    """False if no near passage was found; True where the question gives the name of a document.

    BM25 grows with the length of the question, so it is divided by the sum of the question's idf; a term that the
    corpus does not contain counts as much as the rarest one that it contains.
    """
    if state.named_documents:
        return True
    weights = state.query.weights
    named = {term for one in state.query.expansions if set(one.terms) & set(weights) for term in one.asked_terms}
    unknown = len(set(state.query.terms) - set(weights) - set(state.query.corrections) - named)
    held = sum(weights.values()) + unknown * max(weights.values(), default=1.0)
    lexical, meanings = state.arms.get("lexical"), state.arms.get("dense") or state.arms.get("coarse")
    return is_near(
        max(lexical.values(), default=0.0) / (held or 1.0) if lexical is not None else None,
        max(meanings.values()) if meanings else None,
        min_match=options.min_match,
        min_cosine=options.min_cosine,
    )


def _timings(state: State) -> dict[str, float]:
    timings = {"coarse": 0.0, "fine": 0.0, "rerank": 0.0}
    infos = stage_infos()
    for record in state.records:
        if record.stage in infos and (timing := infos[record.stage].timing):
            timings[timing] = timings.get(timing, 0.0) + 1000 * record.seconds
    timings["total"] = 1000 * sum(record.seconds for record in state.records)
    return {name: round(value, 2) for name, value in timings.items()}
