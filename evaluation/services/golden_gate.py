"""The gate that `knowledge` asks before it publishes: golden sets measure what they guard.

What sets share (embedding model, reranker, default settings, lexicon of the organisation) is measured on each guarded
set; the act goes on where none of them has anything to say any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import uuid4

from accounts.models import User
from evaluation.models import GatedChange, GoldenSet
from evaluation.services.gated_kinds import KINDS, inherited_changes
from evaluation.services.gates import OPEN, Kind, State, change_discard, change_hold, change_of_options, guarding_sets
from knowledge.errors import MeasuredFirstError
from knowledge.model_setup import setup_now
from knowledge.models import EmbedderSwitch, KnowledgeSet, LexiconVersion, RerankerFit, SearchModel
from knowledge.selectors.options import site_options
from knowledge.selectors.reranker_fits import LIVE_ONE
from knowledge.selectors.search_models import IN_USE, reranker_spec
from knowledge.services.options import Given, options_merge
from knowledge.services.publish_gate import GateNotice
from knowledge.versions.reranker_fits import RerankerFits
from work.versions import version_gate


class GoldenGate:
    """See `knowledge.services.publish_gate.PublishGate`."""

    def hold_options(self, *, actor: User, row: KnowledgeSet, options: Given, replaces: bool, note: str) -> int | None:
        change = change_of_options(actor=actor, knowledge_set=row, options=options, replaces=replaces, note=note)
        return None if change is None else change.pk

    def hold_texts(self, *, actor: User, row: KnowledgeSet, texts: Mapping[str, str]) -> int | None:
        payload = {"texts": dict(texts)}
        change = change_hold(actor=actor, knowledge_set=row, kind=Kind.SET_TEXTS, payload=payload)
        return None if change is None else change.pk

    def hold_lexicon(self, *, version: LexiconVersion) -> int | None:
        home, payload = version.knowledge_set, {"version": version.pk}
        if home is None:
            sets = _guarded(KnowledgeSet.objects.filter(tenant_id=version.tenant_id))
            return _hold_each(actor=version.author, kind=Kind.SITE_LEXICON, payload=payload, sets=sets)
        return _hold_each(actor=version.author, kind=Kind.LEXICON, payload=payload, sets=[home], note=version.note)

    def discard(self, *, change: int, actor: User) -> None:
        row = GatedChange.objects.filter(pk=change).first()
        if row is not None and row.is_open:
            change_discard(change=row, actor=actor)

    def hold_embedder(self, *, actor: User, switch: EmbedderSwitch) -> int | None:
        floors = switch.figures.get("calibration", {}).get("floors", {})
        payload = {"switch": switch.pk, "model": switch.model}
        further = {"floor": lambda row: floors.get(str(row.tenant_id))}
        return _hold_each(actor=actor, kind=Kind.EMBEDDER, payload=payload, sets=_guarded(), further=further)

    def hold_reranker(self, *, actor: User, model_id: int | None) -> int | None:
        """Of sets that have a reranker of their own, or none, nothing would change."""
        model = None if model_id is None else SearchModel.objects.filter(pk=model_id).first()
        waiting = GatedChange.objects.filter(kind=Kind.RERANKER, payload__model=model_id, state__in=OPEN).first()
        batch = waiting.payload["batch"] if waiting is not None else uuid4().hex
        payload = {"batch": batch, "model": model_id, "name": str(model) if model is not None else ""}
        sets = (row for row in _guarded() if _takes_reranker_of_site(row))
        return _hold_each(actor=actor, kind=Kind.RERANKER, payload=payload, sets=sets)

    def hold_site_options(
        self, *, actor: User, tenant_id: int, options: Given, replaces: bool, note: str
    ) -> int | None:
        """Sets that inherit none of what changes are not asked."""
        before = site_options(tenant_id=tenant_id)
        after = options_merge({} if replaces else before, options, layer="site")
        rows = _guarded(KnowledgeSet.objects.filter(tenant_id=tenant_id))
        sets = [row for row in rows if inherited_changes(row, before=before, after=after)]
        given = {code: dict(values) for code, values in options.items()}
        payload = {"batch": uuid4().hex, "tenant": tenant_id, "options": given, "replaces": replaces}
        return _hold_each(actor=actor, kind=Kind.SITE_OPTIONS, payload=payload, sets=sets, note=note)

    def notice(self, *, row: KnowledgeSet) -> GateNotice:
        change = GatedChange.objects.filter(knowledge_set=row, kind=Kind.SET_OPTIONS, state__in=OPEN).first()
        names = tuple(golden_set.name for golden_set in guarding_sets(knowledge_set=row))
        return GateNotice(guards=names, change=None if change is None else change.pk)


@version_gate(RerankerFits.name)
def fit_gate(fit: RerankerFit, actor: User) -> None:
    """Fitted weights of a tenant, measured on its guarded sets that the linear reranker orders. Raises
    MeasuredFirstError where there is one that has not let them pass.
    """
    rows = _guarded(KnowledgeSet.objects.filter(tenant_id=fit.tenant_id))
    sets = [row for row in rows if _takes_fitted_weights(row)]
    payload = {"fit": fit.pk, "number": fit.number}
    change = _hold_each(actor=actor, kind=Kind.RERANKER_FIT, payload=payload, sets=sets)
    if change is not None:
        raise MeasuredFirstError(change=change)


def _hold_each(
    *,
    actor: User | None,
    kind: str,
    payload: Mapping[str, Any],
    sets: Iterable[KnowledgeSet],
    note: str = "",
    further: Mapping[str, Any] | None = None,
) -> int | None:
    """The first change of these sets that waits for somebody; what was not measured yet is measured now.

    `further`: values of the payload, by set. None: every set that is guarded has let it pass.
    """
    key = KINDS[kind].shared_by or "version"
    first: int | None = None
    for row in sets:
        same = GatedChange.objects.filter(knowledge_set=row, kind=kind, **{f"payload__{key}": payload[key]})
        if same.filter(state__in=(State.PUBLISHED, State.OVERRIDDEN)).exists():
            continue
        change = same.filter(state__in=OPEN).first()
        if change is None:
            more = {name: value(row) for name, value in (further or {}).items()}
            change = change_hold(actor=actor, knowledge_set=row, kind=kind, payload={**payload, **more}, note=note)
        if first is None and change is not None:
            first = change.pk
    return first


def _guarded(among: Any = None) -> Iterator[KnowledgeSet]:
    """Knowledge sets that a golden set guards, of all tenants or among these."""
    rows = KnowledgeSet.objects.all() if among is None else among
    guards = GoldenSet.objects.filter(guards=True).order_by().values("sets")
    for row in rows.filter(pk__in=guards).order_by("pk"):
        if guarding_sets(knowledge_set=row).exists():
            yield row


def _takes_reranker_of_site(row: KnowledgeSet) -> bool:
    stored = _stored(row)
    return bool(stored.get("rerank", True)) and stored.get("reranker_model", IN_USE) == IN_USE


def _takes_fitted_weights(row: KnowledgeSet) -> bool:
    stored = _stored(row)
    is_told = stored.get("reranker_weights", LIVE_ONE) != LIVE_ONE
    reranker = reranker_spec(model_id=stored.get("reranker_model", IN_USE))
    return bool(stored.get("rerank", True)) and not is_told and (reranker or setup_now().reranker).is_linear


def _stored(row: KnowledgeSet) -> dict[str, Any]:
    """Options of the search, as site and set say."""
    return {**site_options(tenant_id=row.tenant_id).get("retrieval", {}), **row.options.get("retrieval", {})}
