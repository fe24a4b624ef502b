"""`manage.py triples import FILE --set CODE`: read a file of facts into a knowledge set."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.selectors import scope_for
from knowledge.selectors import sets_curated
from knowledge.services.triple_files import triple_format
from knowledge.services.triples import triples_import
from ragcore.errors import RagError
from ragcore.graph.files import bounded_lines

READ_BYTES = 256 * 1024


class Command(BaseCommand):
    help = "Import triples from a .csv, .tsv, .nt, .jsonl or .ndjson file; exits with 1 if lines are faulty."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        load = actions.add_parser("import", help="read a file")
        load.add_argument("file", type=Path, metavar="FILE")
        load.add_argument("--set", required=True, dest="code", help="code of the knowledge set")
        load.add_argument("--user", default="admin", help="who imports (default: admin)")

    def handle(self, *, file: Path, code: str, user: str, **options: Any) -> None:
        actor = User.objects.select_related("tenant").filter(username=user).first()
        if actor is None:
            raise CommandError(f"There is no user {user!r}.")
        scope = scope_for(actor)
        into = sets_curated(scope=scope).filter(code=code, tenant=actor.tenant_id).first()
        if into is None:
            raise CommandError(f"{user} curates no knowledge set with the code {code!r}.")
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        try:
            with file.open("rb") as content:
                lines = bounded_lines(iter(lambda: content.read(READ_BYTES), b""))
                result = triples_import(
                    scope=scope,
                    actor=actor,
                    lines=lines,
                    form=triple_format(file.name),
                    set_id=into.pk,
                    name=file.name,
                )
        except RagError as error:
            raise CommandError(f"{error.message} ({error.code})") from error
        for fault in result.rejected:
            self.stderr.write(f"line {fault['line']}: {fault['message']}")
        self.stdout.write(
            f"{result.accepted} imported, {result.duplicates} already there, {result.rejected_count} faulty lines."
        )
        if result.rejected_count:
            raise SystemExit(1)
