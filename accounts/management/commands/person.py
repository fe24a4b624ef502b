"""`manage.py person export|erase NAME`: what the site knows of somebody, and forgetting it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.error_messages import error_message
from accounts.errors import NotAllowedError
from accounts.models import User
from accounts.privacy.erase import person_erase
from accounts.privacy.export import person_export


class Command(BaseCommand):
    help = "Export everything about a person as a zip of JSON files, or erase the person for good."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["export", "erase"])
        parser.add_argument("name")
        parser.add_argument("--actor", default="admin", help="in whose name it is done (audit log)")
        parser.add_argument("--file", type=Path, help="of the export; NAME.zip unless given")
        parser.add_argument("--yes", action="store_true", help="erase without asking")

    def handle(self, *, action: str, name: str, actor: str, file: Path | None, yes: bool, **options: Any) -> None:
        user, person = _found(name), _found(actor)
        if action == "export":
            path = file or Path(f"{user.pk}.zip")
            path.write_bytes(person_export(user=user, actor=person))
            self.stdout.write(f"Written to {path}.")
            return
        if not yes and input(f"Erase {name!r} and everything that belongs to this person? [yes/no] ") != "yes":
            raise CommandError("Nothing was erased.")
        try:
            self.stdout.write(f"Erased; the audit log says {person_erase(user=user, actor=person)}.")
        except NotAllowedError as error:
            raise CommandError(error_message(error)) from error


def _found(name: str) -> User:
    user = User.objects.select_related("tenant").filter(username=name).first()
    if user is None:
        raise CommandError(f"There is no user {name!r}.")
    return user
