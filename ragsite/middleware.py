"""Middleware of the site."""

from __future__ import annotations

from csp.middleware import CSPMiddleware
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

ADMIN_PATHS = ("/admin/", "/api/docs")


class ContentSecurityPolicyMiddleware(CSPMiddleware):
    """The strict policy everywhere, the relaxed one where third-party pages need it."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.path.startswith(ADMIN_PATHS):
            response._csp_replace = settings.CONTENT_SECURITY_POLICY_ADMIN  # type: ignore[attr-defined]
        return super().process_response(request, response)
