"""Search: the one entry point for REST, chat, evaluation and the lab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

from accounts.scope import Scope
from knowledge import model_registry
from knowledge.errors import RetrievalTimeoutError, RetrievalUnavailableError
from knowledge.indexes.search_space import passages_visible
from knowledge.indexes.statements import run_concurrently, statement_timeout
from knowledge.indexes.visible_passages import passages_of_sections, passages_of_versions
from knowledge.model_setup import setup_refresh
from knowledge.search_profile import Retrieved, search_profile
from knowledge.selectors.refusal_lines import refusal_lowered
from knowledge.selectors.visibility import visible_to
from knowledge.services.filters import filters_explained
from knowledge.services.focus import MOST_IN_FOCUS, narrowed_to_focus, with_focus
from knowledge.services.merging import merge_results
from knowledge.types import RetrievalRequest
from knowledge.wiring import query_of, retrieval_pipeline, sentence_index
from ragcore.options import RetrievalOptions
from ragcore.ports import Together, one_after_the_other
from ragcore.retrieval.pipeline import stage_infos
from ragcore.retrieval.stage_plan import run_queries
from ragcore.retrieval.stages.selection import DUPLICATE_SIMILARITY, is_near
from ragcore.text.matching import keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.spelling import corrected_text, topic_text
from ragcore.types import Passage, StageRecord, State

STATEMENT_SECONDS = 10
APART_FROM = 15_000  # passages, from which both arms are searched at the same time
MOST_FORMS_BESIDE = 1  # of a request, beside those of a style: an abbreviation that is written out
OWN_WORDS = 2  # keywords; a question with that many is understood without its conversation


def retrieve(
    *,
    scope: Scope,
    request: RetrievalRequest,
    on_stage: Callable[[StageRecord], None] | None = None,
) -> Retrieved:
    """Passages for a question, best first, within the asker's rights.

    The forms, parts and hypothetical answers of the request are searched, too. With no part and one form at most, the
    style "advanced" searches up to three forms of its own: as written, topic words only, and with corrected spelling.
    Their results are merged (`knowledge.services.merging`).

    Raises NotFoundError for a set that does not exist, UnknownFilterError, InvalidFilterError, GraphNotBuiltError,
    InvalidOptionsError, RetrievalUnavailableError if Postgres does not answer, RetrievalTimeoutError if it takes
    longer than STATEMENT_SECONDS.
    """
    finds_forms = request.style == "advanced" and len(request.forms) <= MOST_FORMS_BESIDE and not request.parts
    of_style = forms_of(request.query) if finds_forms else []
    queries = list(dict.fromkeys((request.query, *request.forms, *of_style)))
    context = [request.context] if request.context and request.context not in queries else []
    queries += context
    parts = [part for part in dict.fromkeys(request.parts) if part not in queries]
    every = retrieve_many(scope=scope, request=request, queries=[*queries, *parts], on_stage=on_stage)
    found, own = every[: len(queries)], every[len(queries) :]
    if context and len(keywords(request.query, model_registry.tokenizer())) >= OWN_WORDS:
        # what the conversation was about is near to its words, whatever is asked now
        found[-1] = replace(found[-1], relevant=False)
    if finds_forms and found[0].state.query.corrections:
        passages = [c.passage.text for c in found[0].state.candidates if c.passage is not None]
        corrected = corrected_text(found[0].state.query, model_registry.tokenizer(), passages=passages)
        if normalise_query(corrected) not in queries:
            found += retrieve_many(scope=scope, request=request, queries=[corrected])
    if request.hypothetical and request.mode != "bm25":
        others = {name: value for name, value in request.options.items() if name != "rerank"}  # that of a preset
        by_meaning = replace(request, mode="vector", rerank=False, cliff=False, options=others)
        found += retrieve_many(scope=scope, request=by_meaning, queries=request.hypothetical)
    found += own
    top_k = request.top_k or max(len(one.state.candidates) for one in found)
    merged = merge_results(
        found,
        top_k=top_k,
        parts=len(parts),
        documents_each=request.documents_each,
        in_conversation=bool(context),
    )
    if request.focus and (narrowed := narrowed_to_focus(request)) is not None:
        inside = retrieve_many(scope=scope, request=narrowed, queries=[request.query, *context])
        merged = with_focus(merged, merge_results(inside, top_k=MOST_IN_FOCUS), top_k=top_k)
    lowered = refusal_lowered(scope=scope.persons[0], sets=request.sets, epoch=merged.epoch)
    return replace(merged, refusal_lowered=lowered) if lowered else merged


def retrieve_many(
    *,
    scope: Scope,
    request: RetrievalRequest,
    queries: Sequence[str],
    on_stage: Callable[[StageRecord], None] | None = None,
) -> list[Retrieved]:
    """The results of `retrieve` for each query as written, in order.

    `request` holds everything but the question. All queries are embedded and searched coarsely at once. Same errors.
    """
    setup_refresh()
    # another connection would not see what the caller's transaction has changed
    sees_all = not connection.in_atomic_block
    try:
        with statement_timeout(seconds=STATEMENT_SECONDS):
            profile = search_profile(scope=scope, request=request)
            searched = passages_visible(scope=scope, visible=profile.visible, epoch=profile.epoch)
            pipeline = retrieval_pipeline(profile, together=_together(searched) if sees_all else one_after_the_other)
            forms = [
                query_of(text, profile=request.profile, style=request.style, lexicon=profile.lexicon)
                for text in queries
            ]
            states = run_queries(pipeline, forms, on_stage=on_stage)
            warnings = filters_explained(scope=scope, filters=request.filters, searched=searched)
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise RetrievalTimeoutError from error
        raise RetrievalUnavailableError from error
    options = profile.options.value
    return [
        Retrieved(
            state=state,
            relevant=_is_relevant(state, options),
            timings_ms=_timings(state),
            searched=searched,
            warnings=warnings,
            duplicate_similarity=DUPLICATE_SIMILARITY if options.deduplicate else None,
            options=profile.options,
            epoch=profile.epoch,
            profile=profile,
        )
        for state in states
    ]


def sections_around(
    *, scope: Scope, request: RetrievalRequest, chunks: Sequence[int], max_tokens: int
) -> list[tuple[Passage, ...]]:
    """The whole section of each chunk, in reading order, if it has at most `max_tokens`.

    Within what the request may search.
    """
    visible = visible_to(scope=scope, sets=request.sets, filters=request.filters)
    with statement_timeout(seconds=STATEMENT_SECONDS):
        return passages_of_sections(scope=scope, visible=visible, chunks=chunks, max_tokens=max_tokens, any_share=True)


def document_passages(*, scope: Scope, request: RetrievalRequest, chunks: Sequence[int], most: int) -> list[Passage]:
    """The first `most` passages of each document that one of the chunks belongs to, with vectors of their sentences.

    Documents come in the order of the chunks, passages in reading order. Within what the request may search;
    documents that the asker may not see are left out. Raises NotFoundError for a set that does not exist,
    UnknownFilterError, InvalidFilterError, InvalidOptionsError.
    """
    profile = search_profile(scope=scope, request=request)
    with statement_timeout(seconds=STATEMENT_SECONDS):
        passages = passages_of_versions(scope=scope, visible=profile.visible, chunks=chunks, most=most)
        index = sentence_index(profile)
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


def _together(passages: int) -> Together:
    """Two searches at once, where that saves more time than a second connection costs."""
    if passages < APART_FROM:
        return one_after_the_other
    return partial(run_concurrently, seconds=STATEMENT_SECONDS)


def _is_relevant(state: State, options: RetrievalOptions) -> bool:
    """False if no near passage was found; True where the question gives the name of a document.

    BM25 grows with the length of the question, so it is divided by the sum of the question's idf.
    """
    if state.named_documents:
        return True
    weight = state.query.known_and_unknown_weight
    lexical, meanings = state.arms.get("lexical"), state.arms.get("dense") or state.arms.get("coarse")
    return is_near(
        max(lexical.values(), default=0.0) / (weight or 1.0) if lexical is not None else None,
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
