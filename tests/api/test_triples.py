"""`/api/v1/triples`: facts of knowledge sets."""

from __future__ import annotations

import json

import pytest

from accounts.key_scopes import KeyScope
from accounts.services import api_key_create
from knowledge.models import Triple, TripleImport
from tests.api.world import error_of, set_make

TRIPLES = "/api/v1/triples"
LINES = (
    '{"subject": "Amsterdam Airport", "relation": "location", "object": "Haarlemmermeer", "subject_type": "Airport"}\n'
    '{"subject": "Belgium", "relation": "leaderName", "object": "Charles Michel"}\n'
)


@pytest.fixture
def shelf(world):
    return set_make(world.alice, visibility="members")


def send(client, text, *, into="", kind="application/x-ndjson"):
    body = text.encode() if isinstance(text, str) else text
    return client.generic("POST", TRIPLES + (f"?set={into}" if into else ""), body, content_type=kind)


def test_facts_are_imported_listed_searched_and_deleted(alice, shelf):
    sent = send(alice, LINES, into=shelf.pk)
    assert sent.status_code == 202, sent.content
    taken = sent.json()
    assert (taken["accepted"], taken["duplicates"], taken["rejected"]) == (2, 0, [])

    listed = alice.get(f"{TRIPLES}?set={shelf.pk}").json()
    assert [row["subject"] for row in listed["results"]] == ["Amsterdam Airport", "Belgium"]
    assert alice.get(f"{TRIPLES}?name=belgium").json()["count"] == 1

    found = alice.post(f"{TRIPLES}/search", {"question": "Who is the leader of Belgium?"}, "json").json()
    assert (found["question_type"], found["answers"]) == ("subject", ["Charles Michel"])
    assert found["triples"][0].keys() >= {"stage1_score", "rerank_score", "final_score", "detailed_scores"}
    assert [step["name"] for step in found["chain"]][0] == "reason_1"
    assert found["rewritten"].startswith("Reason 1:")

    assert alice.delete(f"{TRIPLES}/{listed['results'][0]['id']}").status_code == 204
    [one] = alice.get(f"{TRIPLES}/imports").json()["results"]
    assert alice.get(f"{TRIPLES}/imports/{one['id']}").json()["accepted"] == 2
    assert alice.delete(f"{TRIPLES}/imports/{one['id']}").status_code == 204
    assert (Triple.objects.count(), TripleImport.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text/csv; charset=utf-8", "subject,relation,object\nA,is part of,B\n"),
        ("application/n-triples", "<http://x.org/A> <http://x.org/isPartOf> <http://x.org/B> .\n"),
        ("application/json", '{"subject":"A","relation":"is part of","object":"B"}'),
    ],
)
def test_each_format_is_read(alice, shelf, kind, text):
    assert send(alice, text, into=shelf.pk, kind=kind).json()["accepted"] == 1
    assert Triple.objects.get().object == "B"


def test_lines_name_their_sets_and_faults_are_named_by_line(alice, shelf):
    row = {"subject": "A", "relation": "b", "object": "C"}
    lines = [{**row, "set": shelf.pk}, row, {"subject": "A"}]

    taken = send(alice, "\n".join(map(json.dumps, lines))).json()

    assert (taken["accepted"], taken["rejected_count"]) == (1, 2)
    assert [fault["line"] for fault in taken["rejected"]] == [2, 3]
    assert "object" in taken["rejected"][1]["message"]


def test_faults_are_said_in_chinese(alice, shelf):
    text = b'{"subject": "A"}'
    taken = alice.generic(
        "POST", f"{TRIPLES}?set={shelf.pk}", text, content_type="application/x-ndjson", HTTP_ACCEPT_LANGUAGE="zh-hans"
    ).json()

    assert "缺少" in taken["rejected"][0]["message"]


def test_others_neither_read_nor_write(alice, bob, eve, root, shelf):
    send(alice, LINES, into=shelf.pk)
    question = {"question": "Who is the leader of Belgium?", "sets": [shelf.pk]}

    for stranger in (bob, eve):
        assert stranger.get(f"{TRIPLES}?page_size=500").json()["count"] == 0
        assert stranger.post(f"{TRIPLES}/search", question, "json").json()["triples"] == []
        assert stranger.get(f"{TRIPLES}/imports").json()["count"] == 0
        one = Triple.objects.first()
        assert stranger.delete(f"{TRIPLES}/{one.pk}").status_code == 404
        assert stranger.get(f"{TRIPLES}/imports/{one.source_id}").status_code == 404
    for stranger in (bob, eve):
        assert send(stranger, LINES, into=shelf.pk).status_code == 404
    assert send(eve, LINES, into=shelf.pk).status_code == 404
    assert Triple.objects.count() == 2


def test_keys_need_the_scope(world, client, shelf):
    key = api_key_create(user=world.alice, name="reads", scopes=[KeyScope.READ])[1]
    refused = client.generic(
        "POST", TRIPLES, b"{}", content_type="application/x-ndjson", headers={"Authorization": f"Bearer {key}"}
    )

    assert (refused.status_code, error_of(refused)["code"]) == (403, "missing_scope")


@pytest.mark.parametrize(
    "body",
    [{}, {"question": ""}, {"question": "x", "n_results": 0}, {"question": "x", "prompt_type": "verb"}, {"q": "x"}],
)
def test_a_search_that_makes_no_sense_is_refused(alice, body):
    assert alice.post(f"{TRIPLES}/search", body, "json").status_code == 422


def test_a_search_without_facts_and_without_a_model_is_answered(alice):
    found = alice.post(f"{TRIPLES}/search", {"question": "谁是比利时的领导人？", "use_model": True}, "json").json()

    assert (found["triples"], found["answers"], found["paths"], found["written_by"]) == ([], [], [], "rules")
