"""One way for every button of the desk: call a service, say in words what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect

from accounts.error_messages import error_message
from ragcore.errors import RagError

REFUSED = 409  # to scripts: the sentence says why


def acted(request: HttpRequest, act: Callable[[], Any], *, done: Any, back: str) -> HttpResponse:
    """POST: run the service and say `done`, or why not.

    Pages with scripts get JSON {"message"} and stay where they are; forms are sent back to the page `back`.
    """
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        act()
    except RagError as error:
        return _refused(request, error, back=back)
    if _is_script(request):
        return JsonResponse({"message": str(done)})
    messages.success(request, done)
    return redirect(back)


def _refused(request: HttpRequest, error: RagError, *, back: str) -> HttpResponse:
    if _is_script(request):
        return JsonResponse({"message": error_message(error), "code": error.code}, status=REFUSED)
    messages.error(request, error_message(error))
    return redirect(back)


def _is_script(request: HttpRequest) -> bool:
    return request.headers.get("Accept") == "application/json"


def numbers_of(values: list[str]) -> list[int]:
    """The ids among the values of a form."""
    return [int(value) for value in values if value.isdecimal() and len(value) < 18]
