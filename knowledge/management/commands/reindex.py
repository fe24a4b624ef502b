"""`manage.py reindex`: build the indexes anew while people search, or move them to another search backend and back."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import Tenant
from knowledge.errors import MaintenanceRunningError
from knowledge.management.progress import ProgressLine
from knowledge.models import KnowledgeSet
from knowledge.services.backend_sync import CopyProgress, backend_check, backend_copy, backend_leave, backend_refresh
from knowledge.services.maintenance import indexes_rebuild
from ragcore.errors import RagError


class Command(BaseCommand):
    help = (
        "Without options: build the vector and word indexes of PostgreSQL anew, one after another, without locking "
        "readers. With --backend milvus: copy everything there, then search there; an interrupted copy goes on. "
        "With --backend postgres: search in PostgreSQL again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--backend", choices=("postgres", "milvus"))
        parser.add_argument("--tenant", help="only this one, by name")
        parser.add_argument("--set", dest="code", help="only write the documents of this set anew; switches nothing")
        parser.add_argument("--check", action="store_true", help="only compare; exits with 1 where anything differs")

    def handle(self, *, backend: str | None, tenant: str | None, code: str | None, check: bool, **_: Any) -> None:
        if backend != "milvus" and (tenant or code or check):
            raise CommandError("--tenant, --set and --check go with --backend milvus.")
        try:
            if backend is None:
                self._rebuild()
            elif backend == "postgres":
                self.stdout.write(f"{backend_leave()} tenants are searched in PostgreSQL again.")
            elif check:
                self._check(_tenants(tenant))
            elif code:
                self._follow("Writing", backend_refresh(chosen=_set(code, tenant)))
            else:
                for row in _tenants(tenant):
                    self._follow(f"Copying {row.name}", backend_copy(tenant=row))
        except RagError as error:
            raise CommandError(error.message) from None

    def _rebuild(self) -> None:
        try:
            for index in indexes_rebuild():
                sizes = f"{index.bytes_before / 1e6:.1f} MB before, {index.bytes_after / 1e6:.1f} MB now"
                self.stdout.write(f"{index.name}: {index.seconds:.1f} s, {sizes}")
        except MaintenanceRunningError as error:
            raise CommandError(error.message) from None

    def _follow(self, title: str, steps: Iterator[CopyProgress]) -> None:
        """Progress goes to stderr, what came of it to stdout."""
        line, last = ProgressLine(title), None
        try:
            for last in steps:
                line.show(last.done, last.total)
        finally:
            line.close()
        if last is not None and last.is_ready:
            self.stdout.write(f"{last.tenant}: {last.total} entries are searched in Milvus.")
        elif last is not None:
            self.stdout.write(f"{last.tenant}: {last.done} documents were written.")

    def _check(self, tenants: list[Tenant]) -> None:
        checked = [backend_check(tenant=tenant) for tenant in tenants]
        for state in checked:
            self.stdout.write(
                f"{state.tenant}: {'searched there' if state.is_ready else 'not searched there'}; "
                f"{state.in_postgres} entries in PostgreSQL, {state.in_backend} in Milvus; "
                f"{state.different} of {state.sampled} differ; "
                f"{state.waiting} documents wait, {state.refused} of them refused"
            )
        if not all(state.is_fine for state in checked):
            raise CommandError("Milvus does not say what PostgreSQL says.")


def _tenants(name: str | None) -> list[Tenant]:
    tenants = list(Tenant.objects.filter(**({"name": name} if name else {})).order_by("pk"))
    if not tenants:
        raise CommandError(f"There is no tenant {name!r}.")
    return tenants


def _set(code: str, tenant: str | None) -> KnowledgeSet:
    sets = KnowledgeSet.objects.filter(code=code, **({"tenant__name": tenant} if tenant else {}))
    if sets.count() != 1:
        raise CommandError(f"There is no set {code!r}." if not sets else "Several tenants have it: add --tenant.")
    return sets.get()
