"""Ask the owners of a knowledge set for a document."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.models import RemedyApplication, WantedDocument
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy
from evaluation.services.wanted_documents import wanted_document_ask, wanted_document_withdraw
from knowledge.selectors import sets_readable

MOST_SETS = 200


@remedy
class AskOwner(Remedy):
    code = "ask_owner"
    label = _("Ask the owners for a document")
    help = _("The owners of the knowledge set are notified, and it appears in the list of wanted documents.")
    changes_search = False

    def offer(self, about: About) -> Offer | None:
        if WantedDocument.objects.filter(case=about.case, state=WantedDocument.State.OPEN).exists():
            return None
        mine = sets_readable(scope=about.scope).filter(tenant_id=about.scope.tenant_id).order_by("name")
        asked = set(about.case.message.conversation.sets.values_list("pk", flat=True))
        rows = sorted(mine.only("pk", "name", "name_zh")[:MOST_SETS], key=lambda row: row.pk not in asked)
        if not rows:
            return None
        choices = tuple((str(row.pk), row.shown_name) for row in rows)
        return Offer(
            fields=(
                Field(name="set", label=_("knowledge set"), value=choices[0][0], choices=choices),
                Field(
                    name="text",
                    label=_("What is missing? The owners read this."),
                    value=about.question,
                    rows=3,
                    longest=1000,
                ),
            ),
            is_advised=about.wanted_remedy == self.code,
        )

    def apply(self, about: About, values: Values) -> Done:
        wanted = wanted_document_ask(
            scope=about.scope,
            actor=about.actor,
            case=about.case,
            set_id=int(values["set"]),
            text=values["text"] or about.question,
        )
        return Done(before={"wanted": wanted.pk})

    def undo(self, about: About, application: RemedyApplication) -> None:
        wanted_document_withdraw(scope=about.scope, actor=about.actor, wanted_id=application.before["wanted"])
