"""What the pages of curators share: who may open them, and how a button calls a service."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import get_object_or_404, redirect

from accounts.admin.base import ReadOnlyMixin, TenantAdmin, admin_scope, admin_user, is_administrator
from accounts.error_messages import error_message
from accounts.selectors import may_create_sets
from knowledge.errors import MeasuredFirstError
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_curated, sets_managed
from ragcore.errors import RagError

RowT = TypeVar("RowT")
_CURATES, _KEEPS = "_curates_sets", "_keeps_sets"

REFUSED = 409  # to scripts: the sentence says why


def is_curator(request: HttpRequest) -> bool:
    """Whether the person curates anything: administrators, and staff who own or edit a set."""
    return _holds(request, _CURATES, sets_curated)


def keeps_sets(request: HttpRequest) -> bool:
    """Whether the person keeps any set: administrators, and staff who own one."""
    return _holds(request, _KEEPS, sets_managed)


def creates_sets(request: HttpRequest) -> bool:
    """Whether the person may make sets: administrators, and staff who were given the right."""
    user = request.user
    is_staff = user.is_active and user.is_staff
    return is_staff and may_create_sets(user=admin_user(request), scope=admin_scope(request))


def lists_sets(request: HttpRequest) -> bool:
    """Whether the person has a use for the page of sets."""
    return is_curator(request) or creates_sets(request)


def _holds(request: HttpRequest, name: str, sets: Callable[..., QuerySet[KnowledgeSet]]) -> bool:
    if is_administrator(request):
        return True
    user = request.user
    if not (user.is_active and user.is_staff):
        return False
    if not hasattr(request, name):  # asked for each entry of the navigation
        setattr(request, name, sets(scope=admin_scope(request)).exists())
    return bool(getattr(request, name))


class CuratorAdmin(ReadOnlyMixin, TenantAdmin):
    """Pages of curators; each page narrows its rows to what is managed."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_curator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_curator(request)


class OwnerAdmin(CuratorAdmin):
    """Pages of those who keep sets; editors have none of them."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return keeps_sets(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return keeps_sets(request)


def managed_set(request: HttpRequest, pk: int) -> KnowledgeSet:
    """The set of the address, for those who manage it. Raises Http404."""
    return get_object_or_404(sets_managed(scope=admin_scope(request)).select_related("tenant"), pk=pk)


# ── buttons ───────────────────────────────────────────────────────────────────────────────────────


def run_action(request: HttpRequest, act: Callable[[], Any], *, done: Any, back: str) -> HttpResponse:
    """POST: run the service and say `done`, or what it says of the service's result, or why not.

    Pages with scripts get JSON {"message"} and stay where they are; forms are sent back to the page `back`.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        result = act()
    except MeasuredFirstError as error:
        return measured_first(request, error)
    except RagError as error:
        return _refused(request, error, back=back)
    message = done(result) if callable(done) else done
    if _is_script(request):
        return JsonResponse({"message": str(message)})
    messages.success(request, message)
    return redirect(back)


def measured_first(request: HttpRequest, error: MeasuredFirstError) -> HttpResponse:
    """To the page where the measuring is followed and the settings are published."""
    messages.info(request, error_message(error))
    return redirect("admin:evaluation_gatedchange_change", error.data["change"])


def _refused(request: HttpRequest, error: RagError, *, back: str) -> HttpResponse:
    if _is_script(request):
        return JsonResponse({"message": error_message(error), "code": error.code}, status=REFUSED)
    messages.error(request, error_message(error))
    return redirect(back)


def _is_script(request: HttpRequest) -> bool:
    return request.headers.get("Accept") == "application/json"


def each_row(
    request: HttpRequest, rows: Iterable[RowT], act: Callable[[RowT], object], *, name: Callable[[RowT], str] = str
) -> list[RowT]:
    """The rows that the service took. What it refuses is said after the name of its row; `name` may give none."""
    rows_done = []
    for row in rows:
        try:
            act(row)
        except RagError as error:
            words = (name(row), error_message(error))
            messages.error(request, ": ".join(filter(None, words)))
        else:
            rows_done.append(row)
    return rows_done


def ids_of(values: list[str]) -> list[int]:
    """The ids among the values of a form."""
    return [int(value) for value in values if value.isdecimal() and len(value) < 18]
