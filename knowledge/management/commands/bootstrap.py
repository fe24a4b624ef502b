"""`manage.py bootstrap --demo 0|1 --models --static`: everything that must be there before the first request.

Safe to run at every start: it adds what is missing and changes nothing that is there. The demo is loaded once, so
that demo documents which somebody deleted stay deleted.
"""

from __future__ import annotations

import secrets
from argparse import ArgumentParser
from threading import Thread
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection

from accounts.audit.partitions import audit_partitions_make
from accounts.models import MAX_CLEARANCE, Tenant, User
from accounts.selectors import scope_for
from accounts.services import audit_record, tenant_ensure_default
from knowledge.demo import demo_documents, demo_sets
from knowledge.model_setup import setup_now, setup_refresh
from knowledge.models import KnowledgeSet
from knowledge.packaged_models import packaged_embedder_note, packaged_embedder_prepare
from knowledge.search_model_setup import environment_embedder
from knowledge.services import document_upload
from knowledge.services.handlers import attributes_seed, handlers_seed
from knowledge.services.packaged_embedders import packaged_embedders_register
from knowledge.services.sets import set_create

ADMIN = "admin"
REVIEWERS = "Reviewers"
DEMO_SOURCE = "demo"
DEMO_LOADED = "demo.load"


class Command(BaseCommand):
    help = "Migrate the database; make the first administrator and, with --demo 1, the sample sets and documents."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", type=int, choices=[0, 1], default=1)
        parser.add_argument("--static", action="store_true", help="Collect static files, where they have changed.")
        parser.add_argument("--models", action="store_true", help="Prepare the packaged embedding model, if used.")

    def handle(self, *, demo: int, static: bool = False, models: bool = False, **options: Any) -> None:
        is_new = "django_migrations" not in connection.introspection.table_names()
        if models and is_new:  # else the database says which model it is
            prepare_beside(environment_embedder().client)
        if static:
            call_command("static_files")
        call_command("migrate", interactive=False, verbosity=0)
        audit_partitions_make()
        packaged_embedders_register()
        if models:
            self._prepare_models(is_begun=is_new)
        tenant = tenant_ensure_default()
        admin = self._ensure_admin(tenant)
        ensure_reviewers()
        for each in Tenant.objects.all():
            handlers_seed(each)
            attributes_seed(each)
        if demo and not tenant.demo_loaded:
            sets, documents = demo_load(admin)
            self.stdout.write(f"Demo: {sets} knowledge sets, {documents} documents to be ingested.")

    def _prepare_models(self, *, is_begun: bool) -> None:
        setup_refresh(now=True)
        client = setup_now().embedder.client
        if note := packaged_embedder_note(client):
            self.stdout.write(note)
        if not is_begun:
            prepare_beside(client)

    def _ensure_admin(self, tenant: Tenant) -> User:
        """The first administrator; the password is printed once, unless it was given."""
        administrator = (
            User.objects.filter(username=ADMIN).first()
            or User.objects.filter(tenant=tenant, is_superuser=True, is_staff=True, is_active=True)
            .order_by("pk")
            .first()
        )
        if administrator is not None:
            return administrator
        password_given = settings.ADMIN_PASSWORD
        password = password_given or secrets.token_urlsafe(12)
        admin = User.objects.create_superuser(
            ADMIN,
            password=password,
            tenant=tenant,
            clearance=MAX_CLEARANCE,
            must_change_password=password_given is None,  # a printed one stands in logs
        )
        self.stdout.write(f"Admin user: {ADMIN}")
        self.stdout.write(
            "Admin password: as given in ADMIN_PASSWORD" if password_given else f"Admin password: {password}"
        )
        return admin


def prepare_beside(client: str) -> None:
    """Export a packaged model in a program of its own, on another core; this command ends after it."""
    Thread(target=packaged_embedder_prepare, args=[client], name="packaged-model").start()


def ensure_reviewers() -> None:
    """The role that triages cases: staff in this group see questions, answers and cases of their tenant."""
    group, is_new = Group.objects.get_or_create(name=REVIEWERS)
    if is_new:
        group.permissions.set(Permission.objects.filter(content_type__app_label="feedback", codename="change_badcase"))


def demo_load(admin: User) -> tuple[int, int]:
    """Make the sample sets and upload the sample documents; returns how many of each are new.

    May be repeated after an interruption: what is there already is left alone.
    """
    scope = scope_for(admin)
    codes = set(KnowledgeSet.objects.filter(tenant_id=admin.tenant_id).values_list("code", flat=True))
    missing = [values for values in demo_sets() if values["code"] not in codes]
    for values in missing:
        set_create(scope=scope, actor=admin, values=values)
    ids = dict(KnowledgeSet.objects.filter(tenant_id=admin.tenant_id).values_list("code", "pk"))
    uploads = [
        document_upload(
            scope=scope,
            actor=admin,
            sets=[ids[code] for code in document.sets if code in ids],
            name=document.path.name,
            content=document.path.read_bytes(),
            title=document.title,
            external_id=document.external_id,
            source=DEMO_SOURCE,
            tags=document.tags,
        )
        for document in demo_documents()
    ]
    Tenant.objects.filter(pk=admin.tenant_id).update(demo_loaded=True)
    audit_record(actor=admin, action=DEMO_LOADED, target=DEMO_SOURCE)
    return len(missing), sum(upload.job is not None for upload in uploads)
