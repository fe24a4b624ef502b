"""Publish the reviewer's answer: everybody who may read its sources gets it to this question and its paraphrases."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from accounts.errors import NotFoundError
from chat.answers.approval import DEFAULT_DAYS, answer_approve, approved_in_force, approved_withdraw, question_key
from evaluation.models import RemedyApplication
from evaluation.services.lab.searches import expected_find
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy
from feedback.services import is_reviewing
from knowledge.models import Chunk

DAYS = (("30", _("30 days")), ("90", _("90 days")), (str(DEFAULT_DAYS), _("6 months")), ("365", _("1 year")))


@remedy
class ApproveAnswer(Remedy):
    code = "approve"
    label = _("Publish the right answer as approved")
    help = _("Shown to everybody who may read all its sources. Withdrawn when a source changes.")

    def offer(self, about: About) -> Offer | None:
        case, document = about.case, about.document
        if not case.right_answer or document is None or document.pk != case.marked_document_id:
            return None
        asked = {"tenant_id": case.message.conversation.tenant_id, "keys__contains": [question_key(about.question)]}
        if approved_in_force().filter(**asked, answer__startswith=case.right_answer[:200]).exists():
            return None
        return Offer(
            fields=(
                Field(name="answer", label=_("answer"), value=case.right_answer, rows=5, longest=4000),
                Field(
                    name="sources",
                    label=_("Sources, one per line"),
                    value=_name(about),
                    rows=2,
                    longest=1000,
                    picks=True,
                ),
                Field(name="paraphrases", label=_("Also asked as, one per line"), rows=2, longest=4000),
                Field(name="days", label=_("valid for"), value=str(DEFAULT_DAYS), choices=DAYS),
            ),
            is_advised=about.diagnosis is not None and about.diagnosis.cause == "generation",
        )

    def apply(self, about: About, values: Values) -> Done:
        names = [line.strip() for line in values["sources"].splitlines() if line.strip()]
        approved = answer_approve(
            scope=about.scope,
            actor=about.actor,
            question=about.question,
            answer=values["answer"],
            chunks=[_passage(about, name) for name in names],
            message=about.case.message,
            paraphrases=values["paraphrases"].splitlines(),
            days=int(values["days"]),
            is_reviewer=is_reviewing(about.actor),
        )
        return Done(before={"answer": approved.pk})

    def undo(self, about: About, application: RemedyApplication) -> None:
        answer_id, may = application.before["answer"], is_reviewing(about.actor)
        approved_withdraw(scope=about.scope, actor=about.actor, answer_id=answer_id, is_reviewer=may)


def _name(about: About) -> str:
    if about.document is None:
        return ""
    return f"#{about.document.pk}" + ("" if about.ordinal is None else f":{about.ordinal + 1}")


def _passage(about: About, name: str) -> Chunk:
    """The live passage of this name, the first one of a document. Raises NotFoundError."""
    found = expected_find(scope=about.scope, name=name)
    rows = Chunk.objects.filter(version=found.document.live_version_id, retired=None).exclude(kind=Chunk.Kind.SECTION)
    if found.ordinal is not None:
        rows = rows.filter(ordinal=found.ordinal)
    passage = rows.select_related("version__document").order_by("ordinal").first()
    if passage is None:
        raise NotFoundError("any_document")
    return passage
