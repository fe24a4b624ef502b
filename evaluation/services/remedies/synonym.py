"""Add a synonym to the tenant's lexicon, where there is one.

The lexicon is joined by a port: a module that keeps one calls `lexicon_join`. Without it the remedy is not offered.
"""

from __future__ import annotations

from typing import Protocol

from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.scope import Scope
from evaluation.models import RemedyApplication
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy


class Lexicon(Protocol):
    """What a lexicon has to offer. Both raise RagError."""

    def may_change(self, *, scope: Scope, actor: User) -> bool:
        """Whether the person keeps the lexicon of their tenant."""

    def synonym_add(self, *, scope: Scope, actor: User, term: str, synonym: str) -> int:
        """Make `synonym` find what `term` finds; the id of what was stored. In force with the commit."""

    def synonym_remove(self, *, scope: Scope, actor: User, stored_id: int) -> None:
        """Take it back; one that is gone already changes nothing."""


_joined: list[Lexicon] = []


def lexicon_join(lexicon: Lexicon) -> None:
    """Use this lexicon, in place of one that was joined before."""
    _joined[:] = [lexicon]


@remedy
class AddSynonym(Remedy):
    code = "add_synonym"
    label = _("Add a synonym to the lexicon")
    help = _("Every question with the one word then also finds the other.")

    def offer(self, about: About) -> Offer | None:
        if not _joined or about.wanted_remedy != self.code or about.document is None:
            return None
        if not _joined[0].may_change(scope=about.scope, actor=about.actor):
            return None
        words = (about.diagnosis.evidence.get("words") if about.diagnosis else None) or [""]
        return Offer(
            fields=(
                Field(name="synonym", label=_("Word of the question"), value=str(words[0]), longest=64),
                Field(name="term", label=_("Word of the documents"), longest=64),
            ),
            is_advised=True,
        )

    def apply(self, about: About, values: Values) -> Done:
        stored = _joined[0].synonym_add(
            scope=about.scope, actor=about.actor, term=values["term"], synonym=values["synonym"]
        )
        return Done(before={"stored": stored})

    def undo(self, about: About, application: RemedyApplication) -> None:
        if _joined:
            _joined[0].synonym_remove(scope=about.scope, actor=about.actor, stored_id=application.before["stored"])
