"""The page of a knowledge set: its documents as its readers may see them, and the way to ask."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import User
from knowledge.access_views import DOCUMENTS_A_PAGE
from knowledge.models import Document, KnowledgeSet
from tests.api.conftest import alice, bob, eve, root, world
from tests.api.world import document_make, set_make

__all__ = ["alice", "bob", "eve", "root", "world"]


def page_of(user: User, row: KnowledgeSet, query: str = "") -> tuple[int, str]:
    client = Client()
    client.force_login(user)
    response = client.get(f"/sets/{row.pk}{query}")
    return response.status_code, response.content.decode()


def test_the_list_of_sets_leads_to_questions_and_documents(world):
    row = set_make(world.alice, name="Rules")
    client = Client()
    client.force_login(world.bob)

    listed = client.get("/sets").content.decode()

    assert f'href="/sets/{row.pk}"' in listed
    assert f'href="/?set={row.pk}"' in listed


def test_readers_see_titles_states_and_last_changes_and_open_them(world):
    row, other = set_make(world.alice, name="Rules"), set_make(world.alice, name="Other")
    document = document_make(row, title="Travel rules")
    document_make(row, title="New rules", state=Document.State.PROCESSING)
    document_make(other, title="Elsewhere")
    document_make(row, title="Board only", clearance=4)

    status, page = page_of(world.bob, row)

    assert status == 200
    assert f'<a href="/documents/{document.pk}">Travel rules</a>' in page
    assert ("Searchable" in page, "Processing" in page) == (True, True)
    assert "Changed" in page
    assert f'href="/?set={row.pk}"' in page
    assert "Elsewhere" not in page
    assert "Board only" not in page


def test_of_what_may_be_asked_but_not_opened_only_the_number_is_told(world):
    row = set_make(world.alice, name="Quoted", originals=KnowledgeSet.Originals.KEEPERS)
    document_make(row, title="Secret title")

    _status, page = page_of(world.bob, row)
    _status, owned = page_of(world.alice, row)

    assert "1 document can be asked about, but not opened." in page
    assert "Secret title" not in page
    assert f'href="/?set={row.pk}"' in page
    assert "Secret title" in owned


def test_a_set_that_one_may_not_read_has_no_page(world):
    closed = set_make(world.alice, visibility="members", name="Board")
    document_make(closed, title="Salaries")

    assert page_of(world.bob, closed)[0] == 404
    assert page_of(world.eve, closed)[0] == 404
    assert page_of(world.alice, closed)[0] == 200


@pytest.mark.parametrize(("query", "shown"), [("?q=number 7", ["number 7"]), ("?q=no such title", [])])
def test_documents_of_a_large_set_are_found_by_title(world, query, shown):
    row = set_make(world.alice, name="Large")
    for number in range(DOCUMENTS_A_PAGE + 1):
        document_make(row, title=f"number {number}")

    _status, first = page_of(world.bob, row)
    _status, found = page_of(world.bob, row, query)

    assert "1 of 2" in first
    assert [title for title in ("number 7", "number 8") if f">{title}</a>" in found] == shown
    assert ("No title contains these words." in found) == (not shown)
