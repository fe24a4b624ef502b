"""What the gate can measure of a set: options, texts, lexicon, fitted query vectors, another embedding model (D34).

How the draft is asked, how it is published, and what becomes of it when it is given up. The reranker of a set is among
its options. A further kind is one class with an entry in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from evaluation.errors import ChangeNotDecidableError
from evaluation.models import GatedChange, OptionsDraft
from evaluation.services.run_plans import ConfigurationPlan, Tried
from knowledge.model_registry import live_model
from knowledge.models import KnowledgeSet, LexiconVersion, QueryAdapter
from knowledge.options_draft import PROMPT_TEXTS
from knowledge.selectors.options import QUERY_GROUPS
from knowledge.services.embedder_switch import switch_finish
from knowledge.services.lexicon import lexicon_version_drop, lexicon_version_use
from knowledge.services.options import ChangeNote, Given, options_merge, set_options_update
from knowledge.services.query_adapters import adapter_switch_on
from knowledge.services.sets import set_update
from ragcore.options import options_sha256

DRAFT = "draft"  # name of the configuration


class GatedKind(Protocol):
    """One kind of change that is measured before it is published."""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        """How the draft is asked."""
        ...

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        """Make it live. Raises what the service of its kind raises."""
        ...

    def discard(self, change: GatedChange) -> None:
        """Give up what waits for it."""
        ...


class SetOptionsKind:
    """Options of a knowledge set; `payload`: {"options", "replaces"}, and "draft" where one of a case is published."""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        asked = asked_options(
            change.knowledge_set, options=change.payload["options"], replaces=change.payload["replaces"]
        )
        return ConfigurationPlan(name=DRAFT, options=asked)

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        before = change.knowledge_set.options.get("retrieval", {})
        set_options_update(
            scope=scope,
            actor=actor,
            set_id=change.knowledge_set_id,
            options=change.payload["options"],
            replaces=change.payload["replaces"],
            why=ChangeNote(note=change.note, is_measured=True),
        )
        if draft := OptionsDraft.objects.filter(pk=change.payload.get("draft"), state=OptionsDraft.State.OPEN).first():
            draft_note_published(draft, before=before)

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class SetTextsKind:
    """Texts of `PROMPT_TEXTS` of a knowledge set; `payload`: {"texts": field -> text}."""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, tried=Tried(texts=change.payload["texts"]))

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        texts, set_id = change.payload["texts"], change.knowledge_set_id
        set_update(scope=scope, actor=actor, set_id=set_id, values=texts, is_measured=True)

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class LexiconKind:
    """A version of the lexicon of a knowledge set, whose names are indexed already; `payload`: {"version": id}."""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, tried=Tried(lexicon=change.payload["version"]))

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        if not lexicon_version_use(version_id=change.payload["version"]):
            raise ChangeNotDecidableError("stale")

    def discard(self, change: GatedChange) -> None:
        lexicon_version_drop(version_id=change.payload["version"])


class QueryAdapterKind:
    """Fitted query vectors of a knowledge set; `payload`: {"adapter": id, "number"}."""

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        return ConfigurationPlan(name=DRAFT, options={"retrieval": {"query_adapter": change.payload["number"]}})

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        adapter_switch_on(scope=scope, actor=actor, adapter_id=change.payload["adapter"], reason=change.note)

    def discard(self, change: GatedChange) -> None:
        """Nothing waits."""


class EmbedderKind:
    """Another embedding model of the site, measured on one knowledge set; `payload`: {"switch": id, "model", "floor"}.

    Each guarded set has a change of its own; the site is switched with the last one that is published.
    """

    def draft(self, change: GatedChange) -> ConfigurationPlan:
        asked: dict[str, Any] = {"embedder_switch": change.payload["switch"]}
        is_default = "min_cosine" not in change.knowledge_set.options.get("retrieval", {})
        if is_default and (floor := change.payload.get("floor")) is not None:
            asked["min_cosine"] = round(floor, 3)
        return ConfigurationPlan(name=DRAFT, options={"retrieval": asked})

    def publish(self, change: GatedChange, *, scope: Scope, actor: User) -> None:
        same = GatedChange.objects.filter(kind=change.kind, payload__switch=change.payload["switch"])
        undecided = same.exclude(pk=change.pk).filter(
            state__in=(GatedChange.State.MEASURING, GatedChange.State.PASSED, GatedChange.State.FAILED)
        )
        if not undecided.exists():
            switch_finish(scope=scope, actor=actor, switch_id=change.payload["switch"], reason=change.reason)

    def discard(self, change: GatedChange) -> None:
        """Its vectors stay, until the change of the model is cancelled."""


KINDS: Mapping[str, GatedKind] = {
    GatedChange.Kind.SET_OPTIONS: SetOptionsKind(),
    GatedChange.Kind.SET_TEXTS: SetTextsKind(),
    GatedChange.Kind.LEXICON: LexiconKind(),
    GatedChange.Kind.QUERY_ADAPTER: QueryAdapterKind(),
    GatedChange.Kind.EMBEDDER: EmbedderKind(),
}


def draft_note_published(draft: OptionsDraft, *, before: Mapping[str, Any]) -> None:
    """Note that a draft is in force. `before`: options of the search until then, for taking it back."""
    figures = {**draft.figures, "before": {name: before.get(name) for name in draft.options}}
    draft.state, draft.published, draft.figures = OptionsDraft.State.PUBLISHED, timezone.now(), figures
    draft.save(update_fields=["state", "published", "figures"])


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _LiveState:
    options: Mapping[str, Any]
    texts: Mapping[str, str]
    lexicon: int | None  # version in use
    query_adapter: int | None  # number of the version in use
    embedder: str  # name of the vectors in use


def live_sha256(row: KnowledgeSet) -> str:
    """A fingerprint of all that the gate guards of a set: when it is another one, a measurement is out of date."""
    live = LexiconVersion.objects.filter(knowledge_set=row, state=LexiconVersion.State.LIVE)
    adapters = QueryAdapter.objects.filter(knowledge_set=row, state=QueryAdapter.State.LIVE)
    state = _LiveState(
        options=dict(row.options),
        texts={name: getattr(row, name) for name in PROMPT_TEXTS},
        lexicon=live.order_by().values_list("pk", flat=True).first(),
        query_adapter=adapters.values_list("number", flat=True).first(),
        embedder=live_model(),
    )
    return options_sha256(state)
