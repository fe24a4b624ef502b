"""Add a synonym to the lexicon of a set that holds the document, or of the tenant, and publish it."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.roles import administers
from evaluation.models import RemedyApplication
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy
from knowledge.rights import LEXICON_CHANGE
from knowledge.selectors import sets_curated
from knowledge.services.lexicon.remedies import synonym_add, synonym_undo

TENANT = ""  # in place of the id of a set


@remedy
class AddSynonym(Remedy):
    code = "add_synonym"
    label = _("Add a synonym to the lexicon")
    help = _("Every question with the one word then also finds the other.")

    def offer(self, about: About) -> Offer | None:
        if about.wanted_remedy != self.code or about.document is None or not (homes := _homes(about)):
            return None
        words = (about.diagnosis.evidence.get("words") if about.diagnosis else None) or [""]
        return Offer(
            fields=(
                Field(name="synonym", label=_("Word of the question"), value=str(words[0]), longest=64),
                Field(name="term", label=_("Word of the documents"), longest=64),
                Field(name="lexicon", label=_("Lexicon"), value=homes[0][0], choices=homes),
            ),
            is_advised=True,
        )

    def apply(self, about: About, values: Values) -> Done:
        home = values["lexicon"]
        added = synonym_add(
            scope=about.scope,
            actor=about.actor,
            set_id=int(home) if home != TENANT else None,
            term=values["term"],
            synonym=values["synonym"],
        )
        return Done(before={"change": added.change_id})

    def undo(self, about: About, application: RemedyApplication) -> None:
        change = application.before.get("change")
        if change is not None:
            synonym_undo(scope=about.scope, actor=about.actor, change_id=change)


def _homes(about: About) -> tuple[tuple[str, Any], ...]:
    """Lexicons that the person may change: those of the document's sets, and the tenant's."""
    if about.document is None:
        return ()
    rows = sets_curated(scope=about.scope).filter(pk__in=about.document.sets.order_by().values("pk")).order_by("name")
    found: list[tuple[str, Any]] = [(str(row.pk), row.shown_name) for row in rows]
    if administers(scope=about.scope, doing=LEXICON_CHANGE):
        found.append((TENANT, _("All knowledge sets")))
    return tuple(found)
