"""Signing in at an OpenID provider (authorization code with PKCE), by Authlib.

The library checks state, nonce, signature, issuer, audience and times of the ID token. What it takes from the
provider's description is narrowed here: the issuer must be the configured one, and only asymmetric signatures count.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any

from authlib.common.errors import AuthlibBaseError
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from joserfc.errors import JoseError
from requests import RequestException

from accounts.errors import OidcError
from accounts.models import User
from accounts.people.records import OIDC_CLAIMS, RecordError, record_from_values
from accounts.people.services import person_upsert
from accounts.services import audit_record, tenant_ensure_default
from accounts.sign_in.models import ExternalIdentity

logger = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 60  # by which the clocks of the provider and of this machine may differ
TIMEOUT_SECONDS = 10
SEVERAL_FACTORS = frozenset({"mfa", "otp", "hwk", "sc", "fpt", "face"})  # of `amr` (RFC 8176)
BACKEND = "django.contrib.auth.backends.ModelBackend"


def oidc_begin(request: HttpRequest, *, callback: str) -> HttpResponse:
    """The way to the provider's page. Raises OidcError."""
    try:
        answer: HttpResponse = _client().authorize_redirect(request, callback)
    except (AuthlibBaseError, RequestException, ValueError, KeyError) as error:
        raise _failed("unavailable", error) from error
    return answer


def oidc_claims(request: HttpRequest) -> Mapping[str, Any]:
    """The checked claims of whoever comes back from the provider. Raises OidcError."""
    try:
        client = _client()
        token = client.authorize_access_token(request, leeway=LEEWAY_SECONDS)
        claims = dict(token.get("userinfo") or {})
        if not claims.get("sub"):
            raise OidcError("refused")
        if missing := {"preferred_username", "groups", "email"} - set(claims):
            claims |= _more_claims(client, token, claims, missing)
    except RequestException as error:
        raise _failed("unavailable", error) from error
    except (AuthlibBaseError, JoseError, ValueError, KeyError, TypeError) as error:
        raise _failed("refused", error) from error
    return claims


@transaction.atomic
def oidc_user(claims: Mapping[str, Any]) -> User:
    """The person of these claims, made or brought up to date. Raises OidcError.

    Known again by issuer and subject, never by name: a name may be given to somebody else. An account that is here
    already is linked by its name only where OIDC_LINK_USERS says so, and never one of staff.
    """
    subject = {"issuer": settings.OIDC_ISSUER, "subject": str(claims["sub"])}
    try:
        record = record_from_values(claims, {**OIDC_CLAIMS, **settings.OIDC_CLAIMS})
        identity = ExternalIdentity.objects.select_related("user__tenant").filter(**subject).first()
        user = identity.user if identity else _user_to_link(record.username)
        if user is not None and (user.is_service or not user.is_active):
            raise OidcError("inactive")
        person_upsert(record, tenant=user.tenant if user else tenant_ensure_default(), actor=user, user=user)
    except RecordError as error:
        raise _failed("incomplete", error) from error
    user = user or User.objects.select_related("tenant").get(username=record.username)
    if identity is None:
        ExternalIdentity.objects.create(user=user, **subject)
        audit_record(actor=user, action="identity.link", target=user.username, issuer=settings.OIDC_ISSUER)
    user.backend = BACKEND
    return user


def has_several_factors(claims: Mapping[str, Any]) -> bool:
    """Whether the provider says that it asked for more than a password."""
    methods = claims.get("amr")
    return isinstance(methods, list) and bool(SEVERAL_FACTORS & {str(method) for method in methods})


def _user_to_link(username: str) -> User | None:
    """The account of this name that the identity may have; None for a new one. Raises OidcError."""
    user = User.objects.select_related("tenant").filter(username=username).first()
    if user is None:
        if not settings.OIDC_CREATE_USERS:
            raise OidcError("unknown")
        return None
    if not settings.OIDC_LINK_USERS or user.is_staff or user.identities.filter(issuer=settings.OIDC_ISSUER).exists():
        raise OidcError("name_taken")
    return user


def _more_claims(client: Any, token: Any, claims: Mapping[str, Any], missing: set[str]) -> dict[str, Any]:
    """What the ID token left to the userinfo endpoint; only of the same subject."""
    if not client.server_metadata.get("userinfo_endpoint"):
        return {}
    userinfo = dict(client.userinfo(token=token))
    if userinfo.get("sub") != claims["sub"]:
        raise OidcError("refused")
    return {name: value for name, value in userinfo.items() if name not in claims}


def _client() -> Any:
    """The client with the provider's description, which is read once. Raises ValueError for another issuer."""
    client = _registered(settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET)
    described = client.load_server_metadata()
    if str(described.get("issuer", "")).rstrip("/") != settings.OIDC_ISSUER:
        raise ValueError("the provider calls itself another issuer")
    offered = described.get("id_token_signing_alg_values_supported") or ALGORITHMS
    described["id_token_signing_alg_values_supported"] = [name for name in offered if name in ALGORITHMS]
    return client


@cache
def _registered(issuer: str, client_id: str, client_secret: str) -> Any:
    return OAuth().register(
        "oidc",
        client_id=client_id,
        client_secret=client_secret,
        server_metadata_url=f"{issuer}/.well-known/openid-configuration",
        client_kwargs={
            "scope": settings.OIDC_SCOPES,
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT_SECONDS,
            "leeway": 0,  # access tokens may live for a minute only
        },
    )


def _failed(reason: str, error: Exception) -> OidcError:
    """The person is told what to do; the log says why."""
    logger.warning("signing in at %s failed (%s): %s: %s", settings.OIDC_ISSUER, reason, type(error).__name__, error)
    return OidcError(reason)
