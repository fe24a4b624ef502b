"""Titles and headings of passages are read once for rights and an epoch, and never for other rights."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from knowledge.indexes import visible_passages
from knowledge.indexes.visible_passages import heads_load
from knowledge.models import Chunk
from knowledge.selectors.visibility import visible_to
from knowledge.services.documents import document_update
from tests.factories import ingest, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def chunks(owner):
    open_set, closed = make_set("open", owners=[owner]), make_set("closed", owners=[owner], visibility="members")
    ingest(owner, open_set, timer="The timer runs for ten seconds.")
    ingest(owner, closed, secret="The secret is kept.")
    return list(Chunk.objects.order_by("pk").values_list("pk", flat=True))


def heads_of(user, chunks):
    """The heads, and how many statements they took."""
    scope = scope_of(user)
    visible = visible_to(scope=scope)
    with CaptureQueriesContext(
        connection,
    ) as sent:
        found = heads_load(scope=scope, visible=visible, chunks=chunks)
    return sorted(head.text for head in found.values()), len(sent)


def test_what_was_read_is_not_read_again(owner, chunks):
    assert heads_of(owner, chunks[:1]) == (["timer"], 1)
    assert heads_of(owner, chunks) == (["secret", "timer"], 1)
    assert heads_of(owner, chunks) == (["secret", "timer"], 0)
    assert heads_of(owner, []) == ([], 0)


def test_who_may_see_less_gets_less_whatever_others_have_read(owner, chunks):
    heads_of(owner, chunks)

    assert heads_of(make_user("reader"), chunks) == (["timer"], 1)


def test_a_new_title_is_read(owner, chunks):
    heads_of(owner, chunks)
    timer = Chunk.objects.get(pk=chunks[0]).version.document
    document_update(scope=scope_of(owner), actor=owner, document_id=timer.pk, title="T310")

    assert heads_of(owner, chunks)[0] == ["T310", "secret"]


def test_only_so_many_are_kept(owner, chunks, monkeypatch):
    monkeypatch.setattr(visible_passages, "KEPT_HEADS", 1)

    assert [heads_of(owner, chunks)[0] for _ in range(2)] == [["secret", "timer"]] * 2
