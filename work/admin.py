"""One page of all background work: what runs, how far it is, why it failed; pause, resume, cancel, try again. And one
of all versions: what is in use, what was, and switching between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.admin.base import (
    AdministratorAdmin,
    ReadOnlyMixin,
    admin_scope,
    admin_user,
    ago,
    badge,
    is_administrator,
)
from accounts.admin.pages import MenuEntry, admin_page, page_response
from accounts.error_messages import error_message
from accounts.errors import NotFoundError
from accounts.selectors import person_name
from ragcore.errors import RagError
from work.errors import UnknownKindError
from work.kinds import kind_get, kinds
from work.models import Job, Version
from work.services import FROM, work_cancel, work_pause, work_resume, work_retry
from work.versions import STEPS as VERSION_STEPS
from work.versions import VersionKind, VersionStep, version_kind_get, version_kinds, version_words
from work.words import error_words, kind_words, progress_words, subject_words

COLOURS: Final = MappingProxyType(
    {"queued": "info", "running": "info", "paused": "warning", "failed": "danger", "done": "success", "cancelled": ""}
)
VERSIONS_SHOWN = 100
Step = tuple[Callable[..., Job], Any, Any]
STEPS: Final[Mapping[str, Step]] = MappingProxyType(
    {
        "pause": (work_pause, _("Pause"), _("The job is paused.")),
        "resume": (work_resume, _("Resume"), _("The job was resumed.")),
        "cancel": (work_cancel, _("Cancel"), _("The job was cancelled.")),
        "retry": (work_retry, _("Try again"), _("The job is tried again.")),
    }
)  # step → service, words of the button, what is said when it is done


class KindFilter(admin.SimpleListFilter):
    """One kind of work, by its label."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(kind.name, kind.label) for kind in kinds()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(Job)
class JobAdmin(ReadOnlyMixin, AdministratorAdmin):
    """Jobs of all kinds; what is special about a kind stands in its panel."""

    list_display = ("kind_shown", "subject_shown", "state_badge", "progress", "started_by", "when", "error")
    empty_value_display = ""
    list_display_links = ("kind_shown",)
    list_filter = ("state", KindFilter)
    list_select_related = ("author", "tenant")
    show_full_result_count = False
    fields = (
        ("kind_shown", "subject_shown"),
        ("state", "progress"),
        ("author", "tenant"),
        ("created", "started", "finished"),
        ("attempt", "error"),
        "panel",
    )
    readonly_fields = ("kind_shown", "subject_shown", "state", "progress", "attempt", "error", "panel")
    change_form_outer_before_template = "admin/work/job/steps.html"

    @admin_page("<int:background_job_id>/<str:step>/now/", name="work_job_step")
    def step(self, request: HttpRequest, background_job_id: int, step: str) -> HttpResponse:
        """POST: pause, resume, cancel or try a job again."""
        if not self.has_module_permission(request):
            raise PermissionDenied
        if step not in STEPS:
            raise Http404
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        service, _words, message = STEPS[step]
        try:
            service(scope=admin_scope(request), actor=admin_user(request), job_id=background_job_id)
        except RagError as error:
            messages.error(request, error_message(error))
            return redirect("admin:work_job_changelist")
        messages.success(request, message)
        return redirect("admin:work_job_change", background_job_id)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        job = self.get_object(request, object_id)
        steps = [(step, STEPS[step][1]) for step, states in FROM.items() if job is not None and job.state in states]
        context = {**(extra_context or {}), "steps": steps}
        page: HttpResponse = super().change_view(request, object_id, form_url, context)
        return page

    # ── columns ─────────────────────────────────────────────────────────────────────────────────

    @admin.display(description=_("kind"), ordering="kind")
    def kind_shown(self, job: Job) -> str:
        return kind_words(job.kind)

    @admin.display(description=pgettext_lazy("background work", "subject"))
    def subject_shown(self, job: Job) -> str:
        return subject_words(job)

    @badge(description=_("state"), ordering="state", colours=COLOURS)
    def state_badge(self, job: Job) -> tuple[str, str]:
        return job.state, job.get_state_display()

    @admin.display(description=_("progress"))
    def progress(self, job: Job) -> str:
        return progress_words(job)

    @admin.display(description=_("started by"), ordering="author")
    def started_by(self, job: Job) -> str:
        """A person, or the site itself."""
        return person_name(job.author) if job.author else str(_("automatically"))

    @admin.display(description=_("time"), ordering="created")
    def when(self, job: Job) -> SafeString:
        """What happened last, and when."""
        if job.finished:
            return format_html(str(_("ended {}")), ago(job.finished))
        if job.state == Job.State.RUNNING and job.started:
            return format_html(str(_("began {}")), ago(job.started))
        words = str(_("waits since {}")) if job.state == Job.State.QUEUED else "{}"
        return format_html(words, ago(job.created))

    @admin.display(description=_("error"))
    def error(self, job: Job) -> str:
        return error_words(job)

    @admin.display(description=_("details"))
    def panel(self, job: Job) -> SafeString | str:
        """What the kind says of its job."""
        try:
            rows = kind_get(job.kind).panel(job)
        except UnknownKindError:
            return "–"
        return format_html_join("", "<div>{}: {}</div>", rows) or "–"


