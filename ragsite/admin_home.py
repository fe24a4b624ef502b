"""The first page of the admin, and its navigation: what each role may open, and what needs hands."""

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
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.admin.base import admin_scope, is_administrator
from accounts.models import User
from accounts.relative_time import short_day
from chat.admin import is_reviewer
from chat.api.health import health_report
from evaluation.selectors import runs_of
from feedback.selectors import case_counts
from feedback.usage import DAYS, Day, unanswered_questions, usage
from knowledge.admin.curation import creates_sets, is_curator, keeps_sets, lists_sets
from knowledge.admin.jobs import SILENT_AFTER
from knowledge.disk_space import worst_volume
from knowledge.models import Document, DocumentVersion, IngestItem
from knowledge.selectors import sets_curated
from knowledge.selectors.dashboard import documents_managed, items_shown
from knowledge.selectors.reviews import reviews_due

# ── who may ─────────────────────────────────────────────────────────────────────────────────────


def judges(request: HttpRequest) -> bool:
    """Reviewers, and owners for their own sets."""
    return is_reviewer(request) or keeps_sets(request)


# ── counts ──────────────────────────────────────────────────────────────────────────────────────


def documents_in(request: HttpRequest, state: str) -> int:
    return documents_managed(scope=admin_scope(request)).filter(state=state).count()


def cases_open(request: HttpRequest) -> int:
    return case_counts(scope=admin_scope(request), is_reviewer=is_reviewer(request))["open"]


def items_open(request: HttpRequest) -> int:
    mine = documents_managed(scope=admin_scope(request)).order_by().values("pk")
    return IngestItem.objects.filter(finished=None, version__document__in=mine).count()


def users_active(request: HttpRequest) -> int:
    people = User.objects.filter(is_active=True)
    everything = admin_scope(request).administers == "everything"
    return (people if everything else people.filter(tenant=admin_scope(request).tenant_id)).count()


def reviews_open(request: HttpRequest) -> int:
    """Documents that the person manages and whose review is due."""
    scope = admin_scope(request)
    return reviews_due(scope=scope, documents=documents_managed(scope=scope)).count()


def originals_lost(request: HttpRequest) -> int:
    """Originals among the person's documents that were found missing or damaged."""
    mine = documents_managed(scope=admin_scope(request)).order_by().values("pk")
    return DocumentVersion.objects.filter(document__in=mine).exclude(file_fault="").count()


failed_documents = partial(documents_in, state=Document.State.FAILED)

# ── navigation ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of the navigation; `hands` counts what somebody should bring to zero."""

    title: Any
    icon: str
    page: str
    may_open: Callable[[HttpRequest], bool]
    hands: Callable[[HttpRequest], int] | None = None

    def item(self, request: HttpRequest, *, link: str, active: bool) -> dict[str, Any]:
        """As the theme wants it; a badge only where there is something to do."""
        item = {"title": self.title, "icon": self.icon, "link": link, "active": active}
        if self.hands is not None and (count := self.hands(request)):
            item |= {"badge": str(count), "badge_variant": "danger"}
        return item


