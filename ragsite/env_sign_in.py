"""Variables of the environment about signing in on the web."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings


def _http_url(value: str | None) -> str | None:
    if value is not None and urlsplit(value).scheme not in ("http", "https"):
        raise ValueError("must be a URL that begins with http:// or https://")
    return value


def _ldap_url(value: str | None) -> str | None:
    if value is None:
        return None
    if urlsplit(value).scheme not in ("ldap", "ldaps", "ldapi"):
        raise ValueError("must be a URL that begins with ldap://, ldaps:// or ldapi://")
    if find_spec("django_auth_ldap") is None:
        raise ValueError("needs packages that are not installed: see LDAP_URL in docs/operators.md")
    return value


def _mapping(value: str | None) -> str | None:
    """A JSON object of strings, by the fields of accounts.people.records.PersonRecord."""
    if value is None:
        return None
    from accounts.people.records import FIELDS

    try:
        parsed = json.loads(value)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict) or not all(isinstance(name, str) for name in parsed.values()):
        raise ValueError('must be a JSON object like {"department": "ou", "groups": "roles"}')
    if unknown := set(parsed) - set(FIELDS):
        raise ValueError(f"maps to unknown fields: {', '.join(sorted(unknown))}; known are {', '.join(FIELDS)}")
    return value


Mapping = Annotated[str | None, AfterValidator(_mapping)]


class SignInEnvironment(BaseSettings):
    """Environment variables for web sign-in; start-up and API keys do not use them."""

    PASSWORD_MIN_LENGTH: int = Field(default=10, ge=8, le=128)
    REQUIRE_TOTP: bool = False  # of staff

    OIDC_ISSUER: Annotated[str | None, AfterValidator(_http_url)] = None
    OIDC_CLIENT_ID: str | None = Field(default=None, validate_default=True)
    OIDC_CLIENT_SECRET: str | None = Field(default=None, repr=False)
    OIDC_NAME: str = "Single sign-on"  # on the button
    OIDC_SCOPES: str = "openid profile email"
    OIDC_CLAIMS: Mapping = None
    OIDC_CREATE_USERS: bool = True
    OIDC_LINK_USERS: bool = False  # to accounts that are here already, by their name

    LDAP_URL: Annotated[str | None, AfterValidator(_ldap_url)] = None
    LDAP_BIND_DN: str | None = None
    LDAP_BIND_PASSWORD: str | None = Field(default=None, repr=False)
    LDAP_USER_BASE: str | None = Field(default=None, validate_default=True)
    LDAP_USER_FILTER: str = "(uid=%(user)s)"
    LDAP_GROUP_BASE: str | None = None
    LDAP_GROUP_FILTER: str = "(objectClass=groupOfNames)"
    LDAP_ATTRIBUTES: Mapping = None

    @field_validator("OIDC_CLIENT_ID")
    @classmethod
    def _client_is_named(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("OIDC_ISSUER"):
            raise ValueError("is required where OIDC_ISSUER is set")
        return value

    @field_validator("LDAP_USER_BASE")
    @classmethod
    def _people_are_somewhere(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("LDAP_URL"):
            raise ValueError("is required where LDAP_URL is set, e.g. ou=people,dc=example,dc=org")
        return value
