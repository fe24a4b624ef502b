import csv
import io
import json

import pytest

from accounts.models import AuditEvent
from knowledge.models import EntityDecision, Triple, TripleDecision
from knowledge.services.triple_search import triples_retrieve_and_rewrite
from tests.factories import ingest, make_set, make_user, scope_of
from tests.knowledge.fills import entities_tend, triples_tend

pytestmark = pytest.mark.django_db
HOME = "/admin/knowledge/triple/"
TEXTS = {
    "unit": "The Control Unit is part of the Base Station. Anna Berg tests the Control Unit.",
    "mast": "The Base Station stands on the Mast. Anna Berg owns the Base Station.",
}


@pytest.fixture
def owner():
    return make_user(is_staff=True)


@pytest.fixture
def shelf(owner):
    into = make_set(owners=[owner], visibility="members", options={"facts": {"reading": "model"}})
    ingest(owner, into, **TEXTS)
    entities_tend()
    triples_tend()
    return into


def page(client, user, address, **data):
    client.force_login(user)
    response = client.get(f"{HOME}{address}", data)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def post(client, user, address, **data):
    client.force_login(user)
    return client.post(f"{HOME}{address}", data)


def test_entities_are_listed_searched_and_shown_with_their_sentences(client, owner, shelf):
    shown = page(client, owner, "entities/", set=shelf.pk)
    assert "Anna Berg" in shown
    assert "Base Station" not in page(client, owner, "entities/", q="anna")

    one = page(client, owner, "entities/one/", name="anna berg")
    assert "tests the Control Unit" in one
    assert "stands on the Mast" not in one
    both = page(client, owner, "entities/one/", name="anna berg", **{"with": "control unit"})
    assert "owns the Base Station" not in both.split('id="near"')[0]
    assert client.get(f"{HOME}entities/one/", {"name": "nobody"}).status_code == 404


def test_entities_are_exported_as_they_are_listed(client, owner, shelf):
    ingest(owner, shelf, more="The Mobile Session Controller (MSC) stands beside the Mast.")
    entities_tend()

    def exported(**asked):
        return client.get(f"{HOME}entities/export/", {"set": shelf.pk, **asked}).getvalue().decode()

    client.force_login(owner)
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(exported()))}
    assert (rows["Anna Berg"]["mentions"], rows["Anna Berg"]["documents"]) == ("2", "2")
    assert rows["MSC"]["other_names"] == "Mobile Session Controller"
    assert exported(q="anna").count("\n") == 2
    nodes = {node["name"]: node for node in json.loads(exported(format="jsonld"))["@graph"]}
    assert nodes.keys() == rows.keys()
    assert nodes["MSC"]["alternateName"] == ["Mobile Session Controller"]
    client.force_login(make_user(is_staff=True))
    assert client.get(f"{HOME}entities/export/").status_code == 403


def test_the_graph_shows_entities_of_the_same_sentences(client, owner, shelf):
    shown = page(client, owner, "graph/", name="Anna Berg", show="mentions")

    assert shown.count("<circle") >= 3
    assert "Base Station" in shown
    assert "Control Unit" in page(client, owner, "graph/", confidence="0.5")
    assert "No triples found" in page(client, owner, "graph/", confidence="1")


@pytest.mark.parametrize("act", ["confirm", "reject", "merge", "split"])
def test_a_decision_about_an_entity_is_kept_and_undone(client, owner, shelf, act):
    sent = post(
        client, owner, "decide/", act=act, name="Anna Berg", other="Mast" if act in ("merge", "split") else "",
        set=shelf.pk, page="entity", shown="anna berg",
    )  # fmt: skip
    assert sent.status_code == 302
    made = EntityDecision.objects.get()
    assert (made.kind, made.undone) == (act, None)
    assert "Anna Berg" in page(client, owner, "decisions/")

    assert post(client, owner, "undo/", what="entity", decision=made.pk).status_code == 302
    made.refresh_from_db()
    assert made.undone is not None
    assert set(AuditEvent.objects.filter(action__startswith="entity.").values_list("action", flat=True)) == {
        "entity.decide",
        "entity.undo",
    }


def test_a_rejected_fact_is_found_by_nobody_until_that_is_undone_and_stays_rejected_in_new_versions(
    client, owner, shelf
):
    one = Triple.objects.get(relation="is part of")
    question = "What is the Control Unit part of?"

    post(client, owner, "decide/", act="reject", triple=one.pk)
    assert triples_retrieve_and_rewrite(scope=scope_of(owner), question=question).answer.triples == ()
    ingest(owner, shelf, unit=TEXTS["unit"] + " It is grey.")
    triples_tend()
    assert set(Triple.objects.filter(relation="is part of").values_list("state", flat=True)) == {"rejected"}

    post(client, owner, "undo/", what="triple", decision=TripleDecision.objects.get().pk)
    found = triples_retrieve_and_rewrite(scope=scope_of(owner), question=question)
    assert found.answer.chain.answers == ("Base Station",)
    assert AuditEvent.objects.filter(action="triple.undo").exists()


def test_triples_are_confirmed_and_rejected_in_the_table(client, owner, shelf):
    one = Triple.objects.get(relation="is part of")

    for action, state in (("confirm_selected", "confirmed"), ("reject_selected", "rejected")):
        post(client, owner, "", action=action, _selected_action=[one.pk])
        one.refresh_from_db()
        assert one.state == state
    assert [row.undone is None for row in TripleDecision.objects.all()] == [True, False]
    assert "Base Station" in page(client, owner, "", state__exact="rejected")


def test_others_see_and_decide_nothing(client, owner, shelf):
    other = make_user(is_staff=True)
    make_set(owners=[other])
    post(client, owner, "decide/", act="confirm", name="Anna Berg", set=shelf.pk)
    post(client, owner, "decide/", act="confirm", triple=Triple.objects.get(relation="is part of").pk)

    for address in ("entities/", "graph/?show=mentions", "decisions/"):
        shown = page(client, other, address)
        assert "Anna" not in shown
        assert "Control" not in shown
    assert client.get(f"{HOME}entities/one/", {"name": "anna berg"}).status_code == 404
    post(client, other, "decide/", act="reject", triple=Triple.objects.get(relation="is part of").pk)
    post(client, other, "decide/", act="reject", name="Anna Berg", set=shelf.pk)
    post(client, other, "undo/", what="triple", decision=TripleDecision.objects.get().pk)
    post(client, other, "undo/", what="entity", decision=EntityDecision.objects.get().pk)
    assert TripleDecision.objects.get().undone is None
    assert EntityDecision.objects.get().undone is None
    assert client.get(f"{HOME}decide/").status_code in (404, 405)
    client.force_login(make_user())
    assert client.get(f"{HOME}entities/").status_code in (302, 403)
