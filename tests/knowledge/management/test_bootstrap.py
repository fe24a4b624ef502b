"""What is there after the first start, and what a second start adds: nothing."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command

from accounts.models import User
from knowledge.demo import DOCUMENTS, GOLDEN, demo_documents, demo_sets
from knowledge.models import Document, IngestItem, KnowledgeSet


@pytest.fixture(autouse=True)
def database(transactional_db):
    """`migrate` runs inside; the database is emptied afterwards."""


def bootstrap(capsys, demo: int) -> str:
    call_command("bootstrap", demo=demo)
    return str(capsys.readouterr().out)


def test_the_demo_has_one_common_seven_capability_and_eight_organisation_sets():
    axes = [values["axis"] for values in demo_sets()]

    assert {axis: axes.count(axis) for axis in axes} == {"1": 1, "X": 7, "Y": 8}
    assert len({values["code"] for values in demo_sets()}) == 16


def test_every_demo_document_exists_and_lies_in_known_sets():
    codes = {values["code"] for values in demo_sets()}

    assert {document.path for document in demo_documents()} == set(DOCUMENTS.iterdir())
    assert all(set(document.sets) <= codes for document in demo_documents())


def test_the_golden_cases_of_the_demo_name_demo_documents():
    from evaluation.services.golden_files import golden_file_parse

    known = {document.external_id for document in demo_documents()}
    rows = golden_file_parse(name=GOLDEN.name, content=GOLDEN.read_bytes())

    assert len(rows) >= 20
    assert {name for row in rows for name in row.relevant} == known


def test_the_first_start_makes_an_administrator_whose_password_is_printed_and_nothing_else(capsys, settings):
    settings.ADMIN_PASSWORD = None

    printed = bootstrap(capsys, demo=0)

    (password,) = re.findall(r"^Admin password: (\S+)$", printed, re.MULTILINE)
    admin = User.objects.get(username="admin")
    assert admin.check_password(password)
    assert (admin.is_superuser, admin.is_staff, admin.clearance, admin.tenant.is_default) == (True, True, 4, True)
    assert Group.objects.get(name="Reviewers").permissions.get().codename == "change_badcase"
    assert not KnowledgeSet.objects.exists()
    assert not Document.objects.exists()


def test_a_second_start_adds_nothing_prints_no_password_and_leaves_deleted_documents_deleted(capsys, settings):
    settings.ADMIN_PASSWORD = "given by the operator"
    printed = bootstrap(capsys, demo=1)
    assert "given by the operator" not in printed
    assert User.objects.get(username="admin").check_password("given by the operator")
    assert counted() == (16, len(demo_documents()), len(demo_documents()))
    Document.objects.get(external_id="demo/redcap-overview").delete()
    before = counted()

    printed = bootstrap(capsys, demo=1)

    assert counted() == before
    assert printed == ""
    assert not Document.objects.filter(external_id="demo/redcap-overview").exists()


def counted() -> tuple[int, int, int]:
    return KnowledgeSet.objects.count(), Document.objects.count(), IngestItem.objects.count()
