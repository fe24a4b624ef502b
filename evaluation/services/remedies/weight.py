"""Give a document more weight in the ranking."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from evaluation.models import RemedyApplication
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy
from knowledge.services.document_weights import HIGHEST, documents_weigh

STEPS = (1.25, 1.5, 2.0)


@remedy
class RaiseWeight(Remedy):
    code = "weight"
    label = _("Raise the weight of the document")
    help = _("It ranks higher for every question. Takes effect at once.")

    def offer(self, about: About) -> Offer | None:
        document = about.document
        if document is None or not about.is_kept or document.weight >= HIGHEST:
            return None
        if about.diagnosis is None or about.diagnosis.cause != "reranking":
            return None
        choices = tuple((str(step), f"{step:g}") for step in STEPS if step > document.weight)
        return Offer(fields=(Field(name="weight", label=_("weight"), value=choices[0][0], choices=choices),))

    def apply(self, about: About, values: Values) -> Done:
        document = about.document
        assert document is not None  # it was offered
        _weigh(about, document.pk, float(values["weight"]))
        return Done(before={"weight": document.weight, "after": float(values["weight"])}, document=document.pk)

    def undo(self, about: About, application: RemedyApplication) -> None:
        document = about.document
        if application.document_id is not None and (document is None or document.pk != application.document_id):
            _weigh(about, application.document_id, application.before["weight"])
        elif document is not None and document.weight == application.before["after"]:
            _weigh(about, document.pk, application.before["weight"])


def _weigh(about: About, document_id: int, weight: float) -> None:
    result = documents_weigh(scope=about.scope, actor=about.actor, document_ids=[document_id], weight=weight)
    if result.refused:
        raise result.refused[0].error
