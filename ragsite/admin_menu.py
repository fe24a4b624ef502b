"""The menu of the admin: the everyday pages of a role first, the others folded under "Advanced"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.admin.base import admin_scope, is_administrator
from accounts.admin.pages import menu_pages
from accounts.models import User
from chat.admin import is_reviewer
from evaluation.admin.base import judges_quality
from feedback.selectors import case_counts
from knowledge.admin.curation import is_curator, keeps_sets, lists_sets
from knowledge.models import Document, DocumentVersion, IngestItem
from knowledge.selectors.dashboard import documents_managed
from knowledge.selectors.reviews import reviews_due

Role = Literal["owner", "reviewer", "administrator"]
EVERYDAY_LIMIT = 12  # entries that a person reads at a glance
OWNER: tuple[Role, ...] = ("owner",)
REVIEWER: tuple[Role, ...] = ("reviewer",)
ADMINISTRATOR: tuple[Role, ...] = ("administrator",)
KEEPERS: tuple[Role, ...] = (*OWNER, *ADMINISTRATOR)
JUDGES: tuple[Role, ...] = (*OWNER, *REVIEWER)
EVERYBODY: tuple[Role, ...] = (*JUDGES, *ADMINISTRATOR)
SECTIONS = ("knowledge", "reviews", "evaluation", "tuning", "administration")  # the parts of PAGES, for declarations


# ── counts ──────────────────────────────────────────────────────────────────────────────────────


def documents_in(request: HttpRequest, state: str) -> int:
    return documents_managed(scope=admin_scope(request)).filter(state=state).count()


def cases_open(request: HttpRequest) -> int:
    return case_counts(scope=admin_scope(request), is_reviewer=is_reviewer(request))["open"]


def items_open(request: HttpRequest) -> int:
    documents = documents_managed(scope=admin_scope(request)).order_by().values("pk")
    return IngestItem.objects.filter(finished=None, version__document__in=documents).count()


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
    documents = documents_managed(scope=admin_scope(request)).order_by().values("pk")
    return DocumentVersion.objects.filter(document__in=documents).exclude(file_fault="").count()


failed_documents = partial(documents_in, state=Document.State.FAILED)

# ── pages ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of the menu; `open_items` counts what somebody should bring to zero."""

    title: Any
    icon: str
    page: str
    may_open: Callable[[HttpRequest], bool]
    everyday: tuple[Role, ...] = ()  # who uses it daily; everybody else finds it under "Advanced"
    open_items: Callable[[HttpRequest], int] | None = None

    def item(self, request: HttpRequest, *, link: str, active: bool) -> dict[str, Any]:
        """The entry as a dict of the admin theme, with a badge only where something is open."""
        item = {"title": self.title, "icon": self.icon, "link": link, "active": active}
        if self.open_items is not None and (count := self.open_items(request)):
            item |= {"badge": str(count), "badge_variant": "danger"}
        return item


