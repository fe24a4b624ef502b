"""User groups in the admin: who is in them, and which knowledge sets they may read."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import AdministratorAdmin, admin_scope
from accounts.models import User, UserGroup
from accounts.people.rights import sets_read_by_group

CHANGED = "_members_changed"  # attribute of a request: who came and went, for the event


class GroupForm(forms.ModelForm):  # type: ignore[type-arg]
    """A group with its members; `people`: who may be chosen."""

    people: QuerySet[User]

    members = forms.ModelMultipleChoiceField(
        label=_("members"),
        queryset=User.objects.none(),
        required=False,
        widget=AutocompleteSelectMultiple(User.user_groups.through._meta.get_field("user"), admin.site),
        help_text=_("Members read the knowledge sets that the group may read."),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["members"].queryset = self.people  # type: ignore[attr-defined]
        if self.instance.pk:
            self.initial["members"] = list(self.instance.members.order_by("username"))

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if any(person.tenant != values.get("tenant") for person in values.get("members", ())):
            self.add_error("members", _("Choose people of the tenant of the group."))
        return values


@admin.register(UserGroup)
class UserGroupAdmin(AdministratorAdmin):
    """Groups that share access to knowledge sets."""

    audit_name = "group"
    names_for_staff = True
    form = GroupForm
    list_display = ("name", "people", "tenant")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    search_fields = ("name",)
    fields = ("name", "tenant", "members", "sets_read")
    readonly_fields = ("sets_read",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[UserGroup]:
        rows: QuerySet[UserGroup] = super().get_queryset(request)
        return rows.annotate(people_count=Count("members"))

    def get_form(self, request: HttpRequest, obj: UserGroup | None = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        scope = admin_scope(request)
        people = User.objects.select_related("tenant")
        people = people if scope.administers == "everything" else people.filter(tenant=scope.tenant_id)
        return type(form.__name__, (form,), {"people": people})

    @admin.display(description=_("people"), ordering="people_count")
    def people(self, group: Any) -> int:
        return int(group.people_count)

    @admin.display(description=_("knowledge sets"))
    def sets_read(self, group: UserGroup) -> SafeString:
        """Those that it may read, and where that is changed."""
        note = _("The groups that read a knowledge set are chosen on its page, unless it is open to everyone.")
        sets = sets_read_by_group(group) if group.pk else []
        links = [(reverse("admin:knowledge_knowledgeset_change", args=[pk]), name) for name, pk in sets]
        names = format_html_join(", ", '<a class="rs-link" href="{}">{}</a>', links) or "–"
        return format_html('{}<br><span class="rs-quiet">{}</span>', names, note)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        before, after = set(form.instance.members.all()), set(form.cleaned_data["members"])
        form.instance.members.set(after)
        moves = {"members_added": after - before, "members_removed": before - after}
        setattr(request, CHANGED, {name: sorted(map(str, people)) for name, people in moves.items() if people})

    def _audit(self, request: HttpRequest, row: Any, act: str, **data: Any) -> None:
        super()._audit(request, row, act, **data, **getattr(request, CHANGED, {}))
