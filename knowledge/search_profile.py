"""SearchProfile: everything that decides a search besides its question, resolved once and passed whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge import model_registry
from knowledge.errors import GraphNotBuiltError
from knowledge.indexes.corpus_epoch import epoch_of
from knowledge.indexes.entity_graph import ScopedEntityGraph
from knowledge.indexes.visibility import Visible
from knowledge.models import KnowledgeSet
from knowledge.options_draft import NO_DRAFT, OptionsDraft
from knowledge.selectors.entities import graph_of_search
from knowledge.selectors.filters import filters_check
from knowledge.selectors.lexicon import lexicon_of_search
from knowledge.selectors.options import site_options
from knowledge.selectors.reranker_fits import with_fitted_weights
from knowledge.selectors.search_models import reranker_spec, switch_spec
from knowledge.selectors.search_parts import SearchPart, search_parts
from knowledge.selectors.sets import sets_listed
from knowledge.selectors.visibility import visible_to
from knowledge.set_questions import SetQuestions
from knowledge.types import FilterWarning, RetrievalMode, RetrievalRequest
from ragcore.options import Resolved, RetrievalOptions, resolve
from ragcore.ports import Embedder, Reranker
from ragcore.text.lexicon import TermLexicon
from ragcore.types import State


@dataclass(frozen=True, kw_only=True)
class SearchProfile:
    """Whose rights hold, what is searched and how: built by `search_profile`.

    `options` name an embedding model, adapters, models of sets, a reranker and its weights by number; what they name
    is looked up here, once for each profile and where a search needs it. Nothing else reads these numbers.
    """

    scope: Scope  # of the asker, limited by a second person where there is one
    visible: Visible  # what may be searched, within sets and filters
    options: Resolved[RetrievalOptions]
    mode: RetrievalMode = "hybrid"
    sets: tuple[int, ...] = ()  # that are searched; () for all
    draft: OptionsDraft = NO_DRAFT  # what is tried; its options are in `options`

    @cached_property
    def epoch(self) -> int:
        """Of the corpus, at the moment of `visible`."""
        return epoch_of(scope=self.scope, visible=self.visible)

    @cached_property
    def lexicon(self) -> TermLexicon | None:
        """The terms that questions are read with; None: there are none, or they are switched off."""
        if not self.options.value.lexicon:
            return None
        return lexicon_of_search(scope=self.scope, visible=self.visible, sets=self.sets, draft=self.draft)

    @cached_property
    def embedder(self) -> Embedder:
        """The model in use, or one whose vectors are ready: it is measured before the site is switched to it."""
        switch = self.options.value.embedder_switch
        spec = switch_spec(switch_id=switch) if switch else None
        return model_registry.embedder() if spec is None else model_registry.embedder_of(spec)

    @cached_property
    def parts(self) -> tuple[SearchPart, ...]:
        """What a search of vectors goes through: sets with an adapter or a model of their own, and the rest."""
        options = self.options.value
        parts = search_parts(
            scope=self.scope,
            visible=self.visible,
            site_model=self.embedder.model,
            sets=self.sets,
            version=options.query_adapter,
            set_embedder=options.set_embedder,
        )
        return tuple(parts)

    @cached_property
    def set_questions(self) -> Mapping[int, SetQuestions]:
        """Set -> the questions of this search by the model of the set, of those that have one."""
        return {part.own.set_id: SetQuestions(part.own) for part in self.parts if part.own is not None}

    @cached_property
    def rerankers(self) -> tuple[Reranker | None, Reranker | None]:
        """The first and the second one, with the weights that the tenant has fitted; None where there is none."""
        options = self.options.value
        if not options.rerank:
            return None, None
        spec, model = reranker_spec(model_id=options.reranker_model), self.embedder.model
        first, second = (
            with_fitted_weights(load(spec, embedding_model=model), scope=self.scope, version=options.reranker_weights)
            for load in (model_registry.reranker, model_registry.second_reranker)
        )
        return first, second

    @cached_property
    def graph(self) -> ScopedEntityGraph | None:
        """The graph of entities that the asker sees, None where there is none for anybody.

        Raises GraphNotBuiltError where only the graph is to be searched, and nothing of it can be seen.
        """
        graph = graph_of_search(
            scope=self.scope, visible=self.visible, sets=self.sets, lexicon=self.lexicon, model=self.embedder.model
        )
        if self.mode == "graph" and (graph is None or not graph.is_built()):
            raise GraphNotBuiltError
        return graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What a search found. Candidates are best first, each with its passage and all its scores."""

    state: State
    relevant: bool  # False: both arms stayed below their thresholds
    timings_ms: Mapping[str, float]  # coarse, fine, rerank, total
    searched: int  # passages that the asker may see, narrowed by sets and filters
    warnings: tuple[FilterWarning, ...] = ()  # why filters left nothing to search
    duplicate_similarity: float | None = None  # from which a passage repeats a better one; None: none was dropped
    options: Resolved[RetrievalOptions] | None = None  # of the search, with the layer of each
    epoch: int = 0  # of the corpus
    refusal_lowered: float = 0.0  # log-odds by which the asked sets' line of refusals lies below the shipped one
    profile: SearchProfile | None = field(default=None, compare=False, repr=False)  # None: files alone were searched
    # document -> the one that holds in its place, as far as the asker may open it; filled for lists of hits only
    replaced_by: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


