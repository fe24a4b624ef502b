"""The first page of the admin: what needs attention, trends, and the state of the parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Min, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, is_administrator
from accounts.relative_time import short_day
from chat.admin import is_reviewer
from chat.api.health import STARTING, TIERS, health_report
from evaluation.admin.base import judges_quality
from evaluation.selectors import runs_of
from feedback.usage import DAYS, Day, unanswered_questions, usage
from knowledge.admin.curation import creates_sets, is_curator, lists_sets
from knowledge.admin.jobs import SILENT_AFTER
from knowledge.disk_space import worst_volume
from knowledge.model_setup import setup_now
from knowledge.models import Document, ModelPurpose
from knowledge.selectors import sets_curated
from knowledge.selectors.dashboard import items_shown
from knowledge.services.exam_states import exam_states
from ragsite.admin_menu import (
    cases_open,
    documents_in,
    failed_documents,
    items_open,
    originals_lost,
    reviews_open,
    users_active,
)

HEALTH_KEY, HEALTH_SECONDS = "admin-health-report", 15  # servers are not asked again for each look
BAR_HEIGHT = 40  # of the bars of a day, in units of their drawing
Purpose = ModelPurpose.Purpose
MODEL_FOR = _("Language model: {purpose}")
PARTS = {
    "postgres": _("Database"),
    "redis": "Redis",
    "worker": _("Background worker"),
    "embedder": _("Embedding model"),
    "llm": format_lazy(MODEL_FOR, purpose=Purpose.STANDARD.label),
    "llm_fast": format_lazy(MODEL_FOR, purpose=Purpose.FAST.label),
    "llm_light": format_lazy(MODEL_FOR, purpose=Purpose.LIGHT.label),
    "llm_advanced": format_lazy(MODEL_FOR, purpose=Purpose.ADVANCED.label),
    "llm_judge": format_lazy(MODEL_FOR, purpose=Purpose.JUDGE.label),
    "llm_local": _("Local language model"),
    "reranker": _("Reranker"),
    "reranker_fallback": _("Second reranker"),
    "character_recognition": _("Character recognition (OCR)"),
    "office_formats": _("Old Office formats"),
    "disk": _("Disk space"),
}
DISK_LOW = _("The disk is filling up: %(free)s are left. Make room, or give the site a larger disk.")
DISK_FULL = _("The disk is almost full: %(free)s are left. No more files are accepted, and processing waits.")
DISK_READ_ONLY = _("The disk cannot be written to. No more files are accepted, and processing waits.")
OVERALL = {
    "ok": _("Everything that is set up works."),
    "degraded": _("Questions are answered, but a part does not respond."),
    "down": _("Questions cannot be answered: a required part does not respond."),
}
STATES = {"up": _("works"), "down": _("does not respond"), "not_configured": _("not set up")}
MODEL_PARTS = frozenset(name for name in PARTS if name.startswith("llm"))
MODEL_ERRORS = {  # of language models; any other: it answered, and not as a model server does
    "untested": _("not tested, not used"),
    "test_failed": _("test failed, not used"),
    "loading": _("being loaded"),
    "not_loaded": _("not loaded, not used"),
    "unreachable": _("cannot be reached"),
    "slow": _("does not answer in time"),
    "the key is refused": _("the key is refused"),
}
UNUSED_ERRORS = ("untested", "test_failed", "loading", "not_loaded")  # of models that are not asked


# ── the first page ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Figure:
    """A number of the first page and where it leads."""

    title: Any
    page: str
    may_open: Callable[[HttpRequest], bool]
    count: Callable[[HttpRequest], int]
    query: str = ""
    hands: bool = False  # somebody should bring it to zero
    is_rare: bool = False  # shown only where there are any

    def card(self, request: HttpRequest) -> dict[str, Any]:
        link = reverse(f"admin:{self.page}_changelist") + self.query
        return {"title": self.title, "value": self.count(request), "link": link, "hands": self.hands}


FIGURES = [
    Figure(_("Failed documents"), "knowledge_document", is_curator, failed_documents, "?hands=failed", hands=True),
    Figure(
        _("Originals missing or damaged"),
        "knowledge_document",
        is_curator,
        originals_lost,
        "?original=lost",
        hands=True,
        is_rare=True,
    ),
    Figure(_("Reviews due"), "knowledge_document", is_curator, reviews_open, "?review=due", hands=True),
    Figure(_("Open feedback cases"), "feedback_badcase", judges_quality, cases_open, "?case=open", hands=True),
    Figure(_("Processing"), "knowledge_ingestitem", is_curator, items_open, "?progress=open"),
    Figure(
        _("Searchable documents"),
        "knowledge_document",
        is_curator,
        partial(documents_in, state=Document.State.LIVE),
        "?hands=live",
    ),
    Figure(
        _("Knowledge sets"),
        "knowledge_knowledgeset",
        lists_sets,
        lambda request: sets_curated(scope=admin_scope(request)).count(),
    ),
    Figure(_("Active users"), "accounts_user", is_administrator, users_active),
]


@dataclass(frozen=True, slots=True)
class Bars:
    """A day of a chart: heights of its two bars, and both in words."""

    day: Any
    left: float
    first: float
    second: float
    words: str


def bars_of(days: Sequence[Day], first: str, second: str, words: Any) -> list[Bars]:
    """The days of a chart; the highest bar is BAR_HEIGHT."""
    most = max([getattr(day, name) for day in days for name in (first, second)] + [1])
    return [
        Bars(
            day.day,
            left=10 * number,
            first=BAR_HEIGHT * getattr(day, first) / most,
            second=BAR_HEIGHT * getattr(day, second) / most,
            words=words
            % {
                "day": short_day(day.day),
                "first": getattr(day, first),
                "second": getattr(day, second),
            },
        )
        for number, day in enumerate(days)
    ]


def trends(request: HttpRequest) -> dict[str, Any]:
    """Questions, votes and unanswered questions of the last days about the person's sets, for the first page."""
    who: dict[str, Any] = {"scope": admin_scope(request), "is_reviewer": is_reviewer(request)}
    figures = usage(**who)
    since = timezone.now() - timedelta(days=DAYS)
    return {
        "usage": figures,
        "usage_days": DAYS,
        "usage_bars": bars_of(
            figures.days, "questions", "unanswered", _("%(day)s: %(first)s questions, %(second)s without an answer")
        ),
        "vote_bars": bars_of(figures.days, "up", "down", _("%(day)s: %(first)s helpful, %(second)s not helpful")),
        "unanswered": unanswered_questions(**who, since=since),
    }


