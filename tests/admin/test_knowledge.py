"""Sets, documents, ingestion: owners manage theirs, documents change through services only."""

from __future__ import annotations

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from accounts.models import AuditEvent
from evaluation.models import GatedChange, GoldenSet
from knowledge.models import Document, IngestItem, IngestJob, KnowledgeSet
from tests.admin.conftest import make_document, signed_in
from tests.factories import make_set, make_tenant, make_user

DOCUMENTS = "admin:knowledge_document_changelist"
SETS = "admin:knowledge_knowledgeset_changelist"
SET_VALUES = {
    "originals": "readers",
    "rights": "both",
    "name": "Design",
    "code": "design",
    "axis": "X",
    "visibility": "members",
    "description": "",
}


def titles(client, **query) -> set[str]:
    return {document.title for document in client.get(reverse(DOCUMENTS), query).context["cl"].result_list}


# ── sets ────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_of_sets_counts_documents_passages_and_failures(administrator):
    home, both = make_set("home"), make_set("both")
    make_document("a", home, both)
    make_document("b", home)
    make_document("c", home, state="failed")

    rows = {row.code: row for row in signed_in(administrator).get(reverse(SETS)).context["cl"].result_list}

    assert (rows["home"].document_count, rows["home"].chunk_count, rows["home"].failed_count) == (3, 2, 1)
    assert (rows["both"].document_count, rows["both"].chunk_count, rows["both"].failed_count) == (1, 1, 0)


def test_an_owner_sees_only_the_own_sets(owner, own_set, other_set):
    client = signed_in(owner)

    assert [row.code for row in client.get(reverse(SETS)).context["cl"].result_list] == ["own"]
    assert client.get(reverse("admin:knowledge_knowledgeset_change", args=[other_set.pk])).status_code == 302
    assert client.get(reverse("admin:knowledge_knowledgeset_add")).status_code == 403


def test_an_owner_changes_readers_and_it_is_recorded(owner, own_set):
    reader = make_user("reader")
    url = reverse("admin:knowledge_knowledgeset_change", args=[own_set.pk])
    people = {"owners": [owner.pk], "members": [reader.pk], "member_groups": []}

    answer = signed_in(owner).post(url, {**SET_VALUES, **people, "persona": "", "example_questions": ""})

    assert answer.status_code == 302
    own_set.refresh_from_db()
    assert own_set.visibility == "members"
    assert [*own_set.members.all()] == [reader]
    assert set(AuditEvent.objects.values_list("action", flat=True)) >= {"set.change", "set.members"}


def test_a_persona_of_a_guarded_set_leads_to_its_measurement_and_everything_else_is_saved(owner, own_set):
    golden = GoldenSet.objects.create(tenant=owner.tenant, name="guard")
    golden.sets.add(own_set)
    golden.cases.create(question="why?", answers=["so"])
    url = reverse("admin:knowledge_knowledgeset_change", args=[own_set.pk])
    values = {**SET_VALUES, "owners": [owner.pk], "persona": "the design desk", "example_questions": ""}
    client = signed_in(owner)

    answer = client.post(url, values)

    change = GatedChange.objects.get()
    assert answer.url == reverse("admin:evaluation_gatedchange_change", args=[change.pk])
    own_set.refresh_from_db()
    assert (own_set.name, own_set.persona) == ("Design", "")
    page = client.get(answer.url).content.decode()
    assert "the design desk" in page
    assert "persona" in page


def test_an_owner_cannot_leave_a_set_without_owner(owner, own_set):
    url = reverse("admin:knowledge_knowledgeset_change", args=[own_set.pk])

    answer = signed_in(owner).post(url, {**SET_VALUES, "owners": [], "persona": "", "example_questions": ""})

    assert "owners" in answer.context["adminform"].form.errors
    assert [*own_set.owners.all()] == [owner]


def completed(client, field: str, term: str) -> list[str]:
    query = {"term": term, "app_label": "knowledge", "model_name": "knowledgeset", "field_name": field}
    return [row["text"] for row in client.get(reverse("admin:autocomplete"), query).json()["results"]]


def test_an_owner_finds_people_of_the_own_tenant_by_name_and_no_others(owner, own_set):
    make_user("ada")
    make_user("adam", tenant=make_tenant())

    assert completed(signed_in(owner), "members", "ada") == ["ada"]


def test_people_of_another_tenant_cannot_become_members(administrator, stranger):
    home = make_set("home")
    url = reverse("admin:knowledge_knowledgeset_change", args=[home.pk])
    values = {**SET_VALUES, "owners": [administrator.pk], "members": [stranger.pk]}

    answer = signed_in(administrator).post(url, {**values, "persona": "", "example_questions": ""})

    assert "members" in answer.context["adminform"].form.errors


