"""The lab never shows what its viewer, or the person in whose place they ask, may not read: random rights."""

from __future__ import annotations

import json
from random import Random

import pytest
from django.core.serializers.json import DjangoJSONEncoder
from django.urls import reverse

from accounts.errors import NotFoundError
from chat.models import Conversation, Message
from evaluation.services.lab.export import lab_json
from evaluation.services.lab.replay import replay_get, stored_ranking
from evaluation.services.lab.searches import lab_run
from evaluation.services.lab.types import LabConfiguration
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_admin, make_set, make_user, scope_of
from tests.forms_plugin import is_full

WORDS = ("amber", "basalt", "cobalt", "dolomite", "emerald", "feldspar", "granite", "hematite", "indigo", "jasper")
QUESTION = "Which mineral is stored in the vault?"
CONFIGURATIONS = [LabConfiguration(options={"top_k": 3, "neighbours": 1}), LabConfiguration(mode="vector")]
ROUNDS = 10 if is_full() else 6


def world_make():
    keeper = make_admin("keeper")
    sets = [make_set(f"s{n}", owners=[keeper], visibility="members") for n in range(3)]
    texts = {word: f"# Vault {word}\n\nThe mineral {word} is stored in vault {n}." for n, word in enumerate(WORDS)}
    documents = ingest(keeper, *sets, **texts)
    viewer, other = make_user("viewer", is_staff=True), make_user("other")
    return sets, documents, viewer, other


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=world_make)]


@pytest.fixture
def world(kept_rows):
    """Ten documents, each with a word of its own, in three sets of members only."""
    return kept_rows


def shuffle(random: Random, sets, documents, people) -> None:
    """New rights for everybody."""
    for row in sets:
        row.visibility = random.choice(["everyone", "members", "members"])
        row.save()
        row.members.set([person for person in people if random.random() < 0.5])
        row.owners.set([person for person in people if random.random() < 0.2])
    for person in people:
        person.clearance = random.randrange(4)
        person.save()
    for document in documents.values():
        document.sets.set(random.sample(sets, random.randint(1, 2)))
        Document.objects.filter(pk=document.pk).update(clearance=random.randrange(4))
    epoch_advance(tenant_id=sets[0].tenant_id)  # as the services do it


def readable(person, documents) -> set[str]:
    """What a search of a person may touch, told apart without the product's queries."""
    found = set()
    for word, document in documents.items():
        document.refresh_from_db()
        is_member = any(
            row.visibility == "everyone" or person in row.members.all() or person in row.owners.all()
            for row in document.sets.all()
        )
        if is_member and document.clearance <= person.clearance:
            found.add(word)
    return found


def told(result) -> set[str]:
    """Words of documents in anything that leaves the lab, apart from the question."""
    text = json.dumps(lab_json(result), cls=DjangoJSONEncoder)
    return {word for word in WORDS if word in text}


def ids_told(result) -> set[int]:
    read = lab_json(result)
    return {row["document_id"] for run in read["runs"] for row in [*run["found"], *run["dropped"]]}


def test_nothing_that_either_of_both_may_not_read_is_told(world):
    sets, documents, viewer, other = world
    seen = set()
    for seed in range(ROUNDS):
        shuffle(Random(seed), sets, documents, [viewer, other])
        mine, shared = readable(viewer, documents), readable(viewer, documents) & readable(other, documents)

        alone = lab_run(scope=scope_of(viewer), viewer=viewer, question=QUESTION, configurations=CONFIGURATIONS)
        both = lab_run(
            scope=scope_of(viewer), viewer=viewer, question=QUESTION, as_user=other, configurations=CONFIGURATIONS
        )

        assert told(alone) == mine
        assert told(both) == shared
        assert ids_told(both) == {documents[word].pk for word in shared}
        assert all(run.searched == len(shared) for run in both.runs)
        seen |= {(len(mine), len(shared))}
    assert len(seen) > 4  # the rights were really different


def test_whether_a_hidden_document_exists_is_not_told(world):
    sets, documents, viewer, other = world
    for seed in range(ROUNDS):
        shuffle(Random(seed), sets, documents, [viewer, other])
        hidden = [word for word in WORDS if word not in readable(viewer, documents)]
        for word in hidden:
            for name in (word, f"#{documents[word].pk}", f"#{documents[word].pk}:1"):
                with pytest.raises(NotFoundError) as error:
                    lab_run(scope=scope_of(viewer), viewer=viewer, question=QUESTION, expected=name)
                assert (error.value.message, error.value.data) == (
                    "There is no such document, or you may not see it.",
                    {},
                )


def test_a_replay_tells_what_both_may_read_only(world):
    sets, documents, viewer, other = world
    conversation = Conversation.objects.create(tenant=other.tenant, user=other)
    chunks = [document.live_version.chunks.get().pk for document in documents.values()]
    trace = {"candidates": [{"chunk_id": pk, "document_id": 0, "score": 1.0} for pk in chunks]}
    message = Message.objects.create(conversation=conversation, question=QUESTION, state="done", trace=trace)
    for seed in range(ROUNDS):
        shuffle(Random(seed), sets, documents, [viewer, other])
        scope = scope_of(viewer)
        replay = replay_get(scope=scope, message_id=str(message.pk), is_reviewer=True)
        result = lab_run(scope=scope, viewer=viewer, question=QUESTION, as_user=replay.asker)

        rows = stored_ranking(scope=scope, replay=replay, run=result.runs[0])

        shared = readable(viewer, documents) & readable(other, documents)
        assert {row.title for row in rows} == shared
        assert [row.place for row in rows] == list(range(1, len(shared) + 1))


@pytest.mark.full
def test_the_page_tells_no_more_than_the_service(world):
    sets, documents, viewer, other = world
    client = signed_in(viewer)
    for seed in range(4):
        shuffle(Random(seed), sets, documents, [viewer, other])
        sets[0].owners.add(viewer)  # who curates nothing may not open the lab
        shared = readable(viewer, documents) & readable(other, documents)
        query = {"q": QUESTION, "as_user": other.username, "compare": "on", "find": "amber"}

        answers = [client.get(reverse(name), query) for name in ("admin:evaluation_lab", "admin:evaluation_lab_export")]

        allowed = shared | {"amber"}  # it was typed
        for answer in answers:
            text = answer.content.decode()
            assert {word for word in WORDS if word in text} <= allowed
            assert {pk for word, pk in ids(documents) if word not in allowed and f"/documents/{pk}" in text} == set()


def ids(documents) -> list[tuple[str, int]]:
    return [(word, document.pk) for word, document in documents.items()]
