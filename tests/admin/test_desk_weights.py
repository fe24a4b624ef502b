"""The owner's desk: how much documents count."""

from __future__ import annotations

from django.urls import reverse

from knowledge.models import Document
from tests.admin.conftest import make_document, signed_in

LIST = reverse("admin:knowledge_document_changelist")
WEIGH = reverse("admin:knowledge_document_weigh")


def weight_of(document):
    return Document.objects.get(pk=document.pk).weight


def test_the_page_of_a_document_leads_to_its_weight_and_back(owner, own_set):
    document = make_document("notes", own_set)
    client = signed_in(owner)
    page = client.get(reverse("admin:knowledge_document_change", args=[document.pk])).content.decode()
    assert f"{WEIGH}?ids={document.pk}" in page
    assert 'value="1.0"' in client.get(WEIGH, {"ids": document.pk}).content.decode()

    answer = client.post(WEIGH, {"ids": str(document.pk), "weight": "1.5"})

    assert (answer.status_code, weight_of(document)) == (302, 1.5)
    about = client.get(answer["Location"]).content.decode()
    assert "1 document has a new weight." in about
    assert "<dt>weight</dt><dd>1.5</dd>" in about


def test_many_documents_are_weighed_from_the_list(owner, own_set):
    documents = [make_document(name, own_set) for name in ("a", "b")]
    client = signed_in(owner)
    ids = [str(document.pk) for document in documents]

    asked = client.post(f"{LIST}?hands=all", {"action": "weigh_selected", "_selected_action": ids})
    page = asked.content.decode()
    client.post(WEIGH, {"ids": ",".join(ids), "weight": "0.5"})

    assert "2 documents" in page
    assert [weight_of(document) for document in documents] == [0.5, 0.5]


def test_a_weight_out_of_range_is_said_and_nothing_changes(owner, own_set):
    document = make_document("notes", own_set)
    client = signed_in(owner)

    for weight in ("3", "0.1", "much", "", "nan"):
        answer = client.post(WEIGH, {"ids": str(document.pk), "weight": weight}, follow=True)
        assert "The weight of a document must be between 0.5 and 2." in answer.content.decode()
    assert weight_of(document) == 1.0


def test_documents_of_others_cannot_be_weighed(owner, own_set, other_set, reviewer):
    foreign, shared = make_document("foreign", other_set), make_document("shared", own_set, other_set)
    client = signed_in(owner)

    client.post(WEIGH, {"ids": f"{foreign.pk},{shared.pk}", "weight": "2"})
    signed_in(reviewer).post(WEIGH, {"ids": str(foreign.pk), "weight": "2"})

    assert (weight_of(foreign), weight_of(shared)) == (1.0, 1.0)
