"""Cut a document anew, with passage sizes of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.models import RemedyApplication
from evaluation.services.remedies.base import About, Done, Field, Offer, Remedy, Values, remedy
from feedback.models import BadCase
from knowledge.models import Document
from knowledge.selectors.options import pipeline_options
from knowledge.services.reingest import document_recut
from ragcore.options import ChunkingOptions, option_fields

SIZES: Mapping[str, Any] = {
    "larger": _("Larger passages"),
    "smaller": _("Smaller passages"),
    "whole": _("One passage"),
    "same": _("Unchanged sizes"),
}
ADVISED: Mapping[str, str] = {"split": "larger", "long passage": "smaller", "not indexed": "same"}
OVERLAP = 0.12


@remedy
class Recut(Remedy):
    code = "recut"
    label = _("Split the document again")
    help = _("Only this document; the knowledge set keeps its settings. Takes effect when it has been processed.")

    def offer(self, about: About) -> Offer | None:
        document = about.document
        if document is None or not about.is_kept or document.live_version_id is None:
            return None
        choices = tuple(SIZES.items())
        size = ADVISED.get(about.detail, "larger")
        return Offer(
            fields=(Field(name="size", label=_("passages"), value=size, choices=choices),),
            is_advised=about.wanted_remedy == self.code,
        )

    def apply(self, about: About, values: Values) -> Done:
        document = about.document
        assert document is not None  # it was offered
        before: dict[str, Any] = {"chunking": document.chunking}
        job = document_recut(
            scope=about.scope,
            actor=about.actor,
            document_id=document.pk,
            chunking=sizes_for(document, values["size"]),
        )
        if about.case.marked_document_id == document.pk and about.case.marked_ordinal is not None:
            before["ordinal"] = about.case.marked_ordinal  # the passages are counted anew
            BadCase.objects.filter(pk=about.case.pk).update(marked_ordinal=None)
        return Done(before=before, document=document.pk, job=job.pk)

    def undo(self, about: About, application: RemedyApplication) -> None:
        document_id = application.document_id
        if document_id is None:
            return
        chunking = application.before["chunking"]
        document_recut(scope=about.scope, actor=about.actor, document_id=document_id, chunking=chunking)
        rows = BadCase.objects.filter(pk=about.case.pk, marked_document=document_id, marked_ordinal=None)
        if "ordinal" in application.before:
            rows.update(marked_ordinal=application.before["ordinal"])


def sizes_for(document: Document, size: str) -> dict[str, Any]:
    """Passage sizes of a document beside those that it is cut with now; larger ones are at least the defaults."""
    if size == "same":
        return dict(document.chunking)
    if size == "whole":
        return {"split": False}
    now = pipeline_options(documents=[document])[document.pk].chunking
    default = asdict(ChunkingOptions())
    names = ("min_tokens", "max_tokens")
    if size == "larger":
        wanted = {name: max(2 * getattr(now, name), default[name]) for name in names}
        overlap = max(now.overlap, OVERLAP)
    else:
        wanted = {name: min(getattr(now, name), default[name]) // 2 for name in names}
        overlap = now.overlap
    return {"split": True, "overlap": overlap, **{name: _within(name, value) for name, value in wanted.items()}}


def _within(name: str, value: int) -> int:
    declared = option_fields(ChunkingOptions)[name].option
    return int(max(declared.low or 0, min(declared.high or value, value)))
