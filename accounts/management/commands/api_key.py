"""`manage.py api_key create --user NAME --name LABEL`: the last line printed is the key."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.services import api_key_create


class Command(BaseCommand):
    help = "Create an API key; it is printed once, as the last line."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["create"])
        parser.add_argument("--user", required=True)
        parser.add_argument("--name", required=True)

    def handle(self, *, user: str, name: str, **options: Any) -> None:
        found = User.objects.filter(username=user).first()
        if found is None:
            raise CommandError(f"There is no user {user!r}.")
        _, secret = api_key_create(user=found, name=name)
        self.stdout.write(f"Key {name!r} for {user}:")
        self.stdout.write(secret)
