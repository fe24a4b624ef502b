"""What is known of documents besides their texts."""

import pytest

from knowledge.backends.postgres import ScopedFactsIndex
from knowledge.indexes import visible_passages
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Chunk, Document
from knowledge.selectors import documents_askable
from ragcore.types import PassageHead
from tests.factories import ingest, make_set, make_user, scope_of
from tests.knowledge.indexes.test_plans import indexes_used, many_make, visible  # noqa: F401 (a fixture)

pytestmark = pytest.mark.django_db

TEXT = "# Power\n\nThe BTS needs 48 volts."


def index_of(user, limited_by=None):
    scope = scope_of(user).limited_to(scope_of(limited_by or user))
    return ScopedFactsIndex(scope, visible_sql(documents_askable(scope=scope)))


@pytest.fixture
def document(owner, common):
    found = ingest(owner, common, a=TEXT)["a"]
    Document.objects.filter(pk=found.pk).update(tags=["5G"], metadata={"product": "BTS", "topic": ["power", "heat"]})
    return found


def test_sets_tags_and_attributes_are_told(owner, common, document):
    common.name = "Radio"
    common.save()

    told = index_of(owner).documents([document.pk])[document.pk]

    assert told.sets == (common.pk,)
    assert told.values["axis 1"] == ("common", "Radio")
    assert told.values["tag"] == ("5G",)
    assert told.values["product"] == ("BTS",)
    assert told.values["topic"] == ("power", "heat")


def test_a_closed_set_is_told_to_its_members_only(owner, document):
    member, stranger = make_user(), make_user()
    closed = make_set("closed", owners=[owner], members=[member], visibility="members", axis="Y")
    document.sets.add(closed)

    assert closed.pk in index_of(member).documents([document.pk])[document.pk].sets
    assert index_of(stranger).documents([document.pk])[document.pk].values.get("axis Y") is None
    assert closed.pk not in index_of(member, limited_by=stranger).documents([document.pk])[document.pk].sets


def test_nothing_is_told_of_hidden_documents(owner, common):
    secret = ingest(owner, common, clearance=3, secret=TEXT)["secret"]
    chunk = Chunk.objects.get(version__document=secret)
    Chunk.objects.filter(pk=chunk.pk).update(heading_path=["Power"])
    low = index_of(make_user(clearance=0))

    assert low.documents([secret.pk]) == {}
    assert low.heads([chunk.pk]) == {}
    assert index_of(owner).heads([chunk.pk]) == {chunk.pk: PassageHead("secret Power", "en")}


@pytest.mark.starts_from(make=many_make)
def test_facts_and_headings_are_read_by_id(visible):  # noqa: F811 (the fixture)
    told = indexes_used(
        visible_passages.FACTS.format(visible=visible.sql), {**visible.params, "readable": [1], "documents": [1, 2]}
    )
    heads = indexes_used(visible_passages.HEADS.format(visible=visible.sql), {**visible.params, "chunks": [1, 2]})

    assert "knowledge_document_pkey" in told
    assert "knowledge_chunk_pkey" in heads
