"""What is there after the first start, and what a second start adds: nothing."""

from __future__ import annotations

import re
import threading
from threading import Event

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command

from accounts.models import User
from knowledge import packaged_models
from knowledge.demo import DOCUMENTS, GOLDEN, demo_documents, demo_sets
from knowledge.model_setup import setup_now
from knowledge.models import Document, IngestItem, KnowledgeSet
from ragcore.embedding import e5, e5_weights, exporting, minilm
from ragcore.errors import EmbedderRefusedError
from ragsite.embedded.programs import bootstrap_command
from ragsite.env import env


@pytest.fixture(autouse=True)
def database(transactional_db):
    """`migrate` runs inside; the database is emptied afterwards."""
    packaged_models._fault.cache_clear()
    yield
    packaged_models._fault.cache_clear()


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


@pytest.mark.parametrize(("named", "file"), [("", e5.FOLDER), ("embedded", minilm.MODEL_FILE)])
def test_the_packaged_model_is_exported_beside_the_start(capsys, settings, tmp_path, monkeypatch, named, file):
    settings.DATA_DIR, settings.EMBEDDER = tmp_path, named
    begun, released = Event(), Event()
    exported = []

    def export(target, exporter):
        begun.set()
        assert released.wait(60)
        exported.append(target)
        target.write_bytes(b"model")

    monkeypatch.setattr(exporting, "_export", export)
    call_command("bootstrap", demo=0, models=True)
    assert begun.wait(60)
    assert User.objects.filter(username="admin").exists()  # before the model was there

    released.set()
    for thread in threading.enumerate():
        if thread.name == "packaged-model":
            thread.join(60)
    assert exported == [tmp_path / "models" / file]
    call_command("bootstrap", demo=0, models=True)
    assert len(exported) == 1


@pytest.mark.full
def test_no_model_is_exported_where_another_one_is_used_or_nobody_asks(capsys, settings, tmp_path, monkeypatch):
    settings.DATA_DIR, settings.EMBEDDER = tmp_path, "openai:bge-m3"
    monkeypatch.setattr(exporting, "_export", lambda target, exporter: pytest.fail("it was exported"))

    call_command("bootstrap", demo=0, models=True)
    settings.EMBEDDER = ""
    call_command("bootstrap", demo=0)

    assert not (tmp_path / "models").exists()


def test_a_model_that_cannot_be_exported_stops_no_start(settings, tmp_path, monkeypatch, caplog):
    settings.DATA_DIR = tmp_path

    def failing(target, exporter):
        raise EmbedderRefusedError("package_missing", package="the-package")

    monkeypatch.setattr(exporting, "_export", failing)

    packaged_models.packaged_embedder_prepare("embedded")

    assert "could not be prepared" in caplog.text


@pytest.mark.parametrize("client", ["", "openai:bge-m3", "no_such_client"])
def test_what_is_no_packaged_model_is_not_exported(settings, tmp_path, client):
    settings.DATA_DIR = tmp_path

    packaged_models.packaged_embedder_prepare(client)

    assert not (tmp_path / "models").exists()


def test_a_start_says_in_one_line_that_the_multilingual_model_cannot_be_had(capsys, settings, tmp_path, monkeypatch):
    settings.DATA_DIR, settings.EMBEDDER = tmp_path, ""
    monkeypatch.setattr(exporting, "_export", lambda target, exporter: target.write_bytes(b"model"))
    monkeypatch.setattr(e5_weights, "PACKAGE", "no_such_package")
    call_command("bootstrap", demo=0)  # with what else the first start prints
    capsys.readouterr()

    call_command("bootstrap", demo=0, models=True)

    assert setup_now().embedder.client == "embedded"
    assert capsys.readouterr().out.splitlines() == [
        "The package no_such_package is not installed. Without it, the packaged embedding model reads English only."
    ]


def test_a_site_of_the_multilingual_model_is_told_what_it_lacks(capsys, settings, tmp_path, monkeypatch):
    settings.EMBEDDER = ""
    bootstrap(capsys, demo=0)
    settings.DATA_DIR = tmp_path  # as on another machine
    monkeypatch.setattr(e5_weights, "PACKAGE", "no_such_package")
    packaged_models._fault.cache_clear()

    call_command("bootstrap", demo=0, models=True)

    assert setup_now().embedder.client == "embedded_e5"
    assert capsys.readouterr().out.splitlines() == [
        "The package no_such_package is not installed. This site uses it: until it is there, passages are found by "
        "their words alone."
    ]


def test_the_product_asks_for_the_model_at_its_start():
    assert "--models" in bootstrap_command(env)


def counted() -> tuple[int, int, int]:
    return KnowledgeSet.objects.count(), Document.objects.count(), IngestItem.objects.count()
