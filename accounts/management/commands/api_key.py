"""`manage.py api_key create --user NAME --name LABEL [--scope SCOPE …]`: the last line printed is the key."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts.key_scopes import ALL_SCOPES, EVERYDAY_SCOPES, SCOPE_HELP, KeyScope
from accounts.models import User
from accounts.selectors import may_give_keys_scope
from accounts.services import api_key_create


class Command(BaseCommand):
    help = (
        "Create an API key; it is printed once, as the last line. Without --scope it may do all that the user may; "
        "only keys of administrators make keys then."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["create"])
        parser.add_argument("--user", required=True)
        parser.add_argument("--name", required=True)
        parser.add_argument(
            "--scope",
            action="append",
            choices=KeyScope.values,
            help="can be repeated; " + ", ".join(f"{scope}: {SCOPE_HELP[scope]}" for scope in KeyScope),
        )
        parser.add_argument("--days", type=int, help="until it expires; without it never")
        parser.add_argument("--requests-per-minute", type=int)

    def handle(
        self,
        *,
        user: str,
        name: str,
        scope: list[str] | None = None,
        days: int | None = None,
        requests_per_minute: int | None = None,
        **options: Any,
    ) -> None:
        person = User.objects.filter(username=user).first()
        if person is None:
            raise CommandError(f"There is no user {user!r}.")
        for label, value in (("--days", days), ("--requests-per-minute", requests_per_minute)):
            if value is not None and value < 1:
                raise CommandError(f"{label} must be at least 1.")
        everything = ALL_SCOPES if may_give_keys_scope(person) else EVERYDAY_SCOPES
        _, secret = api_key_create(
            user=person,
            name=name,
            scopes=scope or everything,
            expires=None if days is None else timezone.now() + timedelta(days=days),
            requests_per_minute=requests_per_minute,
        )
        self.stdout.write(f"Key {name!r} for {user}:")
        self.stdout.write(secret)
