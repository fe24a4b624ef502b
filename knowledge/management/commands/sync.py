"""`manage.py sync FOLDER --set CODE`: keep a knowledge set in step with a folder."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from knowledge.management.progress import ProgressLine, jobs_wait
from knowledge.models import IngestJob, KnowledgeSet, Source
from knowledge.selectors import job_get, sets_managed
from knowledge.services.sources import folder_source_ensure, run_open
from knowledge.services.sources.sync_runs import RunReport
from ragcore.errors import RagError
from work.models import Job
from work.runner import slice_run

SETTLE_MILLISECONDS = 1600  # changes that come within it are taken together


class Command(BaseCommand):
    help = "Bring what is new or changed in a folder into a knowledge set; exits with 1 if anything failed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER")
        parser.add_argument("--set", required=True, dest="code", help="code of the knowledge set")
        parser.add_argument("--source", default="", help="name of the source (default: the name of the folder)")
        parser.add_argument("--delete", action="store_true", help="delete documents whose files are gone")
        parser.add_argument("--watch", action="store_true", help="go on, and follow changes until Ctrl-C")
        parser.add_argument("--user", default="admin", help="who adds the documents (default: admin)")
        parser.add_argument("--no-wait", action="store_true", help="return once the files are stored")

    def handle(self, *, folder: Path, watch: bool, no_wait: bool, **options: Any) -> None:
        if not folder.is_dir():
            raise CommandError(f"There is no folder {folder}.")
        actor, chosen = self._chosen(options["user"], options["code"])
        try:
            source = folder_source_ensure(
                scope=scope_for(actor),
                actor=actor,
                name=options["source"] or folder.resolve().name,
                folder=folder,
                set_id=chosen.pk,
                delete_missing=options["delete"],
            )
        except RagError as error:
            raise CommandError(f"{error.message} ({error.code})") from error
        well = self._once(source, actor, no_wait=no_wait)
        if watch:
            self._watch(folder, source, actor, no_wait=no_wait)
        elif not well:
            raise SystemExit(1)

    def _chosen(self, username: str, code: str) -> tuple[User, KnowledgeSet]:
        actor = User.objects.select_related("tenant").filter(username=username).first()
        if actor is None:
            raise CommandError(f"There is no user {username!r}.")
        managed = sets_managed(scope=scope_for(actor))
        knowledge_set = managed.filter(code=code, tenant=actor.tenant_id).first()
        if knowledge_set is None:
            raise CommandError(f"{username} manages no knowledge set with the code {code!r}.")
        return actor, knowledge_set

    def _once(self, source: Source, actor: User, *, no_wait: bool) -> bool:
        """One run and its ingestion; whether all went well."""
        line = ProgressLine("Reading the folder")
        job = run_open(sources=[source], actor=actor, trigger="command", trusted_folder=source.location)
        assert job.run.work is not None  # made with it
        slice_run(
            job_id=job.run.work.pk,
            in_turn=False,
            on_checkpoint=lambda work: line.show(work.done, work.done, f"{new_documents(work)} new"),
        )
        line.close()
        job.refresh_from_db()
        if not no_wait:
            jobs_wait(scope=scope_for(actor), job_ids=[job.pk])
        return self._report(job, scope_for(actor))

    def _watch(self, folder: Path, source: Source, actor: User, *, no_wait: bool) -> None:
        from watchfiles import watch

        self.stdout.write(f"Following {folder}; Ctrl-C ends it.")
        for _ in watch(folder, step=SETTLE_MILLISECONDS // 4, debounce=SETTLE_MILLISECONDS, raise_interrupt=False):
            self._once(source, actor, no_wait=no_wait)

    def _report(self, job: IngestJob, scope: Scope) -> bool:
        report = RunReport.of(job.report)
        for error in (errors := job_get(scope=scope, job_id=job.pk).errors):
            where = error["external_id"] or error["document_id"] or source_name(job)
            self.stderr.write(f"{where}: {error['message']} ({error['code']})")
        for note in report.notes:
            self.stderr.write(note["message"])
        counted = ("found", "new", "changed", "unchanged", "left_out", "deleted")
        words = ", ".join(f"{getattr(report, name)} {name.replace('_', ' ')}" for name in counted)
        self.stdout.write(f"{words}, {len(errors) + report.refused_more} with errors.")
        return not errors


def new_documents(work: Job) -> int:
    """How many a run has brought or changed so far."""
    return int(work.figures.get("new", 0)) + int(work.figures.get("changed", 0))


def source_name(job: IngestJob) -> str:
    return job.source.name if job.source else "?"