def test_a_code_that_is_taken_is_named_beside_the_field(administrator):
    make_set("design")

    answer = signed_in(administrator).post(reverse("admin:knowledge_knowledgeset_add"), SET_VALUES)

    assert answer.context["adminform"].form.errors["code"] == ["Another knowledge set has this code."]


def test_a_new_set_belongs_to_its_maker_and_deleting_it_keeps_the_documents(administrator):
    client = signed_in(administrator)

    client.post(reverse("admin:knowledge_knowledgeset_add"), SET_VALUES)
    made = KnowledgeSet.objects.get(code="design")
    document = make_document("stays", made)
    client.post(reverse("admin:knowledge_knowledgeset_delete", args=[made.pk]), {"post": "yes"})

    assert not KnowledgeSet.objects.filter(code="design").exists()
    assert Document.objects.get(pk=document.pk).state == "live"


# ── documents ───────────────────────────────────────────────────────────────────────────────────


def test_the_list_of_documents_shows_all_and_narrows_to_what_needs_attention(administrator):
    home = make_set("home")
    make_document("broken", home, state="failed")
    make_document("on its way", home, state="processing")
    make_document("fine", home)
    client = signed_in(administrator)

    assert titles(client) == {"broken", "on its way", "fine"}
    assert titles(client, hands="open") == {"broken", "on its way"}
    assert titles(client, hands="live") == {"fine"}


def test_an_owner_sees_documents_of_the_own_sets_only(owner, own_set, other_set):
    make_document("mine", own_set)
    make_document("shared", own_set, other_set)
    theirs = make_document("theirs", other_set)
    client = signed_in(owner)

    assert titles(client, hands="all") == {"mine", "shared"}
    assert client.get(reverse("admin:knowledge_document_change", args=[theirs.pk])).status_code == 302


def test_an_owner_does_not_see_documents_above_the_own_clearance(own_set, owner):
    owner.clearance = 1
    owner.save()
    make_document("secret", own_set, clearance=3)

    assert titles(signed_in(owner), hands="all") == set()


def test_an_administrator_of_another_tenant_sees_none_of_our_documents(stranger, own_set):
    ours = make_document("ours", own_set)
    client = signed_in(stranger)

    assert titles(client, hands="all") == set()
    assert client.get(reverse("admin:knowledge_document_change", args=[ours.pk])).status_code == 302
    assert client.post(reverse("admin:knowledge_document_delete", args=[ours.pk]), {"post": "yes"}).status_code == 302
    assert Document.objects.get(pk=ours.pk).state == "live"


def test_the_page_of_a_document_shows_versions_text_and_passages(administrator, own_set):
    document = make_document("guide", own_set)

    page = signed_in(administrator).get(reverse("admin:knowledge_document_change", args=[document.pk]))

    text = page.content.decode()
    assert "guide.md" in text
    assert "passage of guide" in text
    assert "# guide" in text


def test_the_page_of_a_document_changes_nothing(administrator, own_set):
    document = make_document("guide", own_set)
    url = reverse("admin:knowledge_document_change", args=[document.pk])

    answer = signed_in(administrator).post(url, {"title": "other", "clearance": 0})

    assert answer.status_code == 403
    assert Document.objects.get(pk=document.pk).title == "guide"


@pytest.mark.parametrize("where", ["page", "list"])
def test_deleting_a_document_is_soft(administrator, own_set, where):
    document = make_document("old", own_set)
    client = signed_in(administrator)

    if where == "page":
        client.post(reverse("admin:knowledge_document_delete", args=[document.pk]), {"post": "yes"})
    else:
        data = {"action": "delete_selected", "_selected_action": [document.pk], "post": "yes"}
        client.post(f"{reverse(DOCUMENTS)}?hands=all", data)

    document.refresh_from_db()
    assert document.state == "deleted"
    assert document.versions.count() == 1


def test_deleting_asks_once_by_name(administrator, own_set):
    document = make_document("Very old guide", own_set)

    page = signed_in(administrator).get(reverse("admin:knowledge_document_delete", args=[document.pk]))

    assert "Very old guide" in page.content.decode()
    assert Document.objects.get(pk=document.pk).deleted is None


def test_the_question_says_when_a_deletion_is_final(administrator, own_set, settings):
    settings.PURGE_AFTER_DAYS = 12
    document = make_document("old", own_set)

    page = signed_in(administrator).get(reverse("admin:knowledge_document_delete", args=[document.pk]))

    assert "After 12 days the deletion is final" in page.content.decode()


@pytest.mark.parametrize("where", ["page", "list"])
def test_a_deletion_is_undone_from_the_list(owner, own_set, where):
    document = make_document("old", own_set)
    client = signed_in(owner)
    if where == "page":
        answer = client.post(reverse("admin:knowledge_document_delete", args=[document.pk]))
    else:
        data = {"action": "delete_selected", "_selected_action": [document.pk], "post": "yes"}
        answer = client.post(f"{reverse(DOCUMENTS)}?hands=all", data)
    offered = client.get(answer["Location"]).context["just_deleted"]

    client.post(reverse("admin:knowledge_document_restore"), {"ids": offered["ids"]})

    assert Document.objects.get(pk=document.pk).deleted is None
    assert client.get(reverse(DOCUMENTS)).context.get("just_deleted") is None


