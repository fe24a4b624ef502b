"""Recounting the index: what is found, what is put right."""

import pytest
from django.core.management import call_command
from django.db.models import F

from knowledge.models import Chunk, IndexEntry, LexicalStatistics, Term
from knowledge.services.maintenance import index_check, index_repair
from tests.factories import ingest
from tests.knowledge.owned_rows import owned


def documents_make(owner, common):
    return ingest(owner, common, a="alpha beta gamma", b="beta delta", c="一个关于波束管理的文档")


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(documents_make))]


@pytest.fixture
def documents(kept_rows):
    return kept_rows[2]


@pytest.mark.usefixtures("documents")
def test_an_index_in_order_has_no_drift(capsys):
    call_command("check_index")

    assert "says what its entries say" in capsys.readouterr().out


def test_after_an_update_and_a_deletion_there_is_no_drift(documents, deleted, replaced):
    replaced(days=1)
    deleted(days=1)

    assert index_check() == []


@pytest.mark.usefixtures("documents")
def test_wrong_counts_are_found_and_counted_again(capsys):
    right = list(LexicalStatistics.objects.order_by("pk").values()), list(Term.objects.order_by("pk").values())
    Term.objects.filter(text="beta").update(frequency=7)
    LexicalStatistics.objects.filter(language="en").update(entries=F("entries") + 1, total_length=1)

    with pytest.raises(SystemExit) as ended:
        call_command("check_index")
    assert ended.value.code == 1
    assert {d.kind for d in index_check()} == {"entries", "length", "frequencies"}
    capsys.readouterr()
    call_command("check_index", "--repair")

    assert "0 differences are left" in capsys.readouterr().out
    assert right == (
        list(LexicalStatistics.objects.order_by("pk").values()),
        list(Term.objects.order_by("pk").values()),
    )


@pytest.mark.usefixtures("documents")
def test_statistics_of_a_language_that_are_missing_are_made():
    LexicalStatistics.objects.filter(language="zh").delete()

    assert index_repair(index_check()) == []
    assert LexicalStatistics.objects.get(language="zh").entries == 1


@pytest.mark.usefixtures("documents")
def test_statistics_of_a_language_without_entries_are_emptied():
    LexicalStatistics.objects.create(
        tenant=LexicalStatistics.objects.first().tenant, language="xx", entries=3, total_length=9
    )

    assert index_repair(index_check()) == []


def test_a_passage_without_entry_and_a_document_without_passages_are_found(documents):
    IndexEntry.objects.filter(version=documents["a"].live_version).delete()
    Chunk.objects.filter(version=documents["b"].live_version).delete()

    found = [d.what for d in index_check() if d.kind == "missing"]

    assert found == [f"document {documents['a'].pk}", f"document {documents['b'].pk}"]
    assert {d.kind for d in index_repair(index_check())} == {"missing"}, "only ingesting again helps"


def test_an_entry_that_is_there_twice_or_of_a_retired_passage_is_found(documents):
    entry = IndexEntry.objects.get(version=documents["a"].live_version)
    entry.pk = None
    entry.save()
    Chunk.objects.filter(version=documents["b"].live_version).update(retired="2026-01-01T00:00Z")

    kinds = {d.kind for d in index_check()}

    assert {"double", "retired"} <= kinds


def test_an_entry_at_another_version_than_its_passage_is_found(documents):
    IndexEntry.objects.filter(version=documents["a"].live_version).update(version=documents["b"].live_version)

    assert "misplaced" in {d.kind for d in index_check()}


def test_a_term_that_entries_contain_and_nobody_knows_is_found(documents):
    Term.objects.filter(text="gamma").delete()

    assert [d.kind for d in index_check()] == ["terms"]
