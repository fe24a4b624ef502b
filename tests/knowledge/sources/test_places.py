"""Folders and private hosts belong to tenants; what the operator's variables name belongs to the default tenant."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounts.errors import NameTakenError, NotAllowedError
from accounts.models import AuditEvent, Tenant, User
from knowledge.access_errors import PlaceInvalidError
from knowledge.errors import FolderNotAllowedError, SourcePausedError
from knowledge.models import Document, Source, SourcePlace
from knowledge.services.documents import document_update
from knowledge.services.places import hosts_allowed, place_save, place_take, places_usable
from knowledge.services.sources import source_create, source_run_start
from knowledge.services.sources.web import tenant_policy
from tests.factories import make_admin, make_set, make_tenant, make_user, run_job, scope_of
from tests.knowledge.sources.building import sync_run

pytestmark = pytest.mark.django_db


class Company:
    """Two tenants beside the default one, each with an administrator and an owner."""

    def __init__(self, folder: Path) -> None:
        self.root, self.folder = make_admin("root"), folder
        self.plant, self.shop = make_tenant("plant"), make_tenant("shop")
        self.people: dict[str, User] = {}
        for tenant in (self.plant, self.shop):
            self.people[f"{tenant.name} admin"] = make_admin(f"{tenant.name}-admin", tenant=tenant)
            owner = self.people[f"{tenant.name} owner"] = make_user(f"{tenant.name}-owner", tenant=tenant)
            make_set(f"{tenant.name}-set", owners=[owner])

    def give(self, tenant: Tenant, location: str = "", kind: str = "folder", **values: object) -> SourcePlace:
        given = {"tenant": tenant, "kind": kind, "location": location or str(self.folder), **values}
        return place_save(scope=scope_of(self.root), actor=self.root, place=SourcePlace(), values=given)

    def make_source(self, who: str) -> Source:
        person = self.people[who]
        values = {"kind": "folder", "name": who, "location": str(self.folder), "handler": None}
        return source_create(scope=scope_of(person), actor=person, values=values)


@pytest.fixture
def company(tmp_path: Path, settings) -> Company:
    settings.SOURCE_FOLDERS, settings.GRANTABLE_FOLDERS = (str(tmp_path / "old"),), (str(tmp_path / "new"),)
    folder = tmp_path / "new" / "plant"
    folder.mkdir(parents=True)
    (tmp_path / "old").mkdir()
    (folder / "timer.txt").write_text("The handover timer is 40 ms.", encoding="utf-8")
    return Company(folder)


def test_a_tenant_makes_sources_of_its_own_folders_only(company: Company) -> None:
    with pytest.raises(FolderNotAllowedError):
        company.make_source("plant owner")

    company.give(company.plant)

    company.make_source("plant owner")
    company.make_source("plant admin")
    for who in ("shop owner", "shop admin"):
        with pytest.raises(FolderNotAllowedError):
            company.make_source(who)
    assert [event.data["tenant"] for event in AuditEvent.objects.filter(action="place.give")] == ["plant"]


def test_what_the_operator_names_belongs_to_the_default_tenant(company: Company, tmp_path: Path, settings) -> None:
    settings.FETCH_ALLOWED_HOSTS = ("10.0.0.1",)
    old, home = str(tmp_path / "old"), company.root.tenant_id

    assert places_usable(scope=scope_of(make_user("anna")), tenant_id=home, kind="folder") == [old]
    assert hosts_allowed(tenant_id=home) == ["10.0.0.1"]
    assert places_usable(scope=scope_of(company.people["plant admin"]), tenant_id=home, kind="folder") == []
    assert hosts_allowed(tenant_id=company.plant.pk) == []
    assert tenant_policy(home).permits("x", "10.0.0.1")
    assert not tenant_policy(company.plant.pk).permits("x", "10.0.0.1")


def test_a_folder_may_be_for_administrators_of_the_tenant_only(company: Company) -> None:
    company.give(company.plant, for_owners=False)

    with pytest.raises(FolderNotAllowedError):
        company.make_source("plant owner")
    company.make_source("plant admin")


def test_no_document_of_a_folder_is_below_its_floor_also_when_it_rises(company: Company) -> None:
    place = company.give(company.plant, clearance_floor=1)
    source = company.make_source("plant owner")
    owner = company.people["plant owner"]
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    sync_run(job_id=job.pk)
    run_job(job.pk)
    document = Document.objects.get(source=source)
    assert document.clearance == 1

    place_save(scope=scope_of(company.root), actor=company.root, place=place, values={"clearance_floor": 3})

    document.refresh_from_db()
    assert document.clearance == 3
    admin = company.people["plant admin"]
    with pytest.raises(Exception, match="minimum clearance of 3"):
        document_update(scope=scope_of(admin), actor=admin, document_id=document.pk, clearance=2)


def test_a_folder_that_is_taken_back_is_not_read_any_more(company: Company) -> None:
    place = company.give(company.plant)
    source, owner = company.make_source("plant owner"), company.people["plant owner"]

    place_take(scope=scope_of(company.root), actor=company.root, place=place)
    with pytest.raises(SourcePausedError):
        source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)

    assert not Document.objects.filter(source=source).exists()


@pytest.mark.parametrize(
    ("kind", "location"),
    [
        *(("folder", "/"), ("folder", "relative"), ("folder", "/etc"), ("folder", "{new}/../.."), ("folder", "{data}")),
        *(("host", ""), ("host", "http://a/b"), ("host", "a b"), ("host", "10.0.0.0/33")),
    ],
)
def test_what_cannot_be_given(company: Company, kind: str, location: str, settings, tmp_path: Path) -> None:
    settings.GRANTABLE_FOLDERS = (*settings.GRANTABLE_FOLDERS, str(settings.DATA_DIR))

    with pytest.raises(PlaceInvalidError):
        company.give(company.plant, location.format(new=tmp_path / "new", data=settings.DATA_DIR), kind=kind)


def test_only_platform_administrators_give_and_nobody_twice(company: Company) -> None:
    admin = company.people["plant admin"]
    values = {"tenant": company.plant, "kind": "host", "location": "wiki.example.org"}
    with pytest.raises(NotAllowedError):
        place_save(scope=scope_of(admin), actor=admin, place=SourcePlace(), values=values)

    place = company.give(company.plant, "Wiki.example.org", kind="host")
    with pytest.raises(NotAllowedError):
        place_take(scope=scope_of(admin), actor=admin, place=place)
    with pytest.raises(NameTakenError):
        company.give(company.plant, "wiki.example.org", kind="host")

    assert hosts_allowed(tenant_id=company.plant.pk) == ["wiki.example.org"]
