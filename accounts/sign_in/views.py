"""Signing in, step by step, and signing out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from accounts.models import User
from accounts.sign_in.browsers import browser_of, client_address
from accounts.sign_in.forms import CodeForm, FirstPasswordForm
from accounts.sign_in.passwords import password_rules, password_set
from accounts.sign_in.second_factor import (
    second_factor_begin,
    second_factor_check,
    second_factor_confirm,
    secret_picture,
    secret_text,
)
from accounts.sign_in.sessions import current_reference, session_end
from accounts.sign_in.steps import (
    PAGES,
    PENDING,
    PendingSignIn,
    Step,
    pending_of,
    sign_in_begin,
    sign_in_continue,
    sign_in_failed,
    wanted_step,
)
from accounts.sign_in.throttle import Attempt, attempt_forgive, attempt_seconds

LDAP_BACKEND = "accounts.sign_in.ldap.LdapBackend"
StepView = Callable[[HttpRequest, User, PendingSignIn], HttpResponse]


class SignIn(LoginView):
    """Name and password; what else is wanted follows on pages of its own."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Counted before the password is looked at."""
        self.attempt = attempt_of(request, request.POST.get("username", ""))
        if seconds := attempt_seconds(self.attempt):
            form = AuthenticationForm(request, data=request.POST)
            return too_many(self.render_to_response(self.get_context_data(form=form, wait=wait_text(seconds))), seconds)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        attempt_forgive(self.attempt)
        user: Any = form.get_user()
        method = "ldap" if user.backend == LDAP_BACKEND else "password"
        return sign_in_begin(self.request, user, method=method, next_url=self.get_redirect_url())

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        username = str(form.data.get("username", ""))[:150]
        if username:
            sign_in_failed(self.request, username=username, reason="password")
        return super().form_invalid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return {**super().get_context_data(**kwargs), "provider": settings.OIDC_NAME if settings.OIDC_ISSUER else ""}


class SignOut(LogoutView):
    """Ends the session here and everything that it had opened."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:  # type: ignore[override]
        user, reference = request.user, current_reference(request)
        response = super().post(request, *args, **kwargs)
        if isinstance(user, User):
            session_end(user=user, reference=reference)
        return response


def attempt_of(request: HttpRequest, username: str, *, step: str = "password") -> Attempt:
    """What the throttle is told about a request."""
    browser = browser_of(request)
    browser_id = browser.id if browser is not None and browser.knows(username) else None
    return Attempt(name=username, address=client_address(request), known_browser=browser_id, step=step)


def too_many(response: Any, seconds: int) -> HttpResponse:
    """A page that was drawn for somebody who has to wait."""
    response.status_code = HTTPStatus.TOO_MANY_REQUESTS
    response["Retry-After"] = str(seconds)
    return response  # type: ignore[no-any-return]


def wait_text(seconds: int) -> str:
    """How long to wait, for people."""
    minutes = -(-seconds // 60)
    if seconds < 90:
        text = ngettext("Try again in %(count)d second.", "Try again in %(count)d seconds.", seconds)
        return text % {"count": seconds}
    text = ngettext("Try again in %(count)d minute.", "Try again in %(count)d minutes.", minutes)
    return text % {"count": minutes}


def step_view(step: Step) -> Callable[[StepView], Callable[..., HttpResponseBase]]:
    """A page that only those see for whom it is the next step; others are sent where they have to go on."""

    def decorate(view: StepView) -> Callable[..., HttpResponseBase]:
        @never_cache
        @sensitive_post_parameters()
        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(view)
        def wrapped(request: HttpRequest) -> HttpResponse:
            entry = pending_of(request)
            if entry is None:
                return redirect("accounts:sign_in")
            user, pending = entry
            if (next_step := wanted_step(user, pending)) != step:
                return redirect(PAGES[next_step]) if next_step else sign_in_continue(request, user, pending)
            return view(request, user, pending)

        return wrapped

    return decorate


@step_view("code")
def code(request: HttpRequest, user: User, pending: PendingSignIn) -> HttpResponse:
    """The code of the authenticator app, or a recovery code."""
    form = CodeForm(request.POST or None)
    context: dict[str, Any] = {"form": form}
    if request.method == "POST":
        attempt = attempt_of(request, user.username, step="code")
        if seconds := attempt_seconds(attempt):
            context["wait"] = wait_text(seconds)
            return too_many(render(request, "accounts/sign_in_code.html", context), seconds)
        if form.is_valid() and second_factor_check(user=user, code=form.cleaned_data["code"]):
            attempt_forgive(attempt)
            return sign_in_continue(request, user, pending, has_code=True)
        sign_in_failed(request, username=user.username, reason="code")
        context["is_wrong"] = True
    return render(request, "accounts/sign_in_code.html", context)


@step_view("password")
def password(request: HttpRequest, user: User, pending: PendingSignIn) -> HttpResponse:
    """A password of one's own in the place of the given one."""
    form = FirstPasswordForm(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        password_set(user=user, password=form.cleaned_data["new_password1"])
        return sign_in_continue(request, user, pending)
    return render(request, "accounts/sign_in_password.html", {"form": form, "password_rules": password_rules()})


@step_view("setup")
def setup(request: HttpRequest, user: User, pending: PendingSignIn) -> HttpResponse:
    """Set up the second factor that the site wants; the recovery codes are shown before going on."""
    device = second_factor_begin(user)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if codes := second_factor_confirm(user=user, code=form.cleaned_data["code"]):
            signed_in = sign_in_continue(request, user, pending, has_code=True)
            page = render(request, "accounts/sign_in_codes.html", {"codes": codes, "target": signed_in["Location"]})
            page.cookies = signed_in.cookies
            return page
        form.add_error("code", CodeForm.WRONG)
    context = {"form": form, "picture": secret_picture(device), "secret": secret_text(device)}
    return render(request, "accounts/sign_in_setup.html", context)


@never_cache
@require_GET
def again(request: HttpRequest) -> HttpResponse:
    """Give up half a sign-in, and begin another one."""
    request.session.pop(PENDING, None)
    return redirect("accounts:sign_in")


sign_in = SignIn.as_view()
sign_out = SignOut.as_view()
