"""`manage.py ingest PATH… --set CODE`: files and folders into a knowledge set, with a list of what failed."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from knowledge.management.progress import ProgressLine, jobs_wait
from knowledge.models import Document
from knowledge.selectors import sets_managed
from knowledge.services import document_upload
from ragcore.errors import RagError

Failure = tuple[str, str, str]  # name, code, message


class Command(BaseCommand):
    help = "Ingest files or folders (recursively) and wait until they can be found; exits with 1 if any failed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--set", required=True, dest="code", help="code of the knowledge set")
        parser.add_argument("--user", default="admin", help="who adds the documents (default: admin)")
        parser.add_argument("--clearance", type=int, default=0, help="clearance needed to read them, 0 to 4")
        parser.add_argument("--no-wait", action="store_true", help="return once the files are stored")

    def handle(self, *, paths: list[Path], code: str, user: str, clearance: int, no_wait: bool, **options: Any) -> None:
        actor = User.objects.select_related("tenant").filter(username=user).first()
        if actor is None:
            raise CommandError(f"There is no user {user!r}.")
        scope = scope_for(actor)
        knowledge_set = sets_managed(scope=scope).filter(code=code).order_by("tenant_id").first()
        if knowledge_set is None:
            raise CommandError(f"{user} manages no knowledge set with the code {code!r}.")
        if missing := [str(path) for path in paths if not path.exists()]:
            raise CommandError(f"There is no file or folder {', '.join(missing)}.")
        files = list(files_in(paths))
        failures, jobs = self._store(files, scope=scope, actor=actor, set_id=knowledge_set.pk, clearance=clearance)
        if jobs and not no_wait:
            failures += self._wait(scope, jobs)
        self._report(total=len(files), failures=failures)

    def _store(
        self, files: list[Path], *, scope: Scope, actor: User, set_id: int, clearance: int
    ) -> tuple[list[Failure], list[int]]:
        """Failures, and the jobs that were started."""
        line = ProgressLine("Storing")
        failures: list[Failure] = []
        jobs: list[int] = []
        for number, path in enumerate(files, 1):
            try:
                stored = document_upload(
                    scope=scope,
                    actor=actor,
                    sets=[set_id],
                    name=path.name,
                    content=path.read_bytes(),
                    clearance=clearance,
                )
            except RagError as error:
                failures.append((str(path), error.code, error.message))
            except OSError as error:
                failures.append((str(path), "unreadable", error.strerror or str(error)))
            else:
                jobs += [stored.job.pk] if stored.job else []
            line.show(number, len(files))
        line.close()
        return failures, jobs

    def _wait(self, scope: Scope, jobs: list[int]) -> list[Failure]:
        errors = [error for state in jobs_wait(scope=scope, job_ids=jobs) for error in state.errors]
        titles = dict(Document.objects.filter(pk__in=[e["document_id"] for e in errors]).values_list("pk", "title"))
        return [(titles.get(e["document_id"], "?"), e["code"], e["message"]) for e in errors]

    def _report(self, *, total: int, failures: list[Failure]) -> None:
        for name, code, message in failures:
            self.stderr.write(f"{name}: {message} ({code})")
        self.stdout.write(f"{total - len(failures)} of {total} files are in.")
        if failures:
            raise SystemExit(1)


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The files named and those below the folders named, sorted; hidden files and folders are left out."""
    for path in paths:
        if path.is_dir():
            below = sorted(p for p in path.rglob("*") if p.is_file())
            yield from (p for p in below if not any(part.startswith(".") for part in p.relative_to(path).parts))
        else:
            yield path
