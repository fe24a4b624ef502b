"""To the OpenID provider and back."""

from __future__ import annotations

from http import HTTPStatus

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.error_messages import error_message
from accounts.errors import OidcError
from accounts.sign_in.oidc import has_several_factors, oidc_begin, oidc_claims, oidc_user
from accounts.sign_in.steps import sign_in_begin, sign_in_failed

NEXT = "_oidc_next"


@never_cache
@require_GET
def begin(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider."""
    if not settings.OIDC_ISSUER:
        raise Http404
    try:
        answer = oidc_begin(request, callback=request.build_absolute_uri(reverse("accounts:oidc_callback")))
    except OidcError as error:
        return _refused(request, error)
    target = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    request.session[NEXT] = target if is_ours else ""
    return answer


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Back from the provider: the next step, or the sign-in page with what went wrong."""
    if not settings.OIDC_ISSUER:
        raise Http404
    try:
        claims = oidc_claims(request)
        user = oidc_user(claims)
    except OidcError as error:
        sign_in_failed(request, username="", reason=f"oidc: {error.reason}")
        return _refused(request, error)
    target = request.session.pop(NEXT, "")
    return sign_in_begin(request, user, method="oidc", next_url=target, has_code=has_several_factors(claims))


def _refused(request: HttpRequest, error: OidcError) -> HttpResponse:
    context = {"problem": error_message(error), "provider": settings.OIDC_NAME}
    return render(request, "accounts/sign_in.html", context, status=HTTPStatus.FORBIDDEN)
