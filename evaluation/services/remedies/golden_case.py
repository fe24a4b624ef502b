"""Save the question as a golden case, so that every change is measured with it."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.services import audit_record
from evaluation.models import GoldenCase, RemedyApplication
from evaluation.selectors import golden_sets_kept
from evaluation.services.case_desk import case_to_golden, golden_answers
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy
from feedback.selectors import mark_hidden

KEPT = (
    "relevant",
    "answers",
    "tags",
    "style",
    "target",
    "structure",
    "robustness",
    "expects_refusal",
)  # what saving a case replaces


@remedy
class MakeGoldenCase(Remedy):
    code = "golden_case"
    label = _("Save as a golden case")
    help = _("Every change of settings is then measured with this question. The answer itself does not change.")
    changes_search = False

    def offer(self, about: About) -> Offer | None:
        case = about.case
        is_known = golden_answers(case) or (case.marked_document_id and about.document)
        if not (is_known or case.expects_refusal):
            return None
        if not case.expects_refusal and mark_hidden(scope=about.scope, case=case):
            return None  # of a document that the person may not open, or that is gone
        sets = golden_sets_kept(scope=about.scope, actor=about.actor).filter(tenant=about.scope.tenant_id)
        known = GoldenCase.objects.filter(golden_set__in=sets, question=about.question).values("golden_set")
        choices = tuple((str(pk), name) for pk, name in sets.exclude(pk__in=known).values_list("pk", "name"))
        if not choices:
            return None
        chosen = Field(name="golden_set", label=_("golden set"), value=choices[0][0], choices=choices)
        return Offer(fields=(chosen,), is_advised=about.wanted_remedy == self.code)

    def apply(self, about: About, values: Values) -> Done:
        saved = case_to_golden(
            scope=about.scope, actor=about.actor, case=about.case, golden_set_id=int(values["golden_set"])
        )
        return Done(before={"case": saved.pk, "saved": {name: getattr(saved, name) for name in KEPT}})

    def undo(self, about: About, application: RemedyApplication) -> None:
        before: dict[str, Any] = application.before
        mine = golden_sets_kept(scope=about.scope, actor=about.actor)
        saved = GoldenCase.objects.filter(pk=before["case"], golden_set__in=mine).select_related("golden_set").first()
        if saved is None or any(getattr(saved, name) != value for name, value in before["saved"].items()):
            return  # it is gone, or somebody has worked on it since
        name, pk = saved.golden_set.name, saved.pk
        saved.delete()
        audit_record(actor=about.actor, action="golden_case.delete", target=name, case=pk)
