"""`manage.py set_import FILE`: show what importing a knowledge set would do; with `--confirm`, do it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.selectors import scope_for
from knowledge.management.set_file_work import person_named, work_through
from knowledge.models import SetFile
from knowledge.queue import IMPORT_SET
from knowledge.services.set_files.importing import set_file_delete, set_import_offer, set_import_start
from knowledge.services.set_files.people import mapping_of
from ragcore.errors import RagError


class Command(BaseCommand):
    help = "Show what importing a knowledge set from a file would do here; with --confirm, import it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--user", default="admin", help="who imports, and owns the set (default: admin)")
        parser.add_argument("--confirm", action="store_true", help="import it")
        parser.add_argument("--code", default="", help="code of the new set, in the place of the one in the file")
        parser.add_argument("--name", default="", help="its name, in the place of the one in the file")
        parser.add_argument(
            "--map",
            action="append",
            default=[],
            metavar="user:NAME=HERE",
            help="who a person or group of the file is here; nothing behind = is nobody; repeatable",
        )

    def handle(self, *, file: Path, user: str, confirm: bool, code: str, name: str, **options: Any) -> None:
        actor = person_named(user)
        scope = scope_for(actor)
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")
        try:
            with file.open("rb") as content:
                row = set_import_offer(scope=scope, actor=actor, name=file.name, content=content)
            self._show(row)
            if not confirm:
                set_file_delete(scope=scope, actor=actor, file_id=row.pk)
                self.stdout.write("Nothing was written. Import it with --confirm.")
                return
            people = mapping_of(options["map"])
            set_import_start(scope=scope, actor=actor, file_id=row.pk, code=code, name=name, people=people)
            work_through(IMPORT_SET, row, self.stderr)
        except (RagError, OSError) as error:
            raise CommandError(str(error)) from error
        row.refresh_from_db()
        counts = {key: value for key, value in row.summary["counts"].items() if value}
        self.stdout.write("Imported: " + ", ".join(f"{key} {value}" for key, value in counts.items()))

    def _show(self, row: SetFile) -> None:
        summary = row.summary
        lines = [
            f"{summary['set']['name']} ({summary['code']}): {summary['documents']} documents, "
            f"{summary['passages']} passages, {summary['size_bytes']} bytes of originals",
            f"vectors: {_vectors(summary['model'])}",
            *(f"{one['kind']}:{one['name']} ({', '.join(one['roles'])}): {_here(one)}" for one in summary["people"]),
            *(f"{count} {name}" for name, count in summary["sections"].items()),
        ]
        if summary["free_code"] != summary["code"]:
            lines.append(f"the code {summary['code']} is taken here; {summary['free_code']} is free")
        if summary["above_clearance"]:
            lines.append(f"{summary['above_clearance']} documents are above the clearance of the importer: left out")
        lines += [f"left out, not known here: {name}" for name in summary["options_left_out"]]
        lines += [f"left out, not known here: {name}" for name in summary["sections_left_out"]]
        lines += [one["message"] for one in summary["conflicts"]]
        self.stdout.write("\n".join(lines))


def _vectors(model: Mapping[str, Any]) -> str:
    if model["is_same"]:
        return f"of the model in use here ({model['here']}): taken over"
    return f"of another model ({model['name']}): made anew with {model['here']}"


def _here(person: Mapping[str, Any]) -> str:
    return "is known here" if person["is_here"] else "nobody here, reads nothing"
