"""Every expected error as an HTTP answer: the one table of codes and statuses, and the one shape of the body.

`{"error": {"code": "...", "message": "...", "details": [...]}}`. REST framework, ninja and Django's own error pages
all go through `problem_of`. What is not expected is logged with its traceback and answered with code `internal`,
never with its text.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from http import HTTPStatus
from math import isfinite
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext, gettext_noop
from ninja.errors import HttpError
from ninja.errors import ValidationError as NinjaValidationError
from psycopg.errors import DiskFull, QueryCanceled
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from rest_framework import exceptions as drf
from rest_framework.response import Response
from rest_framework.views import set_rollback

from accounts.error_messages import error_message
from accounts.value_faults import faults_of
from knowledge.disk_space import disk_fault
from knowledge.file_errors import StorageFullError
from ragcore.errors import ModelUnavailableError, PermanentError, RagError, TransientError
from ragsite.bad_values import is_bad_value

logger = logging.getLogger(__name__)

STATUS_OF_CODE: Mapping[str, int] = {
    "measured_first": 409,
    "malformed": 422,
    "invalid": 422,
    "not_authenticated": 401,
    "csrf_failed": 403,
    "missing_right": 403,
    "missing_scope": 403,
    "embed_refused": 403,
    "quota_exceeded": 403,
    # what the asker may not do is as unknown as what does not exist
    "not_allowed": 404,
    "not_found": 404,
    "set_not_owned": 404,
    "originals_withheld": 403,
    "method_not_allowed": 405,
    "file_missing": 410,
    "file_damaged": 410,
    "name_taken": 409,
    "replayed": 409,
    "job_over": 409,
    "job_state": 409,
    "version_withdrawn": 409,
    "access_not_needed": 409,
    "access_decided": 409,
    "passage_changed": 409,
    "attachment_not_ready": 409,
    "not_sharable": 409,
    "too_many_attachments": 409,
    "source_in_use": 409,
    "source_paused": 409,
    "source_without_owner": 409,
    "body_too_large": 413,
    "upload_too_large": 413,
    "url_too_large": 413,
    "unsupported_format": 415,
    "unsupported_media_type": 415,
    "rate_limited": 429,
    "internal": 500,
    "embedder_refused": 500,
    "adapter_refused": 500,
    "weights_refused": 500,
    "busy": 503,
    "unavailable": 503,
    "retrieval_unavailable": 503,
    "model_unavailable": 503,
    "timeout": 504,
    "storage_full": 507,
}
STATUS_OF_PERMANENT = 422
STATUS_OF_TRANSIENT = 503
CODE_OF_STATUS = {
    400: "malformed",
    401: "not_authenticated",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "rate_limited",
    503: "unavailable",
    504: "timeout",
    507: "storage_full",
}
OPENAI_PATH, DIFY_PATH = "/v1/", "/api/v1/dify/"
DIFY_CODE_OF_STATUS = {401: 1002, 403: 1002, 404: 2001}  # of its own; others are the HTTP status
OPENAI_TYPE = "invalid_request_error"
OPENAI_TYPE_OF_STATUS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
RETRY_AFTER_SECONDS = 2  # where the error does not know better
RETRIED = (429, 503)
INTERNAL_MESSAGE = gettext_noop("Something went wrong on our side. It has been logged; please try again later.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error, ready to be sent."""

    code: str
    message: str
    details: Sequence[Mapping[str, Any]] = ()
    status: int = 0  # 0: by the table
    retry_after_seconds: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def http_status(self) -> int:
        return self.status or STATUS_OF_CODE.get(self.code, STATUS_OF_PERMANENT)

    def body(self) -> dict[str, Any]:
        return body_of(self.code, self.message, self.details)

    def http_headers(self) -> dict[str, str]:
        """WWW-Authenticate with 401, Retry-After (whole seconds, at least 1) with 429 and 503."""
        headers = dict(self.headers)
        if self.http_status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        if self.http_status in RETRIED:
            headers["Retry-After"] = str(max(1, round(self.retry_after_seconds or RETRY_AFTER_SECONDS)))
        return headers


