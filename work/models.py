"""One table for the life of all background work, and one vocabulary for what is built by it and brought into use."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

UNKNOWN = "internal"  # code of a fault that only the log describes


class Job(models.Model):
    """One piece of background work, of a kind that `work.kinds` knows by `kind`.

    States and who moves a job from one to the next:

        queued → running            a worker claims it (`work.claims`), and `attempt` grows
        running → queued            the slice is over, or a passing fault is tried again at `not_before`
        running → done | failed     the kind has ended, or a fault does not pass, or there were too many tries
        queued | running → paused   a person (`work.services`); `attempt` grows, which fences its worker off
        paused → queued             a person
        open → cancelled            a person, or the end of the author's account; `attempt` grows
        failed | cancelled → queued   a person tries again; it goes on from its checkpoint

    A running job whose lease has ended is free: the next worker claims it. `attempt` counts claims and acts of people;
    a worker's write counts only while the row still has the attempt of its claim (`work.fencing`).
    At most one job of a kind, tenant and subject is open (queued, running or paused).
    """

    FENCE: ClassVar = "attempt"

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting")
        RUNNING = "running", _("Running")
        PAUSED = "paused", _("Paused")
        DONE = "done", _("Finished")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    kind = models.CharField(_("kind"), max_length=64)
    subject = models.CharField(
        pgettext_lazy("background work", "subject"), max_length=200, blank=True
    )  # what it is about, as its kind names it
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=pgettext_lazy("background work", "started by"),
    )  # null: nobody asked for it, e.g. work of the night
    arguments = models.JSONField(default=dict)  # ids and choices that it was started with
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.QUEUED)
    done = models.PositiveIntegerField(default=0)  # of `total`, in the unit of its kind
    total = models.PositiveIntegerField(default=0)  # 0: not known
    figures = models.JSONField(default=dict)  # counts that its kind shows
    checkpoint = models.JSONField(default=dict)  # from which it goes on
    attempt = models.PositiveIntegerField(_("attempt"), default=0, editable=False)
    failures = models.PositiveSmallIntegerField(default=0)  # tries without a new checkpoint
    lease_until = models.DateTimeField(null=True, editable=False)  # of the worker that runs it
    called = models.DateTimeField(null=True, editable=False)  # when a worker was called that has not come yet
    not_before = models.DateTimeField(null=True, editable=False)  # of the next try
    error_code = models.CharField(max_length=64, blank=True)  # of the last fault
    error_data = models.JSONField(default=dict)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    started = models.DateTimeField(_("started"), null=True)
    finished = models.DateTimeField(_("finished"), null=True)

    class Meta:
        verbose_name = _("background job")
        verbose_name_plural = _("background work")
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "kind", "subject", "-id"], name="work_jobs_of_a_subject"),
            models.Index(fields=["state"], condition=models.Q(state__in=["queued", "running"]), name="work_open_jobs"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["kind", "tenant", "subject"],
                condition=models.Q(state__in=["queued", "running", "paused"]),
                name="work_one_open_job",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} #{self.pk}"

    @property
    def is_open(self) -> bool:
        """Whether it waits, runs or is paused."""
        return self.state in OPEN


State = Job.State
OPEN = (State.QUEUED, State.RUNNING, State.PAUSED)


class Version(models.Model):
    """One numbered state of something that is built, measured and brought into use. Each kind of `work.versions` has a
    table of its own.

    States and who moves a version from one to the next:

        building → ready          its job has built it
        building → dropped        its job has failed, was cancelled or brought no gain, as `reason` says
        dropped → building        a person tries its job again
        ready | retired → live    a person (`work.versions`); what guards it may measure it first
        live → retired            another version is brought into use, or none

    Of one subject at most one version is live and at most one is being built: constraints of each kind.
    """

    class State(models.TextChoices):
        BUILDING = "building", _("Being built")
        READY = "ready", _("Ready, not in use")
        LIVE = "live", _("In use")
        RETIRED = "retired", _("Was in use")
        DROPPED = "dropped", _("Given up")

    class Reason(models.TextChoices):
        NO_GAIN = "no_gain", _("No gain, nothing changed")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")

    USABLE: ClassVar = (State.READY, State.LIVE, State.RETIRED)

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField(_("number"))  # 1, 2, … of its subject
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.BUILDING)
    reason = models.CharField(max_length=16, choices=Reason.choices, blank=True)  # why it was dropped
    figures = models.JSONField(default=dict)  # what it was made of, and how good it is
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    live_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.number)

    @property
    def is_open(self) -> bool:
        """Whether it is still being built."""
        return self.state == self.State.BUILDING

    @property
    def state_words(self) -> str:
        """Where it stands; why, where it was dropped."""
        return str(self.get_reason_display() if self.reason else self.get_state_display())
