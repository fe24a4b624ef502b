"""The first page of the admin: what needs hands, for each role, and who sees which part of the navigation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, is_administrator
from accounts.models import User
from chat.admin import is_reviewer
from evaluation.selectors import runs_of
from feedback.selectors import case_counts
from knowledge.admin.rights import documents_managed, is_curator
from knowledge.models import Document, IngestItem
from knowledge.selectors import sets_managed


def may_curate(request: HttpRequest) -> bool:
    return is_curator(request)


def may_review(request: HttpRequest) -> bool:
    return is_reviewer(request)


def may_review_cases(request: HttpRequest) -> bool:
    return is_reviewer(request) or is_curator(request)


def may_evaluate(request: HttpRequest) -> bool:
    return may_review_cases(request)


def may_administer(request: HttpRequest) -> bool:
    return is_administrator(request)


def may_administer_all(request: HttpRequest) -> bool:
    return is_administrator(request) and admin_scope(request).administers == "everything"


def failed_documents(request: HttpRequest) -> str:
    """The badge of the documents page; empty where nothing failed."""
    return str(_documents(request, Document.State.FAILED) or "")


def open_cases(request: HttpRequest) -> str:
    """The badge of the cases page; empty where no case is open."""
    return str(_cases(request) or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A number on the first page; `hands` marks one that somebody should bring to zero."""

    title: Any
    value: int
    link: str
    hands: bool = False


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the counts that this person can act on."""
    counts: list[Count] = []
    if may_curate(request):
        counts += _knowledge_counts(request)
    if may_review_cases(request):
        link = reverse("admin:feedback_badcase_changelist")
        counts.append(Count(title=_("Open cases"), value=_cases(request), link=link, hands=True))
    if may_administer(request):
        scope = admin_scope(request)
        people = User.objects.filter(is_active=True)
        if scope.administers != "everything":
            people = people.filter(tenant=scope.tenant_id)
        counts.append(
            Count(title=_("Active users"), value=people.count(), link=reverse("admin:accounts_user_changelist"))
        )
    context["counts"] = counts
    if may_evaluate(request):
        context["latest_runs"] = list(runs_of(scope=admin_scope(request))[:5])
    return context


def _knowledge_counts(request: HttpRequest) -> list[Count]:
    documents = reverse("admin:knowledge_document_changelist")
    scope = admin_scope(request)
    return [
        Count(
            title=_("Failed documents"),
            value=_documents(request, Document.State.FAILED),
            link=f"{documents}?hands=failed",
            hands=True,
        ),
        Count(
            title=_("Documents in work"),
            value=IngestItem.objects.filter(
                finished=None, version__document__in=documents_managed(scope=scope).order_by().values("pk")
            ).count(),
            link=reverse("admin:knowledge_ingestitem_changelist"),
        ),
        Count(
            title=_("Live documents"), value=_documents(request, Document.State.LIVE), link=f"{documents}?hands=live"
        ),
        Count(
            title=_("Knowledge sets"),
            value=sets_managed(scope=scope).count(),
            link=reverse("admin:knowledge_knowledgeset_changelist"),
        ),
    ]


def _documents(request: HttpRequest, state: str) -> int:
    return documents_managed(scope=admin_scope(request)).filter(state=state).count()


def _cases(request: HttpRequest) -> int:
    return case_counts(scope=admin_scope(request), is_reviewer=is_reviewer(request))["open"]
