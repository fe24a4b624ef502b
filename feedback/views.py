"""What the frame of an embedded chat sends about its answers."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.scope import Scope
from chat.embeds.views import visited
from feedback.api import FeedbackBody, FeedbackFields
from feedback.services import vote_record


@require_POST
@never_cache
@visited
def embed_feedback(request: HttpRequest, scope: Scope) -> HttpResponse:
    """As `POST /api/v1/feedback`, for an answer of this chat to the person who is vouched for."""
    try:
        body = FeedbackBody(data=json.loads(request.body))
    except ValueError:
        body = FeedbackBody(data=None)
    if not body.is_valid():
        return JsonResponse({"code": "invalid", "message": "", "faults": body.errors}, status=422)
    person = User.objects.get(pk=scope.user_id)
    vote = vote_record(scope=scope, user=person, **body.validated_data)
    return JsonResponse(FeedbackFields(vote).data, status=201)
