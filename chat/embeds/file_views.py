"""Files for the questions of an embedded chat: of the person who is vouched for, with the limits of the chat page.

Only files of conversations that began in this chat are seen, and those that wait for their first question here.
"""

from __future__ import annotations

import uuid

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.scope import Scope
from chat.attachments.files import attachment_add, attachment_delete, attachment_get, attachments_listed
from chat.attachments.panels import serialize_attachment
from chat.attachments.reading import attachment_retry
from chat.embeds.views import visited
from chat.selectors import conversation_get
from ragcore.errors import EmptyDocumentError


@require_http_methods(["GET", "POST"])
@never_cache
@visited
def attachments(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Files of `?conversation_id=`; POST: attach `file`, for it or for the first question of a new conversation."""
    if request.method == "GET":
        row = conversation_get(scope=scope, conversation_id=request.GET.get("conversation_id", ""))
        listed = attachments_listed(scope=scope, conversation=row)
        return JsonResponse({"results": [serialize_attachment(file) for file in listed]})
    file = request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise EmptyDocumentError("no_bytes")
    conversation = request.POST.get("conversation_id") or None
    stored = attachment_add(scope=scope, name=file.name or "", content=file, conversation_id=conversation)
    return JsonResponse(serialize_attachment(stored), status=202)


@require_http_methods(["GET", "DELETE"])
@never_cache
@visited
def attachment(request: HttpRequest, scope: Scope, attachment_id: uuid.UUID) -> HttpResponse:
    """The state of a file; DELETE removes it with its passages."""
    if request.method == "DELETE":
        attachment_delete(scope=scope, key=attachment_id)
        return HttpResponse(status=204)
    return JsonResponse(serialize_attachment(attachment_get(scope=scope, key=attachment_id)))


@require_POST
@never_cache
@visited
def attachment_again(request: HttpRequest, scope: Scope, attachment_id: uuid.UUID) -> HttpResponse:
    """Have a file read again that a passing fault has kept from being read."""
    return JsonResponse(serialize_attachment(attachment_retry(scope=scope, key=attachment_id)), status=202)
