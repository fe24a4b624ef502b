"""Base classes of all admin pages: which rows are shown, who may do what, and filters by state.

Staff see rows of their own tenant; administrators (staff and superuser) of the default tenant see every tenant.
Pages for administrators ask for that role itself and ignore Django's model permissions, so that nobody can be
given the right to give themselves rights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from django.contrib import admin, messages
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Field, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RangeDateFilter
from unfold.decorators import display

from accounts.admin.pages import page_urls
from accounts.models import ClearanceLevel, Tenant, User
from accounts.relative_time import exact_time, relative_time
from accounts.scope import Scope
from accounts.selectors import scope_for
from accounts.services import audit_record

if TYPE_CHECKING:  # the theme has no types; its class is Django's with other templates
    from django.contrib.admin import ModelAdmin as UntypedModelAdmin

    ModelAdmin = UntypedModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin

ALL = "all"
Column = TypeVar("Column", bound=Callable[..., Any])

# of the filters of Django: choices, related rows, empty or not, and dates
FILTER_LOOKUPS = frozenset({"exact", "id", "pk", "isnull", "isempty", "gte", "gt", "lt", "lte", "year", "month", "day"})


def badge(*, description: Any, ordering: str, colours: Mapping[str, str]) -> Callable[[Column], Column]:
    """A column of coloured labels: the method returns (key of `colours`, text)."""
    return cast("Callable[[Column], Column]", display(description=description, ordering=ordering, label=dict(colours)))


def ago(time: datetime) -> SafeString:
    """A time for people, the exact one on hover."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', time.isoformat(), exact_time(time), relative_time(time)
    )


def admin_user(request: HttpRequest) -> User:
    """The signed-in person; admin views are reached by signed-in staff only."""
    return cast(User, request.user)


def admin_scope(request: HttpRequest) -> Scope:
    """The rights of the signed-in person, read once a request."""
    scope = getattr(request, "_admin_scope", None)
    if scope is None:
        scope = scope_for(admin_user(request))
        request._admin_scope = scope  # type: ignore[attr-defined]
    return cast(Scope, scope)


def is_administrator(request: HttpRequest) -> bool:
    """Whether the person administers at least the own tenant."""
    user = request.user
    return user.is_active and user.is_staff and user.is_superuser


class LabelledValuesFilter(admin.AllValuesFieldListFilter):
    """Choices are the values that occur, in words: subclasses say them."""

    def words(self, value: str) -> str:
        """The value as people read it; what is no value, such as "All", as it is."""
        raise NotImplementedError

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {**choice, "display": self.words(str(choice["display"]))}


class ClearanceFilter(LabelledValuesFilter):
    """Clearances with the names of their levels."""

    def words(self, value: str) -> str:
        names = {str(level): f"{level} {name}" for level, name in ClearanceLevel.choices}
        return names.get(value, value)