# ── versions ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionPage:
    """A version as the pages show it."""

    kind: VersionKind[Any]
    row: Version

    @property
    def words(self) -> str:
        """What it is a version of, and its number."""
        return version_words(self.kind.name, self.row)

    @property
    def panel(self) -> list[tuple[Any, Any]]:
        """What the kind says of it."""
        return self.kind.panel(self.row)

    @property
    def steps(self) -> list[tuple[str, Any]]:
        """(name, words of the button) of what is possible now."""
        return [(name, step.label) for name, step in _version_steps(self.kind).items() if self.row.state in step.states]


@admin_page(
    "versions/",
    of=Job,
    name="work_versions",
    allowed=is_administrator,
    menu=MenuEntry("administration", _("Versions"), "stacks"),
)
def versions_view(request: HttpRequest) -> HttpResponse:
    """The latest versions of all kinds, or of one."""
    scope, chosen = admin_scope(request), request.GET.get("kind", "")
    of_kinds = [kind for kind in version_kinds() if chosen in ("", kind.name)]
    rows = [VersionPage(kind=kind, row=row) for kind in of_kinds for row in kind.managed(scope=scope)[:VERSIONS_SHOWN]]
    rows.sort(key=lambda listed: listed.row.created, reverse=True)
    page = {"title": _("Versions"), "kinds": version_kinds(), "chosen": chosen, "versions": rows[:VERSIONS_SHOWN]}
    return page_response(request, "admin/work/version/list.html", page)


@admin_page("versions/<str:version_kind>/<int:row_id>/", of=Job, name="work_version", allowed=is_administrator)
def version_view(request: HttpRequest, version_kind: str, row_id: int) -> HttpResponse:
    """One version, with what its kind says of it."""
    version = _version_page(request, version_kind, row_id)
    return page_response(request, "admin/work/version/page.html", {"title": version.words, "version": version})


@admin_page(
    "versions/<str:version_kind>/<int:row_id>/<str:step>/now/",
    of=Job,
    name="work_version_step",
    allowed=is_administrator,
)
def version_step_view(request: HttpRequest, version_kind: str, row_id: int, step: str) -> HttpResponse:
    """POST: do something with a version."""
    version = _version_page(request, version_kind, row_id)
    chosen = _version_steps(version.kind).get(step)
    if chosen is None:
        raise Http404
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        chosen.act(version.kind.name, admin_scope(request), admin_user(request), version.row)
    except RagError as error:
        messages.error(request, error_message(error))
    else:
        messages.success(request, chosen.message)
    return redirect("admin:work_version", version_kind, row_id)


def _version_page(request: HttpRequest, name: str, version_id: int) -> VersionPage:
    try:
        kind = version_kind_get(name)
        return VersionPage(kind=kind, row=kind.get(scope=admin_scope(request), version_id=version_id))
    except (UnknownKindError, NotFoundError) as error:
        raise Http404 from error


def _version_steps(kind: VersionKind[Any]) -> Mapping[str, VersionStep]:
    return VERSION_STEPS if kind.steps is None else kind.steps
