"""The search for documents and passages that cases name shows no text that its reader could not open."""

from __future__ import annotations

import pytest

from accounts.selectors import scope_for
from evaluation.services.document_choices import choices_find
from tests.factories import ingest, make_admin, make_set, make_user

pytestmark = pytest.mark.django_db


def test_withheld_originals_are_named_and_their_passages_not_shown():
    owner, reader, root = make_user("owner"), make_user("reader"), make_admin("root")
    withheld = make_set("withheld", owners=[owner], originals="keepers")
    ingest(owner, withheld, beacon_secret="# Beacon secret\n\nThe beacon interval is forty seconds.")
    ingest(owner, make_set("open", owners=[owner]), beacon_plain="# Beacon plain\n\nThe beacon colour is red.")

    def found(user):
        return choices_find(scope=scope_for(user), query="beacon")

    documents, passages = ([one for one in found(reader) if bool(one.text) is has_text] for has_text in (False, True))

    assert {one.document for one in documents} == {"beacon_secret", "beacon_plain"}
    assert {one.document for one in passages} == {"beacon_plain"}
    assert not any("forty" in f"{one.label} {one.detail} {one.text}" for one in found(reader))
    for keeper in (owner, root):
        assert {one.document for one in found(keeper) if one.text} == {"beacon_secret", "beacon_plain"}
