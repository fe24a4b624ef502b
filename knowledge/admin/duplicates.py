"""Documents that say nearly the same: owners compare them and decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from accounts.admin.pages import admin_page
from knowledge.admin.curation import CuratorAdmin, run_action
from knowledge.models import DuplicatePair
from knowledge.selectors import sets_curated
from knowledge.selectors.comparisons import DiffLine, pairs_of, texts_diff
from knowledge.services.near_duplicates import pair_keep


class SetFilter(admin.SimpleListFilter):
    """Pairs with a document in one set."""

    title = _("knowledge set")
    parameter_name = "set"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(row.pk), row.shown_name) for row in sets_curated(scope=admin_scope(request)).order_by("name")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[DuplicatePair]) -> QuerySet[DuplicatePair]:
        value = self.value() or ""
        if not value.isdecimal():
            return queryset
        return queryset.filter(pk__in=pairs_of(scope=admin_scope(request), set_id=int(value)).order_by().values("pk"))


@admin.register(DuplicatePair)
class DuplicatePairAdmin(CuratorAdmin):
    """Open pairs, most alike first."""

    list_display = ("__str__",)
    list_filter = (SetFilter, "kind")
    search_fields = ("first__title", "second__title")
    ordering = ("-similarity", "-id")
    list_per_page = 25
    change_list_template = "admin/knowledge/duplicatepair/list.html"
    change_form_template = "admin/knowledge/duplicatepair/pair.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[DuplicatePair]:
        rows = pairs_of(scope=admin_scope(request)).select_related("first__source", "second__source")
        return rows.prefetch_related("first__sets", "second__sets")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        pair = self.get_object(request, object_id)
        extra: dict[str, Any] = {}
        if pair is not None:
            texts = [document.live_version.markdown if document.live_version else "" for document in both(pair)]
            rows = side_by_side(texts_diff(*texts))
            extra = {"pair": pair, "rows": rows, "title": _("Near-duplicate documents")}
        page: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **extra})
        return page

    @admin_page("<int:pk>/keep/", name="knowledge_duplicatepair_keep")
    def keep(self, request: HttpRequest, pk: int) -> HttpResponse:
        """POST: both documents are wanted."""
        get_object_or_404(self.get_queryset(request), pk=pk)
        return run_action(
            request,
            lambda: pair_keep(scope=admin_scope(request), actor=admin_user(request), pair_id=pk),
            done=_("Both are kept and no longer reported."),
            back=reverse("admin:knowledge_duplicatepair_changelist"),
        )


def both(pair: DuplicatePair) -> tuple[Any, Any]:
    return pair.first, pair.second


# ── rows of a comparison ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class DiffRow:
    """Left and right of one row; None where that side has nothing. `skipped` stands for rows that are the same."""

    left: str | None = None
    right: str | None = None
    changed: bool = False
    skipped: int = 0


def side_by_side(lines: Iterable[DiffLine]) -> list[DiffRow]:
    """What went and what came in its place stand in the same rows."""
    rows: list[DiffRow] = []
    removed: list[str] = []
    added: list[str] = []
    for line in lines:
        if line.change == "removed" and added:  # the next replacement begins
            rows += _paired(removed, added)
            removed, added = [], []
        if line.change == "removed":
            removed.append(line.text)
        elif line.change == "added":
            added.append(line.text)
        else:
            rows += _paired(removed, added)
            removed, added = [], []
            rows.append(DiffRow(skipped=line.count) if line.change == "skipped" else DiffRow(line.text, line.text))
    return [*rows, *_paired(removed, added)]


def _paired(removed: list[str], added: list[str]) -> Iterator[DiffRow]:
    return (DiffRow(old, right, changed=True) for old, right in zip_longest(removed, added))
