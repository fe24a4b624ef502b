"""Decorator of HTML views: sign-in, scope, and errors as pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for

P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


def page(view: Callable[Concatenate[HttpRequest, Scope, P], HttpResponseBase]) -> View:
    """A view for signed-in people that gets their scope; what they may not see is a 404 page."""

    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, scope_for(signed_in(request)), *args, **kwargs)
        except NotFoundError as error:
            raise Http404(error.message) from error
        except NotAllowedError as error:
            raise PermissionDenied(error.message) from error

    return cast(View, login_required(wrapped))


def signed_in(request: HttpRequest) -> User:
    """The user of a view behind `page`."""
    return cast(User, request.user)
