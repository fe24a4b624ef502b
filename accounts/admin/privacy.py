"""Actions on people: giving out what is known about them, and erasing them."""

from __future__ import annotations

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.admin.base import admin_user
from accounts.admin.pages import page_response
from accounts.error_messages import error_message
from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.privacy.erase import person_erase
from accounts.privacy.export import person_export


class PrivacyActions:
    """Mixin of the page of users."""

    @admin.action(description=gettext_lazy("Export personal data (one user)"))
    def export_person(self, request: HttpRequest, rows: QuerySet[User]) -> HttpResponse | None:
        """A zip of everything that belongs to the person."""
        people = list(rows[:2])
        if len(people) != 1:
            messages.error(request, _("Choose one user."))
            return None
        content = person_export(user=people[0], actor=admin_user(request))
        name = f"person-{people[0].pk}.zip"
        headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
        return HttpResponse(content, content_type="application/zip", headers=headers)

    @admin.action(description=gettext_lazy("Erase for good"))
    def erase_person(self, request: HttpRequest, rows: QuerySet[User]) -> HttpResponse | None:
        """Asks once, by name."""
        people = list(rows.select_related("tenant").order_by("username"))
        if request.POST.get("confirmed") != "yes":
            page = {"title": _("Erase users for good?"), "people": people}
            return page_response(request, "admin/accounts/user/erase.html", page)
        erased = 0
        for user in people:
            try:
                person_erase(user=user, actor=admin_user(request))
                erased += 1
            except NotAllowedError as error:
                messages.error(request, f"{user.username}: {error_message(error)}")
        text = ngettext("%(count)d user was erased.", "%(count)d users were erased.", erased)
        messages.success(request, text % {"count": erased})
        return None
