"""Port of the gate between a saved change and its publication; upper apps register one, else none applies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from accounts.models import User
from knowledge.models import EmbedderSwitch, KnowledgeSet, LexiconVersion

Given = Mapping[str, Mapping[str, Any]]

_gates: list[PublishGate] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class GateNotice:
    """Notice about the gate of a set for people who change it."""

    guards: tuple[str, ...]  # names of what is measured; empty: changes are published at once
    change: int | None = None  # the change that is open


class PublishGate(Protocol):
    """Measures changes of a set before they are published. Each method: id of what is measured now; None: publish."""

    def hold_options(self, *, actor: User, row: KnowledgeSet, options: Given, replaces: bool, note: str) -> int | None:
        """Options of a set."""
        ...

    def hold_texts(self, *, actor: User, row: KnowledgeSet, texts: Mapping[str, str]) -> int | None:
        """Texts of `knowledge.options_draft.PROMPT_TEXTS`."""
        ...

    def hold_site_options(
        self, *, actor: User, tenant_id: int, options: Given, replaces: bool, note: str
    ) -> int | None:
        """Options that the sets of a tenant inherit."""
        ...

    def hold_lexicon(self, *, version: LexiconVersion) -> int | None:
        """A version of the lexicon of a set or of a tenant, whose names are indexed."""
        ...

    def discard(self, *, change: int, actor: User) -> None:
        """Give up what is measured, where it is still open: something else has taken its place."""
        ...

    def hold_reranker(self, *, actor: User, model_id: int | None) -> int | None:
        """Another reranker for the site; None: that of the environment."""
        ...

    def hold_embedder(self, *, actor: User, switch: EmbedderSwitch) -> int | None:
        """The site's way to another embedding model, whose vectors are ready."""
        ...

    def notice(self, *, row: KnowledgeSet) -> GateNotice:
        """What guards a set."""
        ...


def publish_gate_register(gate: PublishGate) -> None:
    """The gate of all sets; a later one takes the place of an earlier one."""
    _gates[:] = [gate]


def publish_gate() -> PublishGate | None:
    """The gate, if there is one."""
    return _gates[0] if _gates else None


def gate_notice(row: KnowledgeSet) -> GateNotice:
    """What guards a set."""
    gate = publish_gate()
    return gate.notice(row=row) if gate is not None else GateNotice(guards=())
