"""Buttons of a passage: a new text, questions, not to be found, undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import admin_scope, admin_user
from knowledge.admin.acting import acted, numbers_of
from knowledge.admin.rights import is_curator
from knowledge.rendering import markdown_html
from knowledge.services.edits import chunk_disable, chunk_questions_set, chunk_replace, edit_undo

MAX_PREVIEW = 200_000  # characters

View = Callable[..., HttpResponse]


def edit_urls(wrap: Callable[[View], View]) -> list[URLPattern]:
    """Addresses below the documents; each ends in the passage that was changed."""
    views: dict[str, View] = {"replace": _replace, "questions": _questions, "disable": _disable}
    passages = [
        path(f"<int:pk>/passages/<int:chunk_id>/{name}/", wrap(view), name=f"knowledge_passage_{name}")
        for name, view in views.items()
    ]
    return [
        *passages,
        path("<int:pk>/edits/<int:edit_id>/undo/", wrap(_undo), name="knowledge_passage_undo"),
        path("<int:pk>/passages/preview/", wrap(_preview), name="knowledge_passage_preview"),
    ]


def _replace(request: HttpRequest, pk: int, chunk_id: int) -> HttpResponse:
    text = request.POST.get("text", "")
    done = _("Saved. The new text is found from now on.")
    return _acted(request, pk, lambda who: chunk_replace(chunk_id=chunk_id, text=text, **who), done)


def _questions(request: HttpRequest, pk: int, chunk_id: int) -> HttpResponse:
    questions = request.POST.get("questions", "").splitlines()
    done = _("Saved. The passage is found by these questions, too.")
    return _acted(request, pk, lambda who: chunk_questions_set(chunk_id=chunk_id, questions=questions, **who), done)


def _disable(request: HttpRequest, pk: int, chunk_id: int) -> HttpResponse:
    done = _("The passage is not found any more.")
    return _acted(request, pk, lambda who: chunk_disable(chunk_id=chunk_id, **who), done)


def _undo(request: HttpRequest, pk: int, edit_id: int) -> HttpResponse:
    return _acted(request, pk, lambda who: edit_undo(edit_id=edit_id, **who), _("The edit was taken back."))


def _preview(request: HttpRequest, pk: int) -> HttpResponse:
    """The HTML of a text that is being written."""
    if not is_curator(request):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    version = numbers_of([request.POST.get("version", "")])
    return HttpResponse(markdown_html(request.POST.get("text", "")[:MAX_PREVIEW], version_id=next(iter(version), None)))


def _acted(request: HttpRequest, pk: int, act: Callable[[dict[str, Any]], object], done: Any) -> HttpResponse:
    """Back to the passage by its place in the document: its id is another one after each edit."""
    who = {"scope": admin_scope(request), "actor": admin_user(request)}
    place = next(iter(numbers_of([request.POST.get("ordinal", "")])), 0)
    back = f"{reverse('admin:knowledge_document_change', args=[pk])}?ordinal={place}#passage-{place}"
    return acted(request, lambda: act(who), done=done, back=back)
