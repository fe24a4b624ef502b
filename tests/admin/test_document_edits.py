"""Title, tags and clearance of a document are edited by who keeps it; a chat is limited to a document."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import AuditEvent
from accounts.selectors import scope_for
from chat.pages.filter_summary import initial_filters
from knowledge.models import Document
from knowledge.selectors.documents import documents_askable
from knowledge.services.documents import document_update
from knowledge.types import Filters
from tests.admin.conftest import make_document, signed_in

pytestmark = pytest.mark.django_db
LIST = "/admin/knowledge/document/"


def edit_page(document: Document) -> str:
    return reverse("admin:knowledge_document_edit", args=[document.pk])


def test_an_owner_edits_title_tags_and_clearance_in_one_form(owner, own_set):
    owner.clearance = 2
    owner.save()
    document = make_document("draft", own_set, tags=["old"])
    form = {"title": " Valve manual ", "tags": "safety\nboiler\nsafety\n", "clearance": "2"}

    signed_in(owner).post(edit_page(document), form)

    document.refresh_from_db()
    assert (document.title, document.tags, document.clearance) == ("Valve manual", ["boiler", "safety"], 2)
    events = {event.action: event.data for event in AuditEvent.objects.filter(action__startswith="document.")}
    assert events["document.change"]["changes"]["title"] == ["draft", "Valve manual"]
    assert (events["document.clearance"]["before"], events["document.clearance"]["after"]) == (0, 2)


def test_who_deletes_a_document_is_led_back_to_the_list(owner, own_set):
    document = make_document("draft", own_set)

    answer = signed_in(owner).post(f"{LIST}{document.pk}/delete/", {"post": "yes"})

    assert answer.headers["Location"] == f"{LIST}?hands=all"  # where Undo stands beside it
    document.refresh_from_db()
    assert document.state == Document.State.DELETED


def test_a_clearance_above_the_own_and_an_empty_title_are_refused(owner, own_set):
    owner.clearance = 2
    owner.save()
    document = make_document("draft", own_set)
    client = signed_in(owner)

    page = client.post(edit_page(document), {"title": " ", "tags": "", "clearance": "0"})
    high = client.post(edit_page(document), {"title": "x", "tags": "", "clearance": "3"})

    assert page.context["form"].errors["title"]
    assert high.context["form"].errors["clearance"]
    assert Document.objects.get(pk=document.pk).title == "draft"


def test_who_does_not_keep_a_document_finds_no_form(owner, own_set, other_set):
    theirs, shared = make_document("theirs", other_set), make_document("shared", own_set, other_set)

    for document in (theirs, shared):
        assert signed_in(owner).get(edit_page(document)).status_code == 404
        assert signed_in(owner).post(edit_page(document), {"title": "x", "clearance": "0"}).status_code == 404
    assert set(Document.objects.values_list("title", flat=True)) == {"theirs", "shared"}


def test_nothing_changed_is_nothing_recorded(owner, own_set):
    document = make_document("draft", own_set, tags=["a"])

    document_update(scope=scope_for(owner), actor=owner, document_id=document.pk, title="draft", tags=["a"])

    assert not AuditEvent.objects.filter(action="document.change").exists()


def test_a_chat_opens_limited_to_a_document_that_the_asker_may_ask(owner, own_set, other_set):
    owner.clearance = 2
    owner.save()
    make_document("one", own_set)
    wanted, other = make_document("two", own_set), make_document("three", own_set)
    hidden = make_document("hidden", own_set, clearance=4)
    scope = scope_for(owner)

    start = initial_filters(scope=scope, conversation=None, documents=[wanted.pk, hidden.pk, 10**15])
    found = documents_askable(scope=scope, filters=Filters(documents=(wanted.pk, hidden.pk)))

    assert start["chosen"] == {"documents": [wanted.pk]}
    assert start["names"]["documents"] == {str(wanted.pk): "two"}
    assert list(found) == [wanted]
    assert other not in found
