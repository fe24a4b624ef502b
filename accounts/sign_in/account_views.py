"""A person's own pages about signing in: password, second factor, places."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.authentication import page, signed_in
from accounts.scope import Scope
from accounts.sign_in.forms import CodeForm, OwnPasswordForm
from accounts.sign_in.passwords import password_rules, password_set
from accounts.sign_in.second_factor import (
    codes_left,
    has_second_factor,
    needs_second_factor,
    recovery_codes_renew,
    second_factor_begin,
    second_factor_check,
    second_factor_confirm,
    second_factor_remove,
    secret_picture,
    secret_text,
)
from accounts.sign_in.sessions import current_reference, session_revoke, sessions_end
from accounts.sign_in.throttle import attempt_forgive, attempt_seconds
from accounts.sign_in.views import attempt_of, too_many, wait_text


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@page
def password(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Change one's password; other sessions end."""
    user = signed_in(request)
    form = OwnPasswordForm(user, request.POST or None)
    context = {"form": form, "is_elsewhere": not user.has_usable_password(), "password_rules": password_rules()}
    if request.method == "POST":
        attempt = attempt_of(request, user.username, step="own-password")
        if seconds := attempt_seconds(attempt):
            return too_many(render(request, "accounts/password.html", {**context, "wait": wait_text(seconds)}), seconds)
        if form.is_valid():
            attempt_forgive(attempt)
            password_set(user=user, password=form.cleaned_data["new_password1"])
            update_session_auth_hash(request, user)  # this session goes on, with another key
            messages.success(request, _("Your password was changed. You were signed out everywhere else."))
            return redirect("accounts:profile")
    return render(request, "accounts/password.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page
def second_factor(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Set up an authenticator app, or see that there is one."""
    user = signed_in(request)
    if has_second_factor(user):
        context = {
            "left": codes_left(user),
            "is_required": needs_second_factor(user),
            "form": CodeForm(is_focused=False),
        }
        return render(request, "accounts/second_factor.html", context)
    device = second_factor_begin(user)
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        if codes := second_factor_confirm(user=user, code=form.cleaned_data["code"]):
            sessions_end(user=user, actor=user, except_sessions=[current_reference(request)])
            return render(request, "accounts/second_factor_codes.html", {"codes": codes})
        form.add_error("code", CodeForm.WRONG)
    setup = {"form": form, "picture": secret_picture(device), "secret": secret_text(device)}
    return render(request, "accounts/second_factor_setup.html", setup)


@never_cache
@require_POST
@page
def second_factor_change(request: HttpRequest, scope: Scope) -> HttpResponse:
    """New recovery codes, or none of it any more; both want a code of the present device."""
    user = signed_in(request)
    form = CodeForm(request.POST)
    attempt = attempt_of(request, user.username, step="code")
    if seconds := attempt_seconds(attempt):
        messages.error(request, wait_text(seconds))
        return redirect("accounts:second_factor")
    if not (form.is_valid() and second_factor_check(user=user, code=form.cleaned_data["code"])):
        messages.error(request, CodeForm.WRONG)
        return redirect("accounts:second_factor")
    attempt_forgive(attempt)
    if "remove" not in request.POST:
        return render(request, "accounts/second_factor_codes.html", {"codes": recovery_codes_renew(user=user)})
    if not needs_second_factor(user):
        second_factor_remove(user=user, actor=user)
        messages.success(request, _("Two-step sign-in is off."))
    return redirect("accounts:profile")


@require_POST
@page
def session_end(request: HttpRequest, scope: Scope, reference: str) -> HttpResponse:
    """Sign out in one other place."""
    user = signed_in(request)
    session_revoke(user=user, reference=reference, actor=user)
    messages.success(request, _("You were signed out there."))
    return redirect("accounts:profile")


@require_POST
@page
def sessions_end_others(request: HttpRequest, scope: Scope) -> HttpResponse:
    """Sign out everywhere else."""
    user = signed_in(request)
    sessions_end(user=user, actor=user, except_sessions=[current_reference(request)])
    messages.success(request, _("You were signed out everywhere else."))
    return redirect("accounts:profile")
