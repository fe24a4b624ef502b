"""The page of the retrieval lab: what it shows, to whom, and what it writes."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent
from chat.models import Conversation, Message
from evaluation.models import GoldenCase, GoldenSet
from feedback.models import BadCase
from knowledge.models import Document
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_set, make_user

LAB = "admin:evaluation_lab"
QUESTION = "How does random access begin?"
TEXTS = {
    "rach": "# Random access\n\nRandom access lets a terminal get <b>uplink</b> synchronisation. It begins so.",
    "ca": "Carrier aggregation combines several component carriers for one terminal.",
    "cake": "A cake of apples needs flour, butter, sugar and forty minutes in the oven.",
}


@pytest.fixture
def corpus(owner, own_set) -> dict[str, Document]:
    return ingest(owner, own_set, **TEXTS)


@pytest.fixture
def curator(owner, own_set):
    """Before anything is in the set."""
    return signed_in(owner)


@pytest.fixture
def client(curator, corpus):
    return curator


@pytest.fixture
def golden_set(owner) -> GoldenSet:
    return GoldenSet.objects.create(tenant=owner.tenant, name="Radio", created_by=owner)


def page(client, **query) -> BeautifulSoup:
    return BeautifulSoup(answer_of(client, **query).content, "lxml")


def answer_of(client, **query):
    answer = client.get(reverse(LAB), {"q": QUESTION, **query})
    assert answer.status_code == 200
    return answer


def titles(soup: BeautifulSoup, letter: str = "A") -> list[str]:
    return [a.text for a in soup.select(f"[data-run={letter}] > .lab-rows .lab-title > a")]


def trouble(soup: BeautifulSoup) -> str:
    return " ".join(p.text for p in soup.select(".rs-trouble"))


# ── who may ─────────────────────────────────────────────────────────────────────────────────────


def test_the_lab_is_for_curators_and_reviewers(curator, reviewer, db):
    staff = make_user("clerk", is_staff=True)
    addresses = [reverse(LAB), *(reverse(f"{LAB}_{name}") for name in ("export", "golden", "apply"))]

    assert {signed_in(staff).get(address).status_code for address in addresses} == {403}
    assert {signed_in(make_user()).get(address).status_code for address in addresses} == {302}
    assert signed_in(reviewer).get(addresses[0]).status_code == 200
    assert curator.get(addresses[0]).status_code == 200


def test_the_navigation_leads_to_the_lab(curator):
    soup = BeautifulSoup(curator.get("/admin/").content, "lxml")

    assert soup.select_one(f'a[href="{reverse(LAB)}"]') is not None


# ── what it shows ───────────────────────────────────────────────────────────────────────────────


def test_the_result_has_rank_title_escaped_snippet_with_marks_and_bars(client):
    soup = page(client)

    first = soup.select_one("[data-run=A] .lab-row")
    assert first.select_one(".lab-rank").text == "1"
    assert titles(soup)[0] == "rach"
    assert {mark.text.lower() for mark in first.select("mark")} >= {"random", "access"}
    assert first.select_one(".lab-snippet b") is None
    assert "<b>uplink</b>" in first.select_one(".lab-snippet").text
    assert [dt.text for dt in first.select(".lab-bars dt")] == ["BM25", "384", "768", "RSF", "rerank"]
    assert len(soup.select(".lab-times rect")) == len(soup.select(".lab-stages tbody tr"))


def test_a_question_that_is_code_stays_text(curator):
    text = answer_of(curator, q='<script>alert(1)</script> "><img src=x>').content.decode()

    assert "<script>alert(1)" not in text
    assert "<img src=x>" not in text


def test_the_same_address_shows_the_same_form_again(curator, own_set, owner):
    query = {
        "set": own_set.pk,
        "as_user": owner.username,
        "compare": "on",
        "a-mode": "bm25",
        "b-retrieval.top_k": "2",
        "attributes": "year=2020",
    }

    soup = page(curator, **query)

    assert soup.select_one(f"input[name=set][value='{own_set.pk}']").has_attr("checked")
    assert soup.select_one("[name=as_user]")["value"] == owner.username
    assert soup.select_one("[name=a-mode] option[selected]")["value"] == "bm25"
    assert soup.select_one("[name='b-retrieval.top_k']")["value"] == "2"
    assert soup.select_one("[name=attributes]").text.strip() == "year=2020"
    assert soup.select_one("[name=compare]").has_attr("checked")


def test_a_configuration_decides_how_many_are_found_and_the_rest_is_told(client):
    soup = page(client, **{"a-retrieval.top_k": "1"})

    assert titles(soup) == ["rach"]
    assert "rank 2; the best 1 are the result" in soup.select_one(".lab-dropped .lab-fate").text.lower()
    assert len(soup.select(".lab-dropped .lab-row")) == 2


def test_two_configurations_stand_side_by_side_with_their_differences(client):
    soup = page(client, compare="on", **{"a-retrieval.top_k": "1", "b-retrieval.top_k": "3"})

    assert (len(titles(soup, "A")), len(titles(soup, "B"))) == (1, 3)
    assert [tag["data-kind"] for tag in soup.select("[data-run=B] > .lab-rows .lab-move")] == ["same", "only", "only"]


def test_defaults_and_ranges_stand_beside_the_options(curator, own_set):
    own_set.options = {"retrieval": {"top_k": 7}}
    own_set.save()

    soup = page(curator, set=own_set.pk)

    option = soup.select_one("[name='a-retrieval.top_k']").find_parent(class_="rs-option")
    assert soup.select_one("[name='a-retrieval.top_k']")["placeholder"] == "7"
    assert option.select_one(".rs-origin").text == "7 (knowledge set own)"
    assert "1 – 50" in option.text


def test_a_document_that_did_not_come_is_explained(client, corpus):
    soup = page(client, find="cake", **{"a-retrieval.top_k": "1"})

    where = soup.select_one(".lab-where")
    assert where["data-kind"] == "dropped"
    assert "the best 1 are the result" in where.text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"a-retrieval.top_k": "500"}, "less than or equal to 50"),
        ({"as_user": "nobody"}, "There is no such person."),
        ({"find": "no such"}, "There is no such document, or you may not see it."),
        ({"attributes": "nonsense"}, "name=value, one per line"),
        ({"q": "x" * 2001}, "at most 2000 characters"),
    ],
)
def test_what_cannot_be_asked_is_told_beside_the_form(curator, query, said):
    soup = page(curator, **query)

    assert said in trouble(soup)
    assert titles(soup) == []


@pytest.mark.parametrize("query", [{"set": "999999"}, {"message": "00000000-0000-0000-0000-000000000000"}])
def test_what_does_not_exist_is_not_found(curator, query):
    assert curator.get(reverse(LAB), {"q": QUESTION, **query}).status_code == 404


def test_a_person_of_another_tenant_does_not_exist(curator, stranger):
    assert "There is no such person." in trouble(page(curator, as_user=stranger.username))


def test_the_page_makes_as_many_queries_for_many_passages_as_for_few(client, owner, own_set):
    def count() -> int:
        answer_of(client, compare="on", find="cake")
        with CaptureQueriesContext(connection) as captured:
            answer_of(client, compare="on", find="cake")
        return len(captured)

    few = count()
    ingest(owner, own_set, **{f"more{n}": f"{TEXTS['rach']} Number {n}." for n in range(8)})

    assert count() <= few + 4  # how a search is planned depends on the size of the corpus; a row would add 16


def test_the_trace_is_exported_as_json(client):
    answer = client.get(reverse(f"{LAB}_export"), {"q": QUESTION, "find": "cake"})

    read = json.loads(answer.content)
    assert read["runs"][0]["found"][0]["title"] == "rach"
    assert read["runs"][0]["where"]["fate"]["kind"] == "found"
    assert "attachment" in answer["Content-Disposition"]
    assert client.get(reverse(f"{LAB}_export")).status_code == 404


# ── golden cases ────────────────────────────────────────────────────────────────────────────────


def save(client, golden_set, **values):
    body = {"question": QUESTION, "golden_set": golden_set.pk, **values}
    return client.post(f"{reverse(f'{LAB}_golden')}?q={QUESTION}", body, follow=True)


def test_a_golden_case_is_saved_with_its_documents_and_tags(client, corpus, golden_set):
    values = {"relevant": [corpus["rach"].pk] * 2, "target": "text", "robustness": "bogus", "tags": "a, b"}

    answer = save(client, golden_set, **values)

    case = GoldenCase.objects.get()
    assert (case.question, case.relevant, case.tags) == (QUESTION, ["rach"], ["a", "b"])
    assert (case.target, case.structure, case.robustness) == ("text", "", "")
    assert "Saved as a golden case" in answer.content.decode()
    assert AuditEvent.objects.filter(action="golden_case.create").exists()


def test_saving_again_replaces_documents_and_keeps_answers(client, corpus, golden_set):
    save(client, golden_set, relevant=[corpus["rach"].pk], answers="one\ntwo")
    save(client, golden_set, relevant=[corpus["ca"].pk])

    case = GoldenCase.objects.get()
    assert (case.relevant, case.answers) == (["ca"], ["one", "two"])


def test_a_case_with_a_document_that_the_person_may_not_open_is_not_replaced(client, corpus, golden_set):
    case = golden_set.cases.create(question=QUESTION, relevant=["cake"], answers=["forty minutes"])
    Document.objects.filter(pk=corpus["cake"].pk).update(deleted=timezone.now())

    answer = save(client, golden_set, relevant=[corpus["rach"].pk], answers="one")

    case.refresh_from_db()
    assert (case.relevant, case.answers) == (["cake"], ["forty minutes"])
    assert "with a document that you may not open" in answer.content.decode()


def test_a_case_without_a_document_or_an_answer_is_refused(curator, golden_set):
    answer = save(curator, golden_set)

    assert "needs expected content: documents, passages, answers, key points or a refusal" in answer.content.decode()
    assert not GoldenCase.objects.exists()


def test_a_case_cannot_name_a_document_that_the_person_may_not_open(reviewer, corpus, golden_set):
    Document.objects.filter(pk=corpus["cake"].pk).update(clearance=3)

    said = {
        " ".join(
            message.message for message in save(signed_in(reviewer), golden_set, relevant=[pk]).context["messages"]
        )
        for pk in (corpus["cake"].pk, 999999)
    }

    assert said == {"There is no such document, or you may not see it."}
    assert not GoldenCase.objects.exists()


def test_a_case_cannot_be_saved_into_a_golden_set_of_another_tenant(client, corpus, stranger):
    theirs = GoldenSet.objects.create(tenant=stranger.tenant, name="theirs")

    save(client, theirs, relevant=[corpus["rach"].pk])

    assert not GoldenCase.objects.exists()


def test_a_golden_case_opens_in_the_lab_with_its_question_sets_and_document(client, corpus, golden_set, own_set):
    golden_set.sets.set([own_set])
    case = golden_set.cases.create(question=QUESTION, relevant=["ca"])
    link = f"{reverse(LAB)}?case={case.pk}"

    assert link in client.get(reverse("admin:evaluation_goldencase_change", args=[case.pk])).content.decode()
    query = parse_qs(urlsplit(client.get(link)["Location"]).query)
    assert query == {"q": [QUESTION], "set": [str(own_set.pk)], "find": ["ca"]}


def test_a_golden_case_of_another_tenant_does_not_exist(stranger, golden_set):
    case = golden_set.cases.create(question=QUESTION, relevant=["ca"])

    assert signed_in(stranger).get(reverse(LAB), {"case": case.pk}).status_code == 404


# ── into the set ────────────────────────────────────────────────────────────────────────────────


def apply(client, own_set, method="post", **query):
    asked = {"q": QUESTION, "set": own_set.pk, "which": "a", **query}
    address = f"{reverse(f'{LAB}_apply')}?" + "&".join(f"{name}={value}" for name, value in asked.items())
    return getattr(client, method)(address)


def test_a_configuration_is_written_into_its_set_after_asking_by_name(curator, own_set):
    own_set.options = {"retrieval": {"top_k": 7}, "chunking": {"max_tokens": 600}}
    own_set.save()
    values = {"a-retrieval.top_k": "5", "a-retrieval.rerank": "false", "a-retrieval.query_adapter": "0"}

    asked = apply(curator, own_set, "get", **values).content.decode()
    apply(curator, own_set, **values)

    own_set.refresh_from_db()
    assert "Apply these settings to “own”?" in asked
    assert own_set.options == {"retrieval": {"top_k": 5, "rerank": False}, "chunking": {"max_tokens": 600}}


def test_only_who_manages_the_set_may_write_into_it(curator, reviewer, other_set, own_set):
    assert apply(signed_in(reviewer), own_set, **{"a-retrieval.top_k": "5"}).status_code == 404
    assert apply(curator, other_set, **{"a-retrieval.top_k": "5"}).status_code == 404
    own_set.refresh_from_db()
    assert own_set.options == {}


def test_what_an_option_refuses_is_not_written(curator, own_set):
    assert apply(curator, own_set, **{"a-retrieval.top_k": "500"}).status_code == 404


# ── replay ──────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def asker(db):
    return make_user("asker", clearance=4)


def make_message(asker, own_set, *documents, question=QUESTION, **request) -> Message:
    """A stored answer whose trace ranked these documents in this order."""
    conversation = Conversation.objects.create(tenant=asker.tenant, user=asker)
    chunks = [document.live_version.chunks.get().pk for document in documents]
    trace = {"candidates": [{"chunk_id": pk, "document_id": 0, "score": 1.0} for pk in chunks]}
    return Message.objects.create(
        conversation=conversation,
        question=question,
        state="done",
        status="answered",
        request={"query": question, "sets": [own_set.pk], "top_k": 2, "rerank": False, **request},
        trace=trace,
    )


def replayed(client, message) -> BeautifulSoup:
    answer = client.get(reverse(LAB), {"message": message.pk}, follow=True)
    assert answer.status_code == 200
    return BeautifulSoup(answer.content, "lxml")


def test_a_stored_question_is_asked_again_as_it_was_and_says_what_moved(reviewer, corpus, asker, own_set):
    message = make_message(asker, own_set, corpus["cake"], corpus["rach"], style="precise", retrieval_mode="bm25")

    soup = replayed(signed_in(reviewer), message)

    assert soup.select_one("[name=q]").text.strip() == QUESTION
    assert soup.select_one("[name=a-mode] option[selected]")["value"] == "bm25"
    assert soup.select_one("[name=a-style] option[selected]")["value"] == "precise"
    assert soup.select_one("[name='a-retrieval.rerank'] option[selected]")["value"] == "false"
    rows = [
        [cell.get_text(" ", strip=True) for cell in row.select("td, th")] for row in soup.select(".lab-stored tbody tr")
    ]
    assert [row[:2] for row in rows] == [["1", "cake"], ["2", "rach"]]
    assert rows[1][2] == "Rank 1 of the result (up 1)"


def test_a_message_and_a_case_lead_to_the_lab(reviewer, corpus, asker, own_set):
    message = make_message(asker, own_set, corpus["rach"])
    case = BadCase.objects.create(message=message)
    client = signed_in(reviewer)
    pages = [
        reverse("admin:chat_message_change", args=[message.pk]),
        reverse("admin:feedback_badcase_change", args=[case.pk]),
    ]

    link = f"{reverse(LAB)}?message={message.pk}"
    assert all(link in client.get(address).content.decode() for address in pages)


def test_a_replay_shows_nothing_that_the_asker_or_the_viewer_may_not_read(reviewer, corpus, asker, own_set):
    own_set.visibility = "members"
    own_set.save()
    own_set.members.set([asker, reviewer])
    Document.objects.filter(pk=corpus["rach"].pk).update(clearance=3)  # the viewer has 1
    asker.clearance = 0
    asker.save()
    Document.objects.filter(pk=corpus["ca"].pk).update(clearance=1)  # the asker has 0
    message = make_message(asker, own_set, corpus["rach"], corpus["ca"], corpus["cake"])

    soup = replayed(signed_in(reviewer), message)

    stored = soup.select_one(".lab-stored")
    assert [a.text for a in stored.select("a")] == ["cake"]
    assert stored.select_one("td").text.strip() == "1"
    assert {"rach", "ca"} & set(titles(soup)) == set()


def test_the_person_of_a_replay_cannot_be_replaced(reviewer, corpus, asker, own_set):
    Document.objects.filter(pk=corpus["rach"].pk).update(clearance=1)
    asker.clearance = 0
    asker.save()
    message = make_message(asker, own_set, corpus["rach"])

    soup = page(signed_in(reviewer), message=message.pk, as_user=reviewer.username)

    assert "rach" not in titles(soup)


def test_who_may_not_see_the_question_cannot_replay_it(client, reviewer, corpus, asker, own_set, other_set, stranger):
    own = make_message(asker, own_set, corpus["rach"])
    theirs = make_message(asker, other_set, corpus["rach"])
    clients = {"owner": client, "stranger": signed_in(stranger), "reviewer": signed_in(reviewer)}

    def status(name, message):
        return clients[name].get(reverse(LAB), {"message": message.pk}).status_code

    assert [status(name, own) for name in clients] == [404, 404, 302]
    BadCase.objects.create(message=own)
    own.conversation.sets.set([own_set])
    BadCase.objects.create(message=theirs)
    theirs.conversation.sets.set([other_set])
    assert (status("owner", own), status("owner", theirs)) == (302, 404)


def test_a_set_that_is_gone_is_told_and_not_asked(reviewer, corpus, asker, own_set):
    gone = make_set("gone", owners=[asker])
    message = make_message(asker, own_set, corpus["rach"], sets=[own_set.pk, gone.pk])
    gone.delete()

    soup = replayed(signed_in(reviewer), message)

    assert "1 knowledge set of the question does not exist any more." in soup.select_one(".lab-replay").text
    assert titles(soup)[0] == "rach"


def test_a_question_without_a_trace_is_asked_again_all_the_same(reviewer, corpus, asker, own_set):
    message = make_message(asker, own_set)
    Message.objects.filter(pk=message.pk).update(trace={}, request={})

    soup = replayed(signed_in(reviewer), message)

    assert titles(soup)[0] == "rach"
    assert soup.select_one(".lab-stored") is None


def test_reviewing_needs_the_permission(corpus, asker, own_set):
    clerk = make_user("clerk", is_staff=True)
    make_set("clerks", owners=[clerk])
    message = make_message(asker, own_set, corpus["rach"])

    assert signed_in(clerk).get(reverse(LAB), {"message": message.pk}).status_code == 404
    clerk.user_permissions.add(Permission.objects.get(codename="change_badcase"))
    assert signed_in(clerk).get(reverse(LAB), {"message": message.pk}).status_code == 302