class ListableRelatedFilter(admin.RelatedFieldListFilter):
    """Choices are rows that the person could list on the page of the other model; no names of other tenants."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.empty_value_display = format_html("{}", _("none"))

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> Any:
        model = field.related_model
        page = model_admin.admin_site._registry.get(model)
        rows = page.get_queryset(request) if page is not None else model._default_manager.none()
        ordering = self.field_admin_ordering(field, request, model_admin)
        choices = {"pk__in": rows.order_by().values("pk")}
        return field.get_choices(include_blank=False, ordering=ordering, limit_choices_to=choices)


def _paths(filters: Iterable[Any]) -> Iterator[str]:
    """The fields by which filters narrow a list."""
    for item in filters:
        if isinstance(item, (str, tuple)):
            yield item if isinstance(item, str) else str(item[0])


def _parameters(filters: Iterable[Any]) -> set[str]:
    """The parameters of filters that are not of a field, and of ranges of dates."""
    parameter_names = {
        str(item.parameter_name) for item in filters if isinstance(item, type) and hasattr(item, "parameter_name")
    }
    ranges = [item[0] for item in filters if isinstance(item, tuple) and issubclass(item[1], RangeDateFilter)]
    return parameter_names | {f"{path}_{end}" for path in ranges for end in ("from", "to")}


class TenantAdmin(ModelAdmin):
    """Shows the rows of one's tenant. `tenant_path` leads from the model to its tenant, with double underscores."""

    tenant_path: ClassVar[str] = "tenant"
    audit_name: ClassVar[str] = ""  # what the audit log calls these rows, where no service records what is done to them
    deletion_note: ClassVar[Any] = _("This cannot be undone.")
    list_fullwidth = True
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        scope = admin_scope(request)
        return rows if scope.administers == "everything" else rows.filter(**{self.tenant_path: scope.tenant_id})

    def get_urls(self) -> list[URLPattern]:
        """With the pages that are declared for the model (`accounts.admin.pages`)."""
        return [*page_urls(self), *super().get_urls()]

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        """Filters by related rows offer only rows that the person could list."""
        return [self._filter_in_scope(item) for item in super().get_list_filter(request)]

    def _filter_in_scope(self, item: Any) -> Any:
        if not isinstance(item, str):
            return item
        field = get_fields_from_path(self.model, item)[-1]
        return (item, ListableRelatedFilter) if field.is_relation else item

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Only what the filters of this page ask for: a list must not be narrowed by what it does not show."""
        if lookup == self.date_hierarchy or lookup in _parameters(self.get_list_filter(request)):
            return True
        paths = [path for path in _paths(self.get_list_filter(request)) if lookup.startswith(f"{path}__")]
        if self.date_hierarchy and lookup.startswith(f"{self.date_hierarchy}__"):
            paths.append(self.date_hierarchy)
        return any(set(lookup[len(path) + 2 :].split("__")) <= FILTER_LOOKUPS for path in paths)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """What was done to a row in the admin, with the names of those who did it: for administrators."""
        if not is_administrator(request):
            raise PermissionDenied
        return super().history_view(request, object_id, extra_context)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new row belongs to one's own tenant unless somebody says otherwise."""
        return {"tenant": admin_scope(request).tenant_id, **super().get_changeform_initial_data(request)}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Named by what it lists; Django asks to select one to change, also who changes nothing."""
        title = {"title": capfirst(self.opts.verbose_name_plural)}
        page: HttpResponse = super().changelist_view(request, {**title, **(extra_context or {})})
        return page

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """With a sentence on whether it is final."""
        note = {"deletion_note": self.deletion_note}
        page: HttpResponse = super().delete_view(request, object_id, {**(extra_context or {}), **note})
        return page

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        """To the list where there is one for this person, else to the start page; both with a sentence."""
        text = _("%(kind)s: not found. It was deleted, or you may not see it.") % {"kind": capfirst(opts.verbose_name)}
        self.message_user(request, text, messages.WARNING)
        sees_list = self.has_view_or_change_permission(request)
        listed = f"{self.admin_site.name}:{opts.app_label}_{opts.model_name}_changelist"
        return redirect(listed if sees_list else f"{self.admin_site.name}:index")

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._audit(request, obj, "create")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        changed = [
            name for part in message if isinstance(part, dict) for name in part.get("changed", {}).get("fields", ())
        ]
        self._audit(request, obj, "change", fields=changed)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """One event for each row, of bulk deletions, too."""
        for row in queryset:
            self._audit(request, row, "delete")
        return super().log_deletions(request, queryset)

    def _audit(self, request: HttpRequest, row: Any, act: str, **data: Any) -> None:
        if self.audit_name:
            audit_record(actor=admin_user(request), action=f"{self.audit_name}.{act}", target=str(row), **data)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", self._choices(db_field, request))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", self._choices(db_field, request))
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def _choices(self, db_field: Field[Any, Any], request: HttpRequest) -> QuerySet[Any]:
        """Rows that may be chosen: those of the edited row's tenant, or of one's own for a new row."""
        model = cast("type[Model]", db_field.related_model)
        rows = model._default_manager.all()
        everything = admin_scope(request).administers == "everything"
        if model is Tenant:
            return rows if everything else rows.filter(pk=admin_scope(request).tenant_id)
        if any(field.name == "tenant" for field in model._meta.get_fields()):
            return rows.filter(tenant=self._row_tenant(request))
        return rows

    def _row_tenant(self, request: HttpRequest) -> int:
        match = request.resolver_match
        object_id = match.kwargs.get("object_id") if match else None
        tenant_id = None
        if object_id is not None:
            tenant_id = self.get_queryset(request).filter(pk=object_id).values_list(self.tenant_path, flat=True).first()
        return tenant_id or admin_scope(request).tenant_id


class AdministratorAdmin(TenantAdmin):
    """Pages that only administrators see.

    `names_for_staff` lets all staff look up names of their tenant where a form completes them, e.g. members of a set.
    """

    names_for_staff: ClassVar[bool] = False

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_administrator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        completes = self.names_for_staff and request.path == reverse(f"{self.admin_site.name}:autocomplete")
        return is_administrator(request) or (completes and request.user.is_active and request.user.is_staff)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_administrator(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_administrator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_administrator(request)


class ReadOnlyMixin:
    """Rows can be looked at, never written, whatever rights a person has."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class StateListFilter(admin.SimpleListFilter):
    """A filter by state; a list without a choice shows all rows, as the first choice says.

    Subclasses define `title`, `parameter_name`, `lookups` and `narrowed`.
    """

    def narrowed(self, rows: Any, choice: str) -> Any:
        """The rows of one choice."""
        raise NotImplementedError

    @property
    def choice(self) -> str:
        """The chosen value, or ALL."""
        return self.value() or ALL

    def queryset(self, request: Any, queryset: Any) -> Any:
        values = {str(value) for value, _label in self.lookup_choices}
        return self.narrowed(queryset, self.choice) if self.choice in values else queryset

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for value, label in ((ALL, _("All")), *self.lookup_choices):
            yield {
                "selected": self.choice == str(value),
                "query_string": changelist.get_query_string({str(self.parameter_name): value}),
                "display": label,
            }
