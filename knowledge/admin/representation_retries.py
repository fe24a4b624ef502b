"""What rules wrote because the language model did not, in words, and the button that asks it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page
from knowledge.admin.curation import managed_set, run_action
from knowledge.models import KnowledgeSet
from knowledge.selectors.representation_retries import RetryCounts
from knowledge.services.representation_retries import MAX_ATTEMPTS, set_representations_retry

ASKED = gettext_lazy("The language model is asked for these passages now. Reload this page to see the result.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryNotice:
    """Sentences, the last try and the next one; no sentences: nothing is missing."""

    sentences: tuple[str, ...]
    tried: datetime | None
    next_try: datetime | None  # None: not planned, or within a minute
    is_soon: bool


def notice_of(counts: RetryCounts) -> RetryNotice:
    """What to tell the owners of a set or of a document."""
    waiting = counts.unreached + counts.unusable
    is_due = counts.is_requested or counts.next_try is None or counts.next_try <= timezone.now()
    return RetryNotice(
        sentences=tuple(_sentences(counts)),
        tried=counts.tried,
        next_try=None if is_due else counts.next_try,
        is_soon=bool(waiting and is_due),
    )


def _sentences(counts: RetryCounts) -> list[str]:
    sentences = []
    if counts.unreached:
        text = ngettext(
            "%(count)d passage has %(what)s by rules, because the language model could not be reached. "
            "It is enriched again automatically.",
            "%(count)d passages have %(what)s by rules, because the language model could not be reached. "
            "They are enriched again automatically.",
            counts.unreached,
        )
        sentences.append(text % {"count": counts.unreached, "what": _what(counts, counts.unreached)})
    if counts.unusable:
        text = ngettext(
            "%(count)d passage has %(what)s by rules, because the answer of the language model was not usable. "
            "It is enriched again automatically.",
            "%(count)d passages have %(what)s by rules, because the answers of the language model were not usable. "
            "They are enriched again automatically.",
            counts.unusable,
        )
        sentences.append(text % {"count": counts.unusable, "what": _what(counts, counts.unusable)})
    if counts.given_up:
        text = ngettext(
            "%(count)d passage keeps %(what)s by rules: %(tries)d answers of the language model were not usable.",
            "%(count)d passages keep %(what)s by rules: %(tries)d answers of the language model were not usable.",
            counts.given_up,
        )
        sentences.append(
            text % {"count": counts.given_up, "what": _what(counts, counts.given_up), "tries": MAX_ATTEMPTS}
        )
    return sentences


def _what(counts: RetryCounts, passages: int) -> str:
    if not counts.questions:
        return ngettext("a summary", "summaries", passages)
    return _("summaries or questions") if counts.summaries else _("questions")


@admin_page("<int:pk>/enrich/", of=KnowledgeSet, name="knowledge_knowledgeset_enrich")
def enrich_view(request: HttpRequest, pk: int) -> HttpResponse:
    """POST: ask the model now for what rules wrote for the passages of a set."""
    row = managed_set(request, pk)
    return run_action(
        request,
        lambda: set_representations_retry(scope=admin_scope(request), actor=admin_user(request), set_id=row.pk),
        done=ASKED,
        back=reverse("admin:knowledge_knowledgeset_change", args=[row.pk]),
    )
