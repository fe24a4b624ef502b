"""Asking back which knowledge set was meant."""

import pytest

from accounts.selectors import scope_for
from chat.answers.clarification import documents_that_answer, sets_meant
from chat.models import Conversation, Message, MessageCitation
from tests.factories import ingest, make_set, make_user


def place_make():
    owner = make_user()
    sets = {
        "small": make_set("small", name="Small mast", axis="Y", owners=[owner]),
        "large": make_set("large", name="Large mast", axis="Y", owners=[owner]),
        "closed": make_set("closed", name="Closed mast", axis="Y", owners=[owner], visibility="members"),
    }
    return {name: ingest(owner, made, **{name: f"The {name} one is tall."})[name] for name, made in sets.items()}


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=place_make)]


@pytest.fixture
def place(kept_rows, redis_client):
    """Two products with a document each, and one set that its owner alone may read."""
    return kept_rows


def meant(place, *names, reader=None, **fields):
    reader = reader or make_user()
    talk = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="t")
    values = {"question": "How tall is the mast?", "state": "done", "status": "answered", "confidence": 0.4, **fields}
    message = Message.objects.create(conversation=talk, **values)
    ids = [place[name].pk for name in names]
    return [one.name for one in sets_meant(scope=scope_for(reader), message=message, document_ids=ids)]


def test_an_uncertain_answer_from_two_products_asks_which_one(place):
    assert meant(place, "small", "large") == ["Small mast", "Large mast"]
    assert meant(place, "small", "large", status="search_results", confidence=None) == ["Small mast", "Large mast"]


@pytest.mark.parametrize(
    "fields",
    [
        {"confidence": 0.9},
        {"state": "stopped"},
        {"status": "refused"},
        {"request": {"sets": [7]}},
        {"request": {"filters": {"tags": ["x"]}}},
        {"question": "How tall is the small mast?"},
    ],
)
def test_nothing_is_asked_where_the_answer_is_sure_or_the_asker_has_said_it(place, fields):
    assert meant(place, "small", "large", **fields) == []


def test_nothing_is_asked_about_one_document_or_one_set_for_all(place):
    assert meant(place, "small", "small") == []
    place["large"].sets.set(place["small"].sets.all())
    assert meant(place, "small", "large") == []


@pytest.mark.parametrize(
    ("status", "sources", "asked"),
    [
        ("answered", [("small", True, 0.3), ("large", True, 0.2)], ["Small mast", "Large mast"]),
        ("answered", [("small", True, 0.3), ("large", False, 0.7)], ["Small mast", "Large mast"]),
        ("answered", [("small", True, 0.9), ("large", False, 0.1)], []),
        ("answered", [("small", True, None), ("large", False, None)], []),
        ("search_results", [("small", True, 0.1), ("large", True, 0.2)], []),
        ("search_results", [("small", True, 0.6), ("large", True, 0.1)], []),
        ("search_results", [("small", True, 0.6), ("large", True, 0.7)], ["Small mast", "Large mast"]),
    ],
)
def test_only_sets_with_passages_that_would_answer_are_offered(place, status, sources, asked):
    reader = make_user()
    talk = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="t")
    message = Message.objects.create(
        conversation=talk, question="How tall is the mast?", state="done", status=status, confidence=0.4
    )
    citations = [
        MessageCitation(number=at, document=place[name], cited=cited, relevance=relevance)
        for at, (name, cited, relevance) in enumerate(sources, start=1)
    ]

    ids = documents_that_answer(message=message, citations=citations)

    assert [one.name for one in sets_meant(scope=scope_for(reader), message=message, document_ids=ids)] == asked


def test_sets_that_the_reader_may_not_read_any_more_are_not_named(place):
    assert meant(place, "small", "closed") == []
    assert meant(place, "small", "large", "closed") == ["Small mast", "Large mast"]