PAGES: list[tuple[Any, list[Entry]]] = [
    (
        _("Knowledge"),
        [
            Entry(_("Knowledge sets"), "library_books", "knowledge_knowledgeset_changelist", lists_sets, KEEPERS),
            Entry(
                _("Documents"), "description", "knowledge_document_changelist", is_curator, KEEPERS, failed_documents
            ),
            Entry(_("Upload"), "upload_file", "knowledge_document_upload", is_curator, KEEPERS),
            Entry(
                pgettext_lazy("menu", "Processing"),
                "conveyor_belt",
                "knowledge_ingestitem_changelist",
                is_curator,
                KEEPERS,
            ),
            Entry(_("Sources"), "hub", "knowledge_source_changelist", keeps_sets, KEEPERS),
            Entry(_("Default settings"), "tune", "knowledge_knowledgeset_site", is_administrator, ADMINISTRATOR),
            Entry(_("Near-duplicates"), "content_copy", "knowledge_duplicatepair_changelist", is_curator),
            Entry(_("Lexicon"), "menu_book", "knowledge_lexiconterm_changelist", is_curator),
            Entry(_("Knowledge graph"), "share", "knowledge_triple_changelist", is_curator),
            Entry(_("Configuration history"), "history", "knowledge_optionschange_changelist", keeps_sets),
            Entry(_("Source handlers"), "rule_settings", "knowledge_sourcehandler_changelist", is_administrator),
            Entry(_("Attributes"), "label", "knowledge_attribute_changelist", is_administrator),
        ],
    ),
    (
        _("Reviews"),
        [
            Entry(_("Feedback cases"), "rule", "feedback_badcase_changelist", judges_quality, EVERYBODY, cases_open),
            Entry(_("Approved answers"), "check_circle", "chat_approvedanswer_changelist", judges_quality, JUDGES),
            Entry(_("Wanted documents"), "inbox", "evaluation_wanteddocument_changelist", judges_quality, JUDGES),
            Entry(_("Questions and answers"), "forum", "chat_message_changelist", is_reviewer, REVIEWER),
            Entry(_("Use and quality"), "query_stats", "evaluation_usage", judges_quality, EVERYBODY),
            Entry(_("Conversations"), "chat", "chat_conversation_changelist", is_reviewer),
            Entry(_("Answer statistics"), "query_stats", "chat_strategystatistics_changelist", is_reviewer),
        ],
    ),
    (
        _("Evaluation"),
        [
            Entry(_("Golden cases"), "checklist", "evaluation_goldencase_changelist", judges_quality, REVIEWER),
            Entry(_("Evaluation runs"), "monitoring", "evaluation_evaluationrun_changelist", judges_quality, REVIEWER),
            Entry(_("Golden sets"), "verified", "evaluation_goldenset_changelist", judges_quality),
            Entry(_("Retrieval lab"), "labs", "evaluation_lab", judges_quality),
            Entry(_("Experiments"), "compare", "evaluation_experiments", keeps_sets),
        ],
    ),
    (
        _("Tuning"),
        [
            Entry(_("Fitted query vectors"), "tune", "evaluation_adapters", keeps_sets),
            Entry(_("Embedding models of sets"), "hub", "evaluation_set_embedders", keeps_sets),
            Entry(_("Fitted reranker weights"), "rule_settings", "evaluation_reranker", is_administrator),
            Entry(_("Ranking from use"), "weight", "evaluation_use", keeps_sets),
        ],
    ),
    (
        pgettext_lazy("menu", "Administration"),
        [
            Entry(_("Users"), "person", "accounts_user_changelist", is_administrator, ADMINISTRATOR),
            Entry(_("User groups"), "group", "accounts_usergroup_changelist", is_administrator, ADMINISTRATOR),
            Entry(_("Language models"), "api", "knowledge_languagemodel_changelist", is_administrator, ADMINISTRATOR),
            Entry(_("Background work"), "conveyor_belt", "work_job_changelist", is_administrator),
            Entry(_("Audit log"), "history", "accounts_auditevent_changelist", is_administrator, ADMINISTRATOR),
            Entry(_("API keys"), "key", "accounts_apikey_changelist", is_administrator),
            Entry(_("Tenants"), "apartment", "accounts_tenant_changelist", is_administrator),
            Entry(_("Announcements"), "feedback", "chat_announcement_changelist", is_administrator),
            Entry(_("Embedded chats"), "forum", "chat_embed_changelist", is_administrator),
            Entry(_("Search models"), "tune", "knowledge_searchmodel_changelist", is_administrator),
            Entry(_("Folders and hosts"), "storage", "knowledge_sourceplace_changelist", is_administrator),
        ],
    ),
]

# ── the menu of a person ────────────────────────────────────────────────────────────────────────


def roles(request: HttpRequest) -> frozenset[Role]:
    """Roles of a person for the menu; an administrator, who may open every page, has that role only."""
    if is_administrator(request):
        return frozenset(ADMINISTRATOR)
    by_role: dict[Role, bool] = {"owner": lists_sets(request), "reviewer": is_reviewer(request)}
    return frozenset(role for role, holds in by_role.items() if holds)


def sections() -> Iterator[tuple[Any, list[Entry]]]:
    """Titles with their entries: those of PAGES, then those that pages declare."""
    for code, (title, entries) in zip(SECTIONS, PAGES, strict=True):
        declared = [Entry(menu.title, menu.icon, page.name, page.may_open) for page, menu in menu_pages(code)]
        yield title, entries + declared


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """The groups of pages that this person may open: everyday ones, then those with `is_advanced`.

    Active is the page itself, or the nearest above it; `is_open`: an active page is among the advanced ones.
    """
    parts = list(sections())
    links = {entry: reverse(f"admin:{entry.page}") for _title, entries in parts for entry in entries}
    nearest = max((link for link in links.values() if request.path.startswith(link)), key=len, default="")
    daily = roles(request)

    def item(entry: Entry) -> dict[str, Any]:
        return entry.item(request, link=links[entry], active=links[entry] == nearest)

    def groups(is_advanced: bool) -> Iterable[dict[str, Any]]:
        for title, entries in parts:
            of_part = [entry for entry in entries if daily.isdisjoint(entry.everyday) == is_advanced]
            if items := [item(entry) for entry in of_part if entry.may_open(request)]:
                yield {"title": title, "items": items, "is_advanced": is_advanced}

    everyday, advanced = list(groups(False)), list(groups(True))
    is_open = any(item["active"] for group in advanced for item in group["items"])
    return [group | {"separator": at > 0} for at, group in enumerate(everyday)] + [
        group | {"separator": False, "is_open": is_open} for group in advanced
    ]
