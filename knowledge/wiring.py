"""A search profile to a pipeline: here ports are bound to what one asker may see."""

from __future__ import annotations

from knowledge import model_registry
from knowledge.backends import Backend, backend_of
from knowledge.backends.adapted import AdaptedPart, AdaptedVectorIndex
from knowledge.backends.postgres import ScopedFactsIndex, ScopedFuzzyIndex, ScopedNameIndex, ScopedSentenceIndex
from knowledge.backends.set_models import ScopedSetVectors, SetModelIndex
from knowledge.indexes.sentence_vectors import space_of
from knowledge.search_profile import SearchProfile
from knowledge.selectors.use_evidence import ScopedUseIndex
from knowledge.set_questions import SetModelEmbedder
from ragcore.embedding.vectors import CachingEmbedder
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


def retrieval_pipeline(profile: SearchProfile, *, together: Together = one_after_the_other) -> PipelineRetriever:
    """The stages of a mode, bound to what a profile resolves to."""
    scope, visible, options = profile.scope, profile.visible, profile.options.value
    graph = profile.graph  # before anything is loaded: a search of nothing but the graph may have none
    embedder = profile.embedder
    backend = backend_of(scope=scope, visible=visible, model=embedder.model)
    of_questions: Embedder = CachingEmbedder(embedder)
    if by_sets := list(profile.set_questions.values()):
        backend.note["set_models"] = [questions.note for questions in by_sets]
        if len(profile.parts) == 1:
            of_questions = SetModelEmbedder(of_questions, by_sets[0])
    reranker, second_reranker = profile.rerankers
    ports = Ports(
        lexical=backend.lexical,
        vectors=_vectors(profile, backend),
        passages=backend.passages,
        fuzzy=ScopedFuzzyIndex(scope, visible),
        names=ScopedNameIndex(scope, visible),
        facts=ScopedFactsIndex(scope, visible),
        embedder=of_questions,
        tokenizer=model_registry.tokenizer(),
        lexicon=profile.lexicon or None,
        graph=graph,
        use=ScopedUseIndex(scope, visible, embedder, profile.sets) if options.use_shift > 0 else None,
        reranker=reranker,
        second_reranker=second_reranker,
        sentences=sentence_index(profile),
        together=together,
        backend_note=backend.note,
    )
    return PipelineRetriever(build(stage_plan(profile.mode, options, has_editions=visible.has_editions)), ports)


def sentence_index(profile: SearchProfile) -> SentenceIndex | None:
    """Where the vectors of sentences are looked up by the model that a search compares them with, if it gives any."""
    embedder = profile.embedder
    if not isinstance(embedder, SentenceEmbedder):
        return None
    return ScopedSentenceIndex(profile.scope, profile.visible, space_of(embedder), CachingEmbedder(embedder))


def _vectors(profile: SearchProfile, backend: Backend) -> VectorIndex:
    """The index of vectors, through the query adapters and the embedding models of the sets that are asked."""
    if all(part.adapter is None and part.own is None for part in profile.parts):
        return backend.vectors
    searched = []
    for part in profile.parts:
        index = backend.vectors
        if part.visible is not profile.visible:
            index = backend_of(scope=profile.scope, visible=part.visible, model=profile.embedder.model).vectors
        found = AdaptedPart(index, part.adapter)
        if part.own is not None:
            vectors = ScopedSetVectors(profile.scope, part.visible, part.own.model)
            questions = profile.set_questions[part.own.set_id]
            both = SetModelIndex(site=AdaptedVectorIndex([found]), own=vectors, questions=questions)
            found = AdaptedPart(both, None)
        searched.append(found)
    return AdaptedVectorIndex(searched)
