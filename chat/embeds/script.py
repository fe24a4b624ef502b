"""The script that other pages load, and how a frame tells who may show it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

MAX_AGE_SECONDS = 300  # after an update of the site, pages of others load the new script within that time


@require_safe
def embed_script(request: HttpRequest) -> HttpResponse:
    """The one file of ours that pages of any origin may load: it has no data, and is the same for all."""
    content, tag = _script()
    headers = {"Cross-Origin-Resource-Policy": "cross-origin", "Cache-Control": f"public, max-age={MAX_AGE_SECONDS}"}
    headers["ETag"] = tag
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers=headers)
    return HttpResponse(content, content_type="text/javascript; charset=utf-8", headers=headers)


@cache
def _script() -> tuple[bytes, str]:
    content = (settings.BASE_DIR / "static" / "embed" / "embed.js").read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def framed_by(response: HttpResponseBase, ancestors: Sequence[str]) -> HttpResponseBase:
    """The response, which pages of these origins may show in a frame, and nobody else.

    `X-Frame-Options` knows no list, so it is left out here; `frame-ancestors` is what browsers keep to then.
    """
    response.xframe_options_exempt = True  # type: ignore[attr-defined]
    response._csp_replace = {"frame-ancestors": list(ancestors)}  # type: ignore[attr-defined]
    return response