def search_profile(*, scope: Scope, request: RetrievalRequest) -> SearchProfile:
    """The profile of a search. Uses the ORM; rights are those of this moment.

    Raises NotFoundError for a set that does not exist, UnknownFilterError, InvalidFilterError, InvalidOptionsError.
    """
    sets = _sets(scope=scope, set_ids=request.sets)
    filters_check(scope=scope, filters=request.filters)
    options = retrieval_options(scope=scope, sets=sets, request=request)
    visible = visible_to(scope=scope, sets=request.sets, filters=request.filters)
    return SearchProfile(
        scope=scope, visible=visible, options=options, mode=request.mode, sets=request.sets, draft=request.draft
    )


def retrieval_options(
    *, scope: Scope, sets: Sequence[KnowledgeSet], request: RetrievalRequest
) -> Resolved[RetrievalOptions]:
    """Options by layer: default, embedding model, purpose, site, the set if it is searched alone, mode, request.

    A search by one arm alone is reranked where the request asks for it, and not because the site does so for hybrid.
    """
    draft = request.draft
    floor = model_registry.cosine_floor(tenant_id=scope.tenant_id)
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("model", {} if floor is None else {"min_cosine": round(floor, 3)}),
        ("purpose", request.defaults),
        ("site", site_options(tenant_id=scope.tenant_id, draft=draft).get("retrieval", {})),
    ]
    if len(sets) == 1:
        of_set = draft.sets.get(sets[0].pk, sets[0].options)
        layers.append((f"set {sets[0].code}", of_set.get("retrieval", {})))
    if request.mode != "hybrid":
        layers.append((f"mode {request.mode}", {"rerank": False}))
    asked = {"top_k": request.top_k, "rerank": request.rerank, "cliff": request.cliff, **request.options}
    return resolve(RetrievalOptions, *layers, ("request", asked))


def is_lexicon_on(*, scope: Scope, request: RetrievalRequest) -> bool:
    """Whether a search uses the published terms, as its options say. Sets that do not exist are passed over."""
    sets = list(sets_listed(scope=scope).filter(pk__in=request.sets)) if request.sets else []
    return retrieval_options(scope=scope, sets=sets, request=request).value.lexicon


def _sets(*, scope: Scope, set_ids: Sequence[int]) -> list[KnowledgeSet]:
    """The requested sets. Everyone may know that a set exists; the search decides what they see of it."""
    if not set_ids:
        return []
    found = list(sets_listed(scope=scope).filter(pk__in=set_ids))
    if missing := set(set_ids) - {s.pk for s in found}:
        raise NotFoundError("set", sets=sorted(missing), set=min(missing))
    return found
