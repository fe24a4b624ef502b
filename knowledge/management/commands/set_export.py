"""`manage.py set_export CODE FILE`: write a knowledge set into a file."""

from __future__ import annotations

import shutil
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage
from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from knowledge.management.set_file_work import person_named, work_through
from knowledge.queue import EXPORT_SET
from knowledge.selectors.sets import sets_managed
from knowledge.services.set_files.exporting import set_export_start
from knowledge.services.set_files.importing import set_file_delete
from ragcore.errors import RagError


class Command(BaseCommand):
    help = "Write a knowledge set with documents, vectors and everything that belongs to it into one file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("code", metavar="CODE", help="code of the knowledge set")
        parser.add_argument("file", type=Path, metavar="FILE", help="where to write it")
        parser.add_argument("--user", default="admin", help="with whose rights (default: admin)")

    def handle(self, *, code: str, file: Path, user: str, **options: Any) -> None:
        actor = person_named(user)
        scope = scope_for(actor)
        try:
            self._export(scope, actor, code, file)
        except (RagError, OSError) as error:
            raise CommandError(str(error)) from error

    def _export(self, scope: Scope, actor: User, code: str, file: Path) -> None:
        knowledge_set = sets_managed(scope=scope).filter(code=code, tenant=actor.tenant_id).first()
        if knowledge_set is None:
            raise CommandError(f"{actor.username} keeps no knowledge set with the code {code!r}.")
        row = set_export_start(scope=scope, actor=actor, set_id=knowledge_set.pk)
        work_through(EXPORT_SET, row, self.stderr)
        row.refresh_from_db()
        shutil.copyfile(default_storage.path(row.file), file)
        counts = row.summary["counts"]
        set_file_delete(scope=scope, actor=actor, file_id=row.pk)
        self.stdout.write(f"{file}: {counts.get('documents', 0)} documents, {file.stat().st_size} bytes.")
