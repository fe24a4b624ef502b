"""What SCIM answers where it cannot do what was asked (RFC 7644, 3.12)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

ERROR_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:Error"


class ScimError(ValueError):
    """A refusal for the log of the directory: HTTP status, SCIM's own kind of error, a sentence in English."""

    def __init__(self, detail: str, *, status: HTTPStatus = HTTPStatus.BAD_REQUEST, scim_type: str = "") -> None:
        super().__init__(detail)
        self.detail, self.status, self.scim_type = detail, status, scim_type


def invalid_value(detail: str) -> ScimError:
    """400: a value that cannot be used."""
    return ScimError(detail, scim_type="invalidValue")


def not_unique(detail: str) -> ScimError:
    """409: somebody or something has this name or externalId."""
    return ScimError(detail, status=HTTPStatus.CONFLICT, scim_type="uniqueness")


def not_there(kind: str, scim_id: str) -> ScimError:
    """404: unknown, removed, or of another tenant."""
    return ScimError(f"There is no {kind} {scim_id[:64]!r}.", status=HTTPStatus.NOT_FOUND)


def error_body(status: int, detail: str, scim_type: str = "") -> dict[str, Any]:
    """The body of an error."""
    body: dict[str, Any] = {"schemas": [ERROR_SCHEMA], "status": str(int(status)), "detail": detail}
    return {**body, "scimType": scim_type} if scim_type else body
