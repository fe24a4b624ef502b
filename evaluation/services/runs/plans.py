"""How a configuration of a run asks: which component, in which mode, with which options, texts and lexicon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from accounts.scope import Scope
from evaluation.models import RunConfiguration
from knowledge.options_draft import OptionsDraft
from knowledge.selectors import sets_listed
from knowledge.selectors.options import site_options
from knowledge.services.options import options_merge
from knowledge.types import RetrievalMode

Given = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What else would hold for a set that is asked alone: texts of its prompts, the version of its lexicon; and what
    it shares with others: default settings, the version of the lexicon of its tenant.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    lexicon: int | None = None
    site: Given | None = None
    site_lexicon: int | None = None

    @property
    def stored(self) -> dict[str, Any]:
        """As a configuration keeps it."""
        shared = {"lexicon": self.lexicon, "site": self.site, "site_lexicon": self.site_lexicon}
        texts = {"texts": dict(self.texts)} if self.texts else {}
        return {**texts, **{name: value for name, value in shared.items() if value is not None}}

    def lexicons(self, set_id: int) -> dict[int | None, int]:
        """As drafts keep them."""
        versions = ((set_id, self.lexicon), (None, self.site_lexicon))
        return {home: version for home, version in versions if version is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationPlan:
    """How to ask: `options` by group stand in the place of those that the set has; None takes one back."""

    name: str
    component: str = RunConfiguration.Component.ANSWER
    retrieval_mode: RetrievalMode = "hybrid"
    options: Given = field(default_factory=dict)
    tried: Tried = Tried()


LIVE = ConfigurationPlan(name="live")


def draft_of(*, scope: Scope, sets: Sequence[int], options: Given, tried: Tried | None = None) -> OptionsDraft:
    """Options over those that are live: of the set that is asked alone, else of the site."""
    tried = tried or Tried()
    if not options and not tried.stored:
        return OptionsDraft()
    alone = sets_listed(scope=scope).filter(pk=sets[0]).first() if len(sets) == 1 else None
    if alone is not None:
        merged = options_merge(alone.options, options, layer=f"set {alone.code}")
        sites = {} if tried.site is None else {alone.tenant_id: tried.site}
        lexicons = tried.lexicons(alone.pk)
        return OptionsDraft(sites=sites, sets={alone.pk: merged}, texts={alone.pk: tried.texts}, lexicons=lexicons)
    site = options_merge(site_options(tenant_id=scope.tenant_id), options, layer="site")
    return OptionsDraft(sites={scope.tenant_id: site})