PAGES: list[tuple[Any, list[Entry]]] = [
    (
        _("Knowledge"),
        [
            Entry(_("Knowledge sets"), "library_books", "knowledge_knowledgeset_changelist", lists_sets),
            Entry(_("Documents"), "description", "knowledge_document_changelist", is_curator, failed_documents),
            Entry(_("Upload"), "upload_file", "knowledge_document_upload", is_curator),
            Entry(pgettext_lazy("menu", "Processing"), "conveyor_belt", "knowledge_ingestitem_changelist", is_curator),
            Entry(_("Near-duplicates"), "content_copy", "knowledge_duplicatepair_changelist", is_curator),
            Entry(_("Lexicon"), "menu_book", "knowledge_lexiconterm_changelist", is_curator),
            Entry(_("Domain vectors"), "radar", "knowledge_latentmodel_changelist", is_administrator),
            Entry(_("Knowledge graph"), "share", "knowledge_triple_changelist", is_curator),
            Entry(_("Default settings"), "tune", "knowledge_knowledgeset_site", is_administrator),
            Entry(_("Configuration history"), "history", "knowledge_optionschange_changelist", keeps_sets),
            Entry(_("Sources"), "hub", "knowledge_source_changelist", keeps_sets),
            Entry(_("Source handlers"), "rule_settings", "knowledge_sourcehandler_changelist", is_administrator),
            Entry(_("Attributes"), "label", "knowledge_attribute_changelist", is_administrator),
        ],
    ),
    (
        _("Reviews"),
        [
            Entry(_("Feedback cases"), "rule", "feedback_badcase_changelist", judges, cases_open),
            Entry(_("Approved answers"), "check_circle", "chat_approvedanswer_changelist", judges),
            Entry(_("Wanted documents"), "inbox", "evaluation_wanteddocument_changelist", judges),
            Entry(_("Questions and answers"), "forum", "chat_message_changelist", is_reviewer),
            Entry(_("Conversations"), "chat", "chat_conversation_changelist", is_reviewer),
            Entry(_("Use and quality"), "query_stats", "evaluation_usage", judges),
            Entry(_("Answer statistics"), "query_stats", "chat_strategystatistics_changelist", is_reviewer),
        ],
    ),
    (
        _("Evaluation"),
        [
            Entry(_("Retrieval lab"), "labs", "evaluation_lab", judges),
            Entry(_("Golden sets"), "verified", "evaluation_goldenset_changelist", judges),
            Entry(_("Golden cases"), "checklist", "evaluation_goldencase_changelist", judges),
            Entry(_("Evaluation runs"), "monitoring", "evaluation_evaluationrun_changelist", judges),
            Entry(_("Experiments"), "compare", "evaluation_experiments", keeps_sets),
            Entry(_("Fitted query vectors"), "tune", "evaluation_adapters", keeps_sets),
            Entry(_("Embedding models of sets"), "hub", "evaluation_set_embedders", keeps_sets),
            Entry(_("Fitted reranker weights"), "rule_settings", "evaluation_reranker", is_administrator),
            Entry(_("Ranking from use"), "weight", "evaluation_use", keeps_sets),
        ],
    ),
    (
        _("People"),
        [
            Entry(_("Users"), "person", "accounts_user_changelist", is_administrator),
            Entry(_("User groups"), "group", "accounts_usergroup_changelist", is_administrator),
            Entry(_("API keys"), "key", "accounts_apikey_changelist", is_administrator),
            Entry(_("Tenants"), "apartment", "accounts_tenant_changelist", is_administrator),
            Entry(_("Announcements"), "feedback", "chat_announcement_changelist", is_administrator),
            Entry(_("Language models"), "api", "knowledge_languagemodel_changelist", is_administrator),
            Entry(_("Search models"), "tune", "knowledge_searchmodel_changelist", is_administrator),
            Entry(_("Folders and hosts"), "storage", "knowledge_sourceplace_changelist", is_administrator),
            Entry(_("Audit log"), "history", "accounts_auditevent_changelist", is_administrator),
        ],
    ),
]


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups and pages that this person may open. Active is the page itself, or the nearest above it."""
    links = {entry: reverse(f"admin:{entry.page}") for _title, entries in PAGES for entry in entries}
    nearest = max((link for link in links.values() if request.path.startswith(link)), key=len, default="")

    def item(entry: Entry) -> dict[str, Any]:
        link = links[entry]
        return entry.item(request, link=link, active=link == nearest)

    groups = ((title, [item(entry) for entry in entries if entry.may_open(request)]) for title, entries in PAGES)
    shown = [(title, items) for title, items in groups if items]
    return [{"title": title, "separator": at > 0, "items": items} for at, (title, items) in enumerate(shown)]


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
    Figure(_("Open feedback cases"), "feedback_badcase", judges, cases_open, "?case=open", hands=True),
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


HEALTH_KEY, HEALTH_SECONDS = "admin-health-report", 15  # servers are not asked again for each look
BAR_HEIGHT = 40  # of the bars of a day, in units of their drawing
PARTS = {
    "postgres": _("Database"),
    "redis": "Redis",
    "worker": _("Background worker"),
    "embedder": _("Embedding model"),
    "llm": _("Language model"),
    "llm_fast": _("Language model (fast)"),
    "llm_light": _("Language model (light)"),
    "llm_advanced": _("Language model (advanced)"),
    "llm_judge": _("Language model (judge)"),
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
    "unreachable": _("cannot be reached"),
    "slow": _("does not answer in time"),
    "the key is refused": _("the key is refused"),
}


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
    """What was asked and thought in the last days, about what the person keeps."""
    who: dict[str, Any] = {"scope": admin_scope(request), "is_reviewer": is_reviewer(request)}
    found = usage(**who)
    since = timezone.now() - timedelta(days=DAYS)
    return {
        "usage": found,
        "usage_days": DAYS,
        "usage_bars": bars_of(
            found.days, "questions", "unanswered", _("%(day)s: %(first)s questions, %(second)s without an answer")
        ),
        "vote_bars": bars_of(found.days, "up", "down", _("%(day)s: %(first)s helpful, %(second)s not helpful")),
        "unanswered": unanswered_questions(**who, since=since),
    }


def queue_shown(request: HttpRequest) -> dict[str, Any]:
    """What waits, is held by a worker, or has stopped responding, among the person's documents."""
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
    return STATES[part["state"]]


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
            "details": part.get("model") or _disk_words(part),
            "problem": "" if name in MODEL_PARTS else part.get("error", ""),
        }
        for name, part in report["dependencies"].items()
        if name in PARTS
    ]
    context = {"parts": parts, "status": report["status"], "words": OVERALL[report["status"]], "checked": checked}
    if request.headers.get("X-Requested-With") == "fetch":
        return render(request, "admin/health_parts.html", context)
    page = {**admin.site.each_context(request), **context, "title": _("Models and workers")}
    return render(request, "admin/health.html", page)


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
    """What an administrator should know of the disk; "" where there is room."""
    if not is_administrator(request) or (volume := worst_volume()).state == "ok":
        return ""
    words = {"low": DISK_LOW, "full": DISK_FULL, "read_only": DISK_READ_ONLY}[volume.state]
    return words % {"free": volume.free}


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the numbers that this person can act on, trends, and the latest evaluation runs."""
    context["title"] = _("Overview")
    if is_curator(request):
        context["queue"] = queue_shown(request)
    if judges(request):
        context |= trends(request)
    context["sees_health"] = is_administrator(request)
    context["disk_notice"] = disk_notice(request)
    context["makes_sets"] = creates_sets(request)
    cards = [(figure, figure.card(request)) for figure in FIGURES if figure.may_open(request)]
    context["counts"] = [card for figure, card in cards if card["value"] or not figure.is_rare]
    context["may_upload"] = is_curator(request)
    if judges(request):
        context["latest_runs"] = list(runs_of(scope=admin_scope(request))[:5])
    return context
