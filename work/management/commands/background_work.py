"""`manage.py background_work list|pause|resume|cancel|retry|run`: background work from the command line."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.selectors import scope_for
from ragcore.errors import RagError
from work.models import OPEN, Job
from work.runner import slice_run
from work.selectors import jobs_visible
from work.services import work_cancel, work_pause, work_resume, work_retry
from work.words import error_words, kind_words, progress_words, subject_words

STEPS = {"pause": work_pause, "resume": work_resume, "cancel": work_cancel, "retry": work_retry}


class Command(BaseCommand):
    help = "List background work; pause, resume, cancel or retry a job; run the next slice of one here."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["list", *STEPS, "run"])
        parser.add_argument("job_id", nargs="?", type=int, metavar="JOB")
        parser.add_argument("--all", action="store_true", help="list also what is over")
        parser.add_argument("--user", default="admin", help="with whose rights (default: admin)")

    def handle(self, *, action: str, job_id: int | None, user: str, **options: Any) -> None:
        actor = User.objects.select_related("tenant").filter(username=user).first()
        if actor is None:
            raise CommandError(f"There is no user {user!r}.")
        rows = jobs_visible(scope=scope_for(actor))
        if action == "list":
            for job in rows if options["all"] else rows.filter(state__in=OPEN):
                self.stdout.write(line_of(job))
            return
        if job_id is None:
            raise CommandError("Say which job.")
        try:
            self._act(action, actor, job_id)
        except RagError as error:
            raise CommandError(f"{error.message} ({error.code})") from error
        self.stdout.write(line_of(rows.get(pk=job_id)))

    def _act(self, action: str, actor: User, job_id: int) -> None:
        if action != "run":
            STEPS[action](scope=scope_for(actor), actor=actor, job_id=job_id)
        elif not jobs_visible(scope=scope_for(actor)).filter(pk=job_id).exists():
            raise CommandError(f"There is no job {job_id}, or {actor.username} may not see it.")
        elif not slice_run(job_id=job_id):
            raise CommandError("The job is over, or a worker is at it.")


def line_of(job: Job) -> str:
    """A job in one line."""
    words = [str(job.pk), kind_words(job.kind), subject_words(job), job.state, progress_words(job), error_words(job)]
    return "  ".join(word for word in words if word)