def test_nobody_restores_what_others_deleted_from_their_sets(owner, administrator, own_set, other_set):
    mine, theirs = make_document("mine", own_set), make_document("theirs", other_set)
    for document in (mine, theirs):
        signed_in(administrator).post(reverse("admin:knowledge_document_delete", args=[document.pk]))

    signed_in(owner).post(reverse("admin:knowledge_document_restore"), {"ids": f"{mine.pk},{theirs.pk}"})

    assert Document.objects.get(deleted=None) == mine


def test_an_administrator_restores_a_document_from_its_page(administrator, own_set):
    document = make_document("old", own_set)
    signed_in(administrator).post(reverse("admin:knowledge_document_delete", args=[document.pk]))

    page = signed_in(administrator).get(reverse("admin:knowledge_document_change", args=[document.pk]))

    assert reverse("admin:knowledge_document_restore") in page.content.decode()


def test_the_address_of_what_is_gone_leads_to_its_list_and_says_so(owner, own_set):
    client = signed_in(owner)

    page = client.get(reverse("admin:knowledge_document_change", args=[999_999]), follow=True)

    assert page.redirect_chain[-1][0] == reverse(DOCUMENTS)
    assert "Document: not found. It was deleted, or you may not see it." in page.content.decode()


def test_a_failed_document_says_why_in_words_and_can_be_tried_again(administrator, own_set):
    document = make_document(
        "locked", own_set, state="failed", error_code="password_protected", error_message="Remove the password."
    )
    client = signed_in(administrator)
    page = reverse("admin:knowledge_document_change", args=[document.pk])
    retry = reverse("admin:knowledge_document_retry", args=[document.pk])

    assert "Remove the password." in client.get(page).content.decode()
    assert retry in client.get(page).content.decode()
    assert client.get(retry).status_code == 405
    assert not IngestJob.objects.exists()  # only POST acts

    client.post(retry)

    assert IngestItem.objects.get().version.document == document


def test_others_cannot_try_a_document_again(owner, own_set, other_set):
    document = make_document("theirs", other_set, state="failed")

    answer = signed_in(owner).post(reverse("admin:knowledge_document_retry", args=[document.pk]))

    assert answer.status_code == 404
    assert not IngestJob.objects.exists()


# ── upload and ingestion ────────────────────────────────────────────────────────────────────────


def test_the_upload_page_offers_only_managed_sets(owner, own_set, other_set):
    page = signed_in(owner).get(reverse("admin:knowledge_document_upload")).content.decode()

    assert re.findall(r'name="sets" value="(\d+)"', page) == [str(own_set.pk)]


def test_files_can_be_uploaded_without_scripts_and_each_fault_is_told(owner, own_set):
    files = [SimpleUploadedFile("a.md", b"# A\n\ntext"), SimpleUploadedFile("b.xyz", b"?")]

    answer = signed_in(owner).post(
        reverse("admin:knowledge_document_upload"), {"sets": [own_set.pk], "files": files}, follow=True
    )

    assert [document.title for document in Document.objects.all()] == ["a"]
    texts = [str(message) for message in answer.context["messages"]]
    assert any(text.startswith("b.xyz: ") for text in texts)
    assert "1 file is being processed." in texts


def test_of_several_sets_the_uploader_says_whose_settings_hold(owner, own_set):
    other = make_set("beta", owners=[owner])
    client, address = signed_in(owner), reverse("admin:knowledge_document_upload")
    file = SimpleUploadedFile("a.md", b"# A\n\ntext")

    page = client.get(address).content.decode()
    client.post(address, {"sets": [own_set.pk, other.pk], "leading": other.pk, "files": [file]})

    assert 'name="leading"' in page
    assert Document.objects.get().leading_set == other


def test_uploading_into_the_set_of_another_owner_stores_nothing(owner, own_set, other_set):
    file = SimpleUploadedFile("a.md", b"# A\n\ntext")

    signed_in(owner).post(reverse("admin:knowledge_document_upload"), {"sets": [other_set.pk], "files": [file]})

    assert not Document.objects.exists()


def test_the_ingestion_list_shows_the_place_in_the_queue(administrator, own_set):
    job = IngestJob.objects.create(tenant=own_set.tenant, created_by=administrator)
    for title in ("first", "second"):
        version = make_document(title, own_set, state="processing").versions.get()
        IngestItem.objects.create(job=job, version=version)

    page = signed_in(administrator).get(reverse("admin:knowledge_ingestitem_changelist"))

    places = {row.item.version.document.title: row.position for row in page.context["rows"]}
    assert places == {"first": 1, "second": 2}
