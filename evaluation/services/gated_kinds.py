"""What the gate can measure of a set: options, texts, lexicon, fitted query vectors; and of what all sets share:
embedding model, reranker and its fitted weights, default settings, lexicon of the organisation.

How the draft is asked, how it is published, and what becomes of it when it is given up. The reranker of a set is among
its options. What sets share is one change for each guarded set: it is published with the last of them, and given up
with the first that is. A further kind is one class with an entry in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from chat.models import Experiment
from evaluation.errors import ChangeNotDecidableError
from evaluation.models import GatedChange, OptionsDraft
from evaluation.services.runs.plans import ConfigurationPlan, Tried
from knowledge.model_registry import live_model
from knowledge.model_setup import setup_now
from knowledge.models import KnowledgeSet, LexiconVersion, QueryAdapter, RerankerFit, SetEmbedder
from knowledge.options_draft import PROMPT_TEXTS
from knowledge.selectors.options import QUERY_GROUPS, site_options
from knowledge.selectors.search_models import OF_ENVIRONMENT
from knowledge.services.embedder_switch import switch_check, switch_finish
from knowledge.services.lexicon import lexicon_version_drop, lexicon_version_use
from knowledge.services.options import ChangeNote, Given, options_merge, set_options_update, site_options_update
from knowledge.services.search_models import reranker_use
from knowledge.services.set_embedders import set_embedder_switch_on
from knowledge.services.sets import set_update
from knowledge.versions.query_adapters import QueryAdapters
from knowledge.versions.reranker_fits import RerankerFits
from ragcore.options import options_sha256
from work.versions import version_activate

DRAFT = "draft"  # name of the configuration


class GatedKind(Protocol):
    """One kind of change that is measured before it is published."""

    shared_by: str  # what in `payload` changes of several sets have in common that are one act; "": of one set alone

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        """How the draft is asked."""
        ...

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> Callable[[], object] | None:
        """Make it live. Raises what the service of its kind raises.

        Returns what is left to do once the transaction is committed, because it asks a model and must hold no locks.
        """
        ...

    def discard(self, change: GatedChange) -> None:
        """Give up what waits for it."""
        ...


class SetOptionsKind:
    """Options of a knowledge set; `payload`: {"options", "replaces"}, and where it is one "draft" or "experiment"."""

    shared_by = ""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        options = asked_options(
            change.knowledge_set, options=change.payload["options"], replaces=change.payload["replaces"]
        )
        return ConfigurationPlan(name=DRAFT, options=options)

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        before, draft = change.knowledge_set.options, _draft_of(change)
        values_before = draft_values_live(draft, change.knowledge_set) if draft else {}
        set_options_update(
            scope=scope,
            actor=actor,
            set_id=change.knowledge_set_id,
            options=change.payload["options"],
            replaces=change.payload["replaces"],
            why=ChangeNote(note=change.note, is_measured=True),
        )
        if draft is not None:
            draft_note_published(draft, before=values_before)
        ended = (Experiment.State.PUBLISHED, Experiment.State.ROLLED_BACK)
        mine = Experiment.objects.select_for_update().filter(pk=change.payload.get("experiment"))
        if experiment := mine.exclude(state__in=ended).first():
            experiment_note_published(experiment, before=before)

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class SetTextsKind:
    """Texts of `PROMPT_TEXTS` of a knowledge set; `payload`: {"texts": field -> text}, and where it is one "draft"."""

    shared_by = ""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, tried=Tried(texts=change.payload["texts"]))

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        texts, set_id, draft = change.payload["texts"], change.knowledge_set_id, _draft_of(change)
        before = draft_values_live(draft, change.knowledge_set) if draft else {}
        set_update(scope=scope, actor=actor, set_id=set_id, values=texts, is_measured=True)
        if draft is not None:
            draft_note_published(draft, before=before)

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class LexiconKind:
    """A version of the lexicon of a knowledge set, whose names are indexed already; `payload`: {"version": id}."""

    shared_by = ""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, tried=Tried(lexicon=change.payload["version"]))

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        if not lexicon_version_use(version_id=change.payload["version"]):
            raise ChangeNotDecidableError("stale")

    def discard(self, change: GatedChange) -> None:
        lexicon_version_drop(version_id=change.payload["version"])


class QueryAdapterKind:
    """Fitted query vectors of a knowledge set; `payload`: {"adapter": id, "number"}."""

    shared_by = ""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, options={"retrieval": {"query_adapter": change.payload["number"]}})

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        version_publish(QueryAdapters.name, change.payload["adapter"], change, scope=scope, actor=actor)

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class SetEmbedderKind:
    """An embedding model of a knowledge set, whose vectors are ready; `payload`: {"embedder": id, "number"}."""

    shared_by = ""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, options={"retrieval": {"set_embedder": change.payload["number"]}})

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        set_embedder_switch_on(scope=scope, actor=actor, embedder_id=change.payload["embedder"], reason=change.reason)

    def discard(self, change: GatedChange) -> None:
        """Its vectors stay, until its owners cancel it."""


class EmbedderKind:
    """Another embedding model of the site; `payload`: {"switch": id, "model", "floor"}."""

    shared_by = "switch"

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        options: dict[str, Any] = {"embedder_switch": change.payload["switch"]}
        is_default = "min_cosine" not in change.knowledge_set.options.get("retrieval", {})
        if is_default and (floor := change.payload.get("floor")) is not None:
            options["min_cosine"] = round(floor, 3)
        return ConfigurationPlan(name=DRAFT, options={"retrieval": options})

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> Callable[[], object] | None:
        if not is_last(change):
            return None
        given: dict[str, Any] = {"scope": scope, "switch_id": change.payload["switch"]}
        switch_check(**given)
        return partial(switch_finish, **given, actor=actor, reason=change.reason)

    def discard(self, change: GatedChange) -> None:
        """Its vectors stay, until the change of the model is cancelled."""


class RerankerKind:
    """Another reranker of the site; `payload`: {"batch", "model": id or None, "name"}."""

    shared_by = "batch"

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        model = change.payload["model"]
        reranker = OF_ENVIRONMENT if model is None else model
        return ConfigurationPlan(name=DRAFT, options={"retrieval": {"reranker_model": reranker}})

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        if is_last(change):
            reranker_use(scope=scope, actor=actor, model_id=change.payload["model"], reason=change.reason)

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class RerankerFitKind:
    """Fitted weights of the reranker of a tenant; `payload`: {"fit": id, "number"}."""

    shared_by = "fit"

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, options={"retrieval": {"reranker_weights": change.payload["number"]}})

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        if is_last(change):
            version_publish(RerankerFits.name, change.payload["fit"], change, scope=scope, actor=actor)

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class SiteOptionsKind:
    """Options that the sets of a tenant inherit; `payload`: {"batch", "tenant": id, "options", "replaces"}."""

    shared_by = "batch"

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        given = change.payload
        before = {} if given["replaces"] else site_options(tenant_id=given["tenant"])
        return ConfigurationPlan(name=DRAFT, tried=Tried(site=options_merge(before, given["options"], layer="site")))

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        if is_last(change):
            site_options_update(
                scope=scope,
                actor=actor,
                tenant_id=change.payload["tenant"],
                options=change.payload["options"],
                replaces=change.payload["replaces"],
                why=ChangeNote(note=change.note, is_measured=True),
            )

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class SiteLexiconKind:
    """A version of the lexicon of a tenant, whose names are indexed already; `payload`: {"version": id}."""

    shared_by = "version"

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, tried=Tried(site_lexicon=change.payload["version"]))

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        if is_last(change) and not lexicon_version_use(version_id=change.payload["version"]):
            raise ChangeNotDecidableError("stale")

    def discard(self, change: GatedChange) -> None:
        lexicon_version_drop(version_id=change.payload["version"])


KINDS: Mapping[str, GatedKind] = {
    GatedChange.Kind.SET_OPTIONS: SetOptionsKind(),
    GatedChange.Kind.SET_TEXTS: SetTextsKind(),
    GatedChange.Kind.LEXICON: LexiconKind(),
    GatedChange.Kind.QUERY_ADAPTER: QueryAdapterKind(),
    GatedChange.Kind.SET_EMBEDDER: SetEmbedderKind(),
    GatedChange.Kind.EMBEDDER: EmbedderKind(),
    GatedChange.Kind.RERANKER: RerankerKind(),
    GatedChange.Kind.RERANKER_FIT: RerankerFitKind(),
    GatedChange.Kind.SITE_OPTIONS: SiteOptionsKind(),
    GatedChange.Kind.SITE_LEXICON: SiteLexiconKind(),
}


def version_publish(kind: str, version_id: int, change: GatedChange, *, scope: Scope, actor: User) -> None:
    """Bring a version into use whose measuring is over. Raises what `version_activate` raises."""
    version_activate(kind=kind, scope=scope, actor=actor, version_id=version_id, reason=change.reason, is_measured=True)


def changes_together(change: GatedChange) -> QuerySet[GatedChange]:
    """The changes of other sets that are one act with this one; none for what one set has alone."""
    key = KINDS[change.kind].shared_by
    if not key:
        return GatedChange.objects.none()
    same = GatedChange.objects.filter(kind=change.kind, **{f"payload__{key}": change.payload[key]})
    return same.exclude(knowledge_set=change.knowledge_set_id)


def is_last(change: GatedChange) -> bool:
    """Whether every other set has let the act pass: the latest change of each is published."""
    latest = changes_together(change).order_by("knowledge_set_id", "-pk").distinct("knowledge_set_id")
    passed = (GatedChange.State.PUBLISHED, GatedChange.State.OVERRIDDEN)
    return all(change_of_set.state in passed for change_of_set in latest)


def _draft_of(change: GatedChange) -> OptionsDraft | None:
    """The open draft of a case that a change publishes; None where it comes from elsewhere."""
    return OptionsDraft.objects.filter(pk=change.payload.get("draft"), state=OptionsDraft.State.OPEN).first()


def draft_values_live(draft: OptionsDraft, row: KnowledgeSet) -> Mapping[str, Any]:
    """What a set has now in the group of a draft: option or text -> value."""
    if draft.group == OptionsDraft.Group.TEXTS:
        return {name: getattr(row, name) for name in PROMPT_TEXTS}
    values: Mapping[str, Any] = row.options.get(draft.group, {})
    return values


def draft_note_published(draft: OptionsDraft, *, before: Mapping[str, Any]) -> None:
    """Note that a draft is in force. `before`: values of its group until then, for taking it back."""
    figures = {**draft.figures, "before": {name: before.get(name) for name in draft.options}}
    draft.state, draft.published, draft.figures = OptionsDraft.State.PUBLISHED, timezone.now(), figures
    draft.save(update_fields=["state", "published", "figures"])


def experiment_note_published(experiment: Experiment, *, before: Mapping[str, Any]) -> None:
    """End an experiment whose settings are now those of the set. `before`: the settings until then, for going back."""
    experiment.state, experiment.before = Experiment.State.PUBLISHED, before
    experiment.ended = experiment.ended or timezone.now()
    experiment.save(update_fields=["state", "ended", "before"])


def asked_options(row: KnowledgeSet, *, options: Given, replaces: bool) -> dict[str, dict[str, Any]]:
    """What of the options shapes answers and would change; None takes a value back. Empty: nothing to measure.

    How documents are read and chunked shows only after they have been re-processed, so it cannot be measured before.
    """
    before = row.options
    after = options_merge({} if replaces else before, options, layer=f"set {row.code}")
    changed: dict[str, dict[str, Any]] = {}
    for code in QUERY_GROUPS:
        old, new = before.get(code, {}), after.get(code, {})
        names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        if names:
            changed[code] = {name: new.get(name) for name in names}
    return changed


def inherited_changes(row: KnowledgeSet, *, before: Given, after: Given) -> bool:
    """Whether other default settings change how questions are answered from a set."""
    for code in QUERY_GROUPS:
        old, new, of_set = before.get(code, {}), after.get(code, {}), row.options.get(code, {})
        if any(old.get(name) != new.get(name) and name not in of_set for name in {**old, **new}):
            return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _LiveState:
    options: Mapping[str, Any]
    inherited: Mapping[str, Any]  # options of the site that shape answers
    texts: Mapping[str, str]
    lexicon: int | None  # version in use
    site_lexicon: int | None  # that of the tenant
    reranker: str
    reranker_fit: int | None  # number of the weights in use
    query_adapter: int | None  # number of the version in use
    set_embedder: int | None  # number of the embedding model of the set that is in use
    embedder: str  # name of the vectors in use


def live_sha256(row: KnowledgeSet) -> str:
    """A fingerprint of all that the gate guards of a set: when it is another one, a measurement is out of date."""
    site = site_options(tenant_id=row.tenant_id)
    live = LexiconVersion.objects.filter(tenant_id=row.tenant_id, state=LexiconVersion.State.LIVE)
    lexicons: dict[int | None, int] = dict(live.order_by("pk").values_list("knowledge_set_id", "pk"))
    adapters = QueryAdapter.objects.filter(knowledge_set=row, state=QueryAdapter.State.LIVE)
    embedders = SetEmbedder.objects.filter(knowledge_set=row, state=SetEmbedder.State.LIVE)
    fits = RerankerFit.objects.filter(tenant_id=row.tenant_id, state=RerankerFit.State.LIVE)
    state = _LiveState(
        options=dict(row.options),
        inherited={code: site[code] for code in QUERY_GROUPS if site.get(code)},
        texts={name: getattr(row, name) for name in PROMPT_TEXTS},
        lexicon=lexicons.get(row.pk),
        site_lexicon=lexicons.get(None),
        reranker=setup_now().reranker.client,
        reranker_fit=fits.values_list("number", flat=True).first(),
        query_adapter=adapters.values_list("number", flat=True).first(),
        set_embedder=embedders.values_list("number", flat=True).first(),
        embedder=live_model(),
    )
    return options_sha256(state)
