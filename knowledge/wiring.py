"""Scope and options to a pipeline: here ports are bound to what one asker may see."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.scope import Scope
from knowledge import model_registry
from knowledge.backends import Backend, backend_of
from knowledge.backends.adapted import AdaptedPart, AdaptedVectorIndex
from knowledge.backends.postgres import ScopedFactsIndex, ScopedFuzzyIndex, ScopedNameIndex, ScopedSentenceIndex
from knowledge.backends.set_models import ScopedSetVectors, SetModelIndex
from knowledge.backends.set_questions import SetModelEmbedder
from knowledge.indexes.entity_graph import ScopedEntityGraph
from knowledge.indexes.sentence_vectors import space_of
from knowledge.indexes.visibility import Visible
from knowledge.selectors.reranker_fits import with_fitted_weights
from knowledge.selectors.search_models import reranker_spec, switch_spec
from knowledge.selectors.search_parts import SearchPart, search_parts
from knowledge.selectors.use_evidence import ScopedUseIndex
from knowledge.types import RetrievalMode
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.options import RetrievalOptions
from ragcore.ports import (
    Embedder,
    Ports,
    SentenceEmbedder,
    SentenceIndex,
    Together,
    VectorIndex,
    one_after_the_other,
)
from ragcore.retrieval.pipeline import PipelineRetriever, build
from ragcore.retrieval.stage_plan import stage_plan
from ragcore.text.lexicon import LexiconTokenizer, TermLexicon
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import cjk_share, language_of
from ragcore.types import Profile, Query


def query_of(
    text: str, *, profile: Profile | None = None, style: str = "", lexicon: TermLexicon | None = None
) -> Query:
    """A question as the stages want it, with whole terms of the lexicon and the other names of what it mentions."""
    normal = normalise_query(text)
    base = model_registry.tokenizer()
    tokenizer = LexiconTokenizer(base, lexicon) if lexicon else base
    return Query(
        text=normal,
        terms=tuple(tokenizer.terms(normal)),
        words=tuple(tokenizer.words(normal)),
        language=language_of(normal),
        cjk_share=cjk_share(normal),
        expansions=tuple(lexicon.expansions(normal)) if lexicon else (),
        profile=profile,
        style=style,
    )


def retrieval_pipeline(
    *,
    scope: Scope,
    visible: Visible,
    mode: RetrievalMode,
    options: RetrievalOptions,
    sets: Sequence[int] = (),
    within: Scope | None = None,
    lexicon: TermLexicon | None = None,
    graph: ScopedEntityGraph | None = None,
    together: Together = one_after_the_other,
) -> PipelineRetriever:
    """The stages of a mode, bound to the asker's rights; `within`: and to a second person's, as `visible` is."""
    embedder = _embedder(options)
    backend = backend_of(scope=scope, visible=visible, model=embedder.model)
    asked: Embedder = CachingEmbedder(embedder)
    parts = search_parts(
        scope=scope,
        visible=visible,
        site_model=embedder.model,
        sets=sets,
        version=options.query_adapter,
        set_embedder=options.set_embedder,
        within=within,
    )
    if own := [part.own for part in parts if part.own is not None]:
        backend.note["set_models"] = [one.as_note() for one in own]
        asked = SetModelEmbedder(asked, own, backend.note["set_models"], is_whole=len(parts) == 1)
    reranker = reranker_spec(model_id=options.reranker_model)
    first, second = (
        with_fitted_weights(
            found(reranker, embedding_model=embedder.model), scope=scope, version=options.reranker_weights
        )
        for found in (model_registry.reranker, model_registry.second_reranker)
    )
    ports = Ports(
        lexical=backend.lexical,
        vectors=_vectors(scope, visible, backend, parts, embedder.model),
        passages=backend.passages,
        fuzzy=ScopedFuzzyIndex(scope, visible),
        names=ScopedNameIndex(scope, visible),
        facts=ScopedFactsIndex(scope, visible, within),
        embedder=asked,
        tokenizer=model_registry.tokenizer(),
        lexicon=lexicon or None,
        graph=graph,
        use=ScopedUseIndex(scope, visible, embedder, sets, within) if options.use_shift > 0 else None,
        reranker=first if options.rerank else None,
        second_reranker=second if options.rerank else None,
        sentences=_sentences(scope, visible, embedder),
        together=together,
        backend_note=backend.note,
    )
    return PipelineRetriever(build(stage_plan(mode, options)), ports)


def _embedder(options: RetrievalOptions) -> Embedder:
    """The model in use, or one whose vectors are ready: it is measured before the site is switched to it."""
    if options.embedder_switch:
        spec = switch_spec(switch_id=options.embedder_switch)
        if spec is not None:
            return model_registry.embedder_of(spec)
    return model_registry.embedder()


def sentence_index(*, scope: Scope, visible: Visible, options: RetrievalOptions) -> SentenceIndex | None:
    """Where the vectors of sentences are looked up by the model that a search compares them with, if it gives any."""
    return _sentences(scope, visible, _embedder(options))


def _sentences(scope: Scope, visible: Visible, embedder: Embedder) -> SentenceIndex | None:
    """The vectors of sentences by the model in use, where it gives any."""
    if not isinstance(embedder, SentenceEmbedder):
        return None
    return ScopedSentenceIndex(scope, visible, space_of(embedder), CachingEmbedder(embedder))


def _vectors(scope: Scope, visible: Visible, backend: Backend, parts: Sequence[SearchPart], model: str) -> VectorIndex:
    """The index of vectors, through the query adapters and the embedding models of the sets that are asked."""
    if all(part.adapter is None and part.own is None for part in parts):
        return backend.vectors
    notes = iter(backend.note.get("set_models", ()))
    searched = []
    for part in parts:
        index = backend.vectors
        if part.visible is not visible:
            index = backend_of(scope=scope, visible=part.visible, model=model).vectors
        found = AdaptedPart(index, part.adapter)
        if part.own is not None:
            vectors = ScopedSetVectors(scope, part.visible, part.own.model)
            both = SetModelIndex(site=AdaptedVectorIndex([found]), own=vectors, used=part.own, note=next(notes))
            found = AdaptedPart(both, None)
        searched.append(found)
    return AdaptedVectorIndex(searched)