def queue_shown(request: HttpRequest) -> dict[str, Any]:
    """Counts of the person's documents that wait, are held by a worker, or have stopped responding."""
    items = items_shown(scope=admin_scope(request)).order_by().filter(finished=None)
    return items.aggregate(
        working=Count("pk", filter=Q(lease_until__isnull=False)),
        waiting=Count("pk", filter=Q(lease_until=None)),
        silent=Count("pk", filter=Q(heartbeat__lt=timezone.now() - SILENT_AFTER)),
        oldest=Min("job__created"),
    )


def _state_words(name: str, part: Mapping[str, Any]) -> Any:
    """The state of a part, of language models with what is wrong."""
    if name in MODEL_PARTS and part["state"] == "down" and part.get("error"):
        return MODEL_ERRORS.get(part["error"], _("fails"))
    if _is_starting(part):
        return _("is starting")
    if _uses_standard(name, part):
        return _("uses the model for answers")
    return STATES[part["state"]]


def _is_starting(part: Mapping[str, Any]) -> bool:
    return part["state"] == "down" and part.get("error") == STARTING


def _uses_standard(name: str, part: Mapping[str, Any]) -> bool:
    """Whether a purpose has no model of its own, so that the one for answers serves it."""
    has_none = name in TIERS and name != "llm" and part["state"] == "not_configured"
    return has_none and Purpose.STANDARD in setup_now().models


def _exam_words(name: str) -> str:
    """How far the exam of a language model is, or what it says of it; "" for other parts."""
    spec = setup_now().models.get(TIERS.get(name, ""))
    if spec is None or not spec.endpoints:
        return ""
    return exam_states([spec.fingerprint])[spec.fingerprint].words


def health(request: HttpRequest) -> HttpResponse:
    """Models and workers in words: a page, or the fragment of it that the first page asks for. For administrators."""
    if not is_administrator(request):
        raise PermissionDenied
    if request.GET.get("now"):
        cache.delete(HEALTH_KEY)
    report, checked = cache.get_or_set(HEALTH_KEY, _health_now, HEALTH_SECONDS) or _health_now()
    parts = [
        {
            **part,
            "name": PARTS[name],
            "words": _state_words(name, part),
            "state": "starting" if _is_starting(part) else part["state"],
            "details": ": ".join(filter(None, (part.get("model") or _disk_words(part), _exam_words(name)))),
            "link": _model_page(name, part),
            "problem": "" if name in MODEL_PARTS or _is_starting(part) else part.get("error", ""),
        }
        for name, part in report["dependencies"].items()
        if name in PARTS
    ]
    context = {"parts": parts, "status": report["status"], "words": OVERALL[report["status"]], "checked": checked}
    if request.headers.get("X-Requested-With") == "fetch":
        return render(request, "admin/health_parts.html", context)
    page = {**admin.site.each_context(request), **context, "title": _("Models and workers")}
    return render(request, "admin/health.html", page)


def _model_page(name: str, part: Mapping[str, Any]) -> str:
    """Where a language model that is not used is mended; "" for other parts."""
    if name not in MODEL_PARTS or part.get("error") not in UNUSED_ERRORS:
        return ""
    return reverse("admin:knowledge_languagemodel_changelist")


def _health_now() -> tuple[dict[str, Any], datetime]:
    """The report, and when it was made."""
    return async_to_sync(health_report)(), timezone.now()


def _disk_words(part: Mapping[str, Any]) -> str:
    """How much space is left; "" for parts that have none."""
    if "free_bytes" not in part:
        return ""
    return _("%(free)s free of %(total)s") % {
        "free": filesizeformat(part["free_bytes"]),
        "total": filesizeformat(part["total_bytes"]),
    }


def disk_notice(request: HttpRequest) -> str:
    """A warning about free disk space for administrators; "" where there is room."""
    if not is_administrator(request) or (volume := worst_volume()).state == "ok":
        return ""
    words = {"low": DISK_LOW, "full": DISK_FULL, "read_only": DISK_READ_ONLY}[volume.state]
    return words % {"free": volume.free}


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the numbers that this person can act on, trends, and the latest evaluation runs."""
    context["title"] = _("Overview")
    if is_curator(request):
        context["queue"] = queue_shown(request)
    if judges_quality(request):
        context |= trends(request)
    context["sees_health"] = is_administrator(request)
    context["disk_notice"] = disk_notice(request)
    context["makes_sets"] = creates_sets(request)
    cards = [(figure, figure.card(request)) for figure in FIGURES if figure.may_open(request)]
    context["counts"] = [card for figure, card in cards if card["value"] or not figure.is_rare]
    context["may_upload"] = is_curator(request)
    if judges_quality(request):
        context["latest_runs"] = list(runs_of(scope=admin_scope(request))[:5])
    return context
