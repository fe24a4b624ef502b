"""`manage.py people_import FILE [--dry-run]`: people, groups and profiles of a personnel system."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import Tenant, User
from accounts.people.records import RecordError, records_from_csv, records_from_scim
from accounts.people.services import ImportResult, PersonChange, people_import


class Command(BaseCommand):
    help = "Create and update people from a CSV file or a SCIM 2.0 list in JSON. Faulty records are left out."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="ends in .csv or .json")
        parser.add_argument("--tenant", help="name of the tenant; the default one unless given")
        parser.add_argument("--actor", default="admin", help="in whose name it is done (audit log)")
        parser.add_argument("--dry-run", action="store_true", help="only say what would change")
        parser.add_argument(
            "--deactivate-missing", action="store_true", help="people who are not in the file become inactive"
        )

    def handle(
        self, *, file: Path, tenant: str | None, actor: str, dry_run: bool, deactivate_missing: bool, **options: Any
    ) -> None:
        home = Tenant.objects.filter(**({"name": tenant} if tenant else {"is_default": True})).first()
        person = User.objects.filter(username=actor, is_superuser=True).first()
        if home is None or person is None:
            raise CommandError("There is no such tenant." if home is None else f"There is no administrator {actor!r}.")
        result = _import(file, tenant=home, actor=person, dry_run=dry_run, deactivate=deactivate_missing)
        for change in result.changes:
            self.stdout.write(_line(change))
        for number, fault in result.faults:
            self.stderr.write(f"record {number}: {fault}")
        verb = "Would change" if dry_run else "Changed"
        self.stdout.write(f"{verb} {len(result.changes)} people; {len(result.faults)} records were left out.")
        if result.faults:
            raise CommandError("Some records cannot be used; see above.")


def _import(file: Path, **options: Any) -> ImportResult:
    try:
        if file.suffix.lower() == ".json":
            return people_import(records_from_scim(file.read_text(encoding="utf-8")), **options)
        with file.open(encoding="utf-8-sig", newline="") as lines:
            return people_import(records_from_csv(lines), **options)
    except (OSError, UnicodeDecodeError, RecordError) as error:
        raise CommandError(f"{file} cannot be read: {error}") from error


def _line(change: PersonChange) -> str:
    what = "; ".join(f"{name}: {before!r} → {after!r}" for name, (before, after) in change.changes.items())
    return f"{'+' if change.is_new else '~'} {change.username} {what}".rstrip()
