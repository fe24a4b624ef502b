"""What the pages of the lexicon show in common: whose it is, what is in use and under way, what waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import F, FloatField, Q, QuerySet
from django.db.models.functions import Abs, Cast, Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.admin.base import admin_scope, is_administrator
from accounts.scope import Scope
from knowledge.admin.lexicon_history import problem_words
from knowledge.models import Document, KnowledgeSet, LexiconTerm, LexiconVersion
from knowledge.selectors import sets_curated
from knowledge.selectors.dashboard import documents_managed
from knowledge.selectors.lexicon import build_of, lexicon_set_get, minings_managed, terms_of, versions_managed
from knowledge.services.lexicon.model_filter import can_score
from ragcore.errors import RagError
from work.models import Job
from work.words import error_words

QUEUE = 50  # suggestions on one page
MODEL_FILTER = "model"  # parameter of addresses
MODEL_CHOICES: Mapping[str, tuple[Promise, Q]] = {
    "high": (gettext_lazy("0.7 and more"), Q(model_score__gte=0.7)),
    "middle": (gettext_lazy("0.3 to 0.7"), Q(model_score__gte=0.3, model_score__lt=0.7)),
    "low": (gettext_lazy("below 0.3"), Q(model_score__lt=0.3)),
    "none": (gettext_lazy("not scored"), Q(model_score=None)),
}
Status, State = LexiconTerm.Status, LexiconVersion.State


def lexicon_choices(request: HttpRequest) -> list[tuple[str, str]]:
    """The lexicons that somebody may change: 0 stands for that of the organisation."""
    site_choice = [("0", _("the whole organisation"))] if is_administrator(request) else []
    sets = sets_curated(scope=admin_scope(request)).order_by("name")
    return [*site_choice, *((str(row.pk), row.shown_name) for row in sets)]


def set_of(request: HttpRequest) -> int | None:
    """The set whose lexicon a request is about; None: that of the organisation."""
    value = request.POST.get("set") or request.GET.get("set") or ""
    chosen = int(value) if value.isdecimal() and len(value) < 18 else 0
    if not value and not is_administrator(request):
        choices = lexicon_choices(request)
        chosen = int(choices[0][0]) if choices else 0
    return chosen or None


def home_of(request: HttpRequest) -> KnowledgeSet | None:
    """That set. Raises PermissionDenied where the lexicon is not the person's."""
    try:
        return lexicon_set_get(scope=admin_scope(request), set_id=set_of(request))
    except RagError as error:
        raise PermissionDenied from error


def with_set(page: str, request: HttpRequest) -> str:
    return f"{reverse(page)}?set={set_of(request) or 0}"


def model_filter_of(request: HttpRequest) -> str:
    """By which score of the language model a request filters suggestions; "": by none."""
    value = request.GET.get(MODEL_FILTER, "")
    return value if value in MODEL_CHOICES else ""


def queue_of(request: HttpRequest) -> QuerySet[LexiconTerm]:
    """Suggestions of one lexicon that a request wants, the most doubtful first."""
    rows = _suggestions(request)
    if chosen := model_filter_of(request):
        rows = rows.filter(MODEL_CHOICES[chosen][1])
    doubt = Abs(Coalesce(Cast(F("score"), FloatField()), 0.5) - 0.5)
    return rows.order_by(doubt, "key", "pk")


def _suggestions(request: HttpRequest) -> QuerySet[LexiconTerm]:
    return terms_of(scope=admin_scope(request), knowledge_set=home_of(request)).filter(status=Status.CANDIDATE)


def queue_context(request: HttpRequest) -> dict[str, Any]:
    chosen = model_filter_of(request)
    return {
        "terms": queue_of(request)[:QUEUE],
        "model_choices": [(value, words, value == chosen) for value, (words, _condition) in MODEL_CHOICES.items()],
        "model_filter": chosen,
        "has_model_scores": bool(chosen) or _suggestions(request).exclude(model_score=None).exists(),
        **queue_count(request),
    }


def queue_count(request: HttpRequest) -> dict[str, Any]:
    """How many suggestions wait, as a number (`left`) and in words; `suggested`: whatever their scores."""
    count = queue_of(request).count()
    words = ngettext("%(count)d suggestion is waiting.", "%(count)d suggestions are waiting.", count)
    suggested = _suggestions(request).count() if model_filter_of(request) else count
    return {"left": count, "suggested": suggested, "count_words": words % {"count": count}}


def unread_count(*, scope: Scope, home: KnowledgeSet | None, mining: Job) -> int:
    """How many documents a search for terms has not read as they are: being processed, or changed since it began."""
    sets = KnowledgeSet.objects.filter(tenant_id=scope.tenant_id, visibility=KnowledgeSet.Visibility.EVERYONE)
    rows = documents_managed(scope=scope).filter(sets__in=[home] if home is not None else sets)
    unread = Q(state=Document.State.PROCESSING) | Q(live_version__isnull=False, updated__gt=mining.created)
    return rows.filter(unread).order_by().values("pk").distinct().count()


def head_context(request: HttpRequest) -> dict[str, Any]:
    """What stands above every page of the lexicon: whose it is, what is in use, what is under way."""
    scope = admin_scope(request)
    choices = lexicon_choices(request)
    chosen = str(set_of(request) or 0)
    if chosen not in dict(choices):
        return {"lexicons": choices, "chosen": ""}
    home = home_of(request)
    versions = versions_managed(scope=scope, knowledge_set=home)
    newest = versions.first()
    terms = terms_of(scope=scope, knowledge_set=home)
    mining = minings_managed(scope=scope, knowledge_set=home).first()
    build = build_of(scope=scope, version=newest) if newest is not None else None
    return {
        "lexicons": choices,
        "chosen": chosen,
        "build": build,
        "build_problem": error_words(build) if build is not None else "",
        "live": versions.filter(state=State.LIVE).first(),
        "building": versions.filter(state=State.BUILDING).first(),
        "failed": newest if newest is not None and newest.state == State.FAILED else None,
        "mining": mining,
        "mining_problem": problem_words(mining),
        "unread": unread_count(scope=scope, home=home, mining=mining) if mining is not None else 0,
        "can_score": can_score(),
        "suggested": terms.filter(status=Status.CANDIDATE).count(),
        "approved": terms.filter(status=Status.APPROVED).count(),
    }