def body_of(code: str, message: str, details: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The JSON body of an error; every string in it can be encoded as UTF-8."""
    return {"error": {"code": code, "message": _encodable(message), "details": _encodable(list(details))}}


def body_for(path: str, problem: Problem) -> dict[str, Any]:
    """The body of an error at an address. Clients of OpenAI's API and of Dify's find the fields of its errors, too."""
    body = problem.body()
    if path.startswith(DIFY_PATH):
        status = problem.http_status
        body |= {"error_code": DIFY_CODE_OF_STATUS.get(status, status), "error_msg": body["error"]["message"]}
    if path.startswith(OPENAI_PATH):
        param = next((detail["field"] for detail in problem.details if "field" in detail), None)
        body["error"] |= {"type": OPENAI_TYPE_OF_STATUS.get(problem.http_status, OPENAI_TYPE), "param": param}
        if problem.http_status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            body["error"]["type"] = "server_error"
    return body


def sent(path: str, problem: Problem) -> JsonResponse:
    """The HTTP response of an error, in the form of the address: JSON of the API or of OpenAI's."""
    return JsonResponse(body_for(path, problem), status=problem.http_status, headers=problem.http_headers())


def status_of(error: RagError) -> int:
    """The HTTP status of an expected error. A strict request is told that the model failed, not to come back."""
    if error.code == ModelUnavailableError.code and error.data.get("strict"):
        return int(HTTPStatus.INTERNAL_SERVER_ERROR)
    usual = STATUS_OF_PERMANENT if isinstance(error, PermanentError) else STATUS_OF_TRANSIENT
    return STATUS_OF_CODE.get(error.code, usual)


@singledispatch
def problem_of(error: Exception) -> Problem:
    """An exception as an answer; an unexpected one is logged."""
    if is_bad_value(error):
        return bad_value(error)
    logger.error("unexpected error", exc_info=error)
    return Problem(code="internal", message=gettext(INTERNAL_MESSAGE))


@problem_of.register
def _expected(error: RagError) -> Problem:
    return Problem(
        code=error.code,
        message=error_message(error),
        details=error.data.get("fields") or ([dict(error.data)] if error.data else ()),
        status=status_of(error),
        retry_after_seconds=error.data.get("retry_after_seconds"),
    )


@problem_of.register
def _rest(error: drf.APIException) -> Problem:
    """Errors of REST framework other than those below; their details are sentences for people."""
    code = CODE_OF_STATUS.get(error.status_code, "invalid")
    return Problem(code=code, message=gettext(str(error.detail)), status=STATUS_OF_CODE.get(code, error.status_code))


@problem_of.register
def _rest_validation(error: drf.ValidationError) -> Problem:
    return invalid([{"field": name, "message": text} for name, text in _flat(error.detail)])


@problem_of.register
def _rest_forbidden(error: drf.PermissionDenied) -> Problem:
    message = str(error.detail)
    return Problem(code="csrf_failed" if message.startswith("CSRF") else "not_allowed", message=gettext(message))


@problem_of.register
def _rest_throttled(error: drf.Throttled) -> Problem:
    return Problem(
        code="rate_limited", message=gettext("Too many requests."), retry_after_seconds=getattr(error, "wait", None)
    )


@problem_of.register
def _rest_method(error: drf.MethodNotAllowed) -> Problem:
    return Problem(code="method_not_allowed", message=gettext(str(error.detail)))


@problem_of.register
def _ninja_validation(error: NinjaValidationError) -> Problem:
    return invalid([{"field": _field(place), "message": words} for place, words in faults_of(error.errors)])


@problem_of.register
def _ninja_http(error: HttpError) -> Problem:
    code = CODE_OF_STATUS.get(error.status_code, "internal")
    if error.status_code == HTTPStatus.FORBIDDEN and "CSRF" in error.message:
        code = "csrf_failed"
    return Problem(code=code, message=gettext(error.message), retry_after_seconds=getattr(error, "wait", None))


@problem_of.register
def _unknown(error: Http404) -> Problem:
    return Problem(code="not_found", message=gettext("There is nothing at this address."))


@problem_of.register
def _forbidden(error: PermissionDenied) -> Problem:
    return Problem(code="not_allowed", message=gettext("You do not have permission to do this."))


@problem_of.register
def _suspicious(error: SuspiciousOperation) -> Problem:
    if isinstance(error, RequestDataTooBig):
        return Problem(code="body_too_large", message=gettext("The request body is larger than this address accepts."))
    return Problem(code="malformed", message=gettext("The request could not be parsed."), status=HTTPStatus.BAD_REQUEST)


@problem_of.register
def _bad_form(error: MultiPartParserError) -> Problem:
    return Problem(code="malformed", message=gettext("The request could not be parsed."), status=HTTPStatus.BAD_REQUEST)


@problem_of.register(OperationalError)
@problem_of.register(InterfaceError)
@problem_of.register(RedisConnectionError)
@problem_of.register(RedisTimeoutError)
def _service_down(error: Exception) -> Problem:
    """Postgres or Redis did not answer: worth another try, and worth a line in the log."""
    logger.error("a service did not answer", exc_info=error)
    if isinstance(error.__cause__, QueryCanceled):
        return Problem(code="timeout", message=gettext("The request took too long."))
    if isinstance(error.__cause__, DiskFull):
        return _expected(StorageFullError("full"))
    return Problem(
        code="unavailable", message=gettext("The service is not available at the moment. Please try again shortly.")
    )


@problem_of.register
def _redis(error: RedisError) -> Problem:
    """What Redis answers instead of a value."""
    logger.error("unexpected error", exc_info=error)
    if is_disk_full_at_redis(error):
        return _expected(StorageFullError("full"))
    return Problem(code="internal", message=gettext(INTERNAL_MESSAGE))


@problem_of.register
def _system(error: OSError) -> Problem:
    """A full or read-only disk is told as such."""
    logger.error("unexpected error", exc_info=error)
    if fault := disk_fault(error):
        return _expected(fault)
    return Problem(code="internal", message=gettext(INTERNAL_MESSAGE))


def is_disk_full_at_redis(error: Exception) -> bool:
    """Whether Redis refuses because it cannot write its file: it then takes no writes and answers no PING."""
    return isinstance(error, RedisError) and str(error).startswith("MISCONF")


def is_outage(error: Exception) -> bool:
    """Whether an exception means that a service or the disk is unavailable: 503 or 507 instead of 500."""
    if isinstance(error, (OperationalError, InterfaceError, RedisConnectionError, RedisTimeoutError, TransientError)):
        return True
    return disk_fault(error) is not None or is_disk_full_at_redis(error)


def bad_value(error: Exception) -> Problem:
    """400 for a value that the database cannot hold. Logged: a field that is not checked let it pass."""
    logger.warning("the database refused a value", exc_info=error)
    message = gettext("The request has a value that cannot be stored or looked for.")
    return Problem(code="malformed", message=message, status=HTTPStatus.BAD_REQUEST)


def invalid(details: Sequence[Mapping[str, Any]]) -> Problem:
    """422 with what is wrong where; the message is readable without the details."""
    if not details:
        return Problem(code="invalid", message=gettext("The request is not valid."))
    first = {"field": details[0]["field"], "problem": details[0]["message"]}
    message = gettext("The request is not valid. %(field)s: %(problem)s") % first
    return Problem(code="invalid", message=message, details=details)


def drf_exception_handler(error: Exception, context: Mapping[str, Any]) -> Response:
    """REST framework's hook: every exception of a view becomes an answer."""
    set_rollback()
    problem = problem_of(error)
    headers = problem.http_headers()
    if isinstance(error, drf.MethodNotAllowed):
        headers["Allow"] = ", ".join(context["view"].allowed_methods)
    return Response(problem.body(), status=problem.http_status, headers=headers)


def _flat(detail: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Nested details of REST framework as (dotted field, sentence) pairs."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _flat(inner, path if name == "non_field_errors" else (*path, str(name)))
    elif isinstance(detail, (list, tuple)):
        for number, inner in enumerate(detail):
            yield from _flat(inner, (*path, str(number)) if isinstance(inner, (Mapping, list)) and inner else path)
    else:
        yield ".".join(path), str(detail)


def _field(location: Sequence[Any]) -> str:
    """`("body", "request", "filters", "axis")` as `filters.axis`: clients do not know how we name the argument."""
    skipped = 2 if location and location[0] == "body" else 1
    return ".".join(str(part) for part in location[skipped:]) or ".".join(str(part) for part in location[:1])


def _encodable(value: Any) -> Any:
    """JSON-ready, without halves of surrogate pairs that a client may have sent and we repeat."""
    if isinstance(value, Mapping):
        return {_encodable(str(key)): _encodable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_encodable(inner) for inner in value]
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and isfinite(value)):
        return value
    return str(value).encode("utf-8", "replace").decode()
