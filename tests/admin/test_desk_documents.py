"""The page of a document: both sides, edits, versions, where its options come from."""

from __future__ import annotations

import re
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone

from knowledge.models import (
    Attribute,
    Chunk,
    ChunkEdit,
    Document,
    DocumentVersion,
    DuplicatePair,
    IngestItem,
    IngestJob,
    KnowledgeSet,
)
from knowledge.services import retrieve
from knowledge.services.registration import DEFAULT_SOURCE, source_ensure
from knowledge.types import RetrievalRequest
from tests.admin.conftest import make_document, signed_in
from tests.factories import ingest, make_set, scope_of

LIST = "admin:knowledge_document_changelist"


def page_of(document: Document) -> str:
    return reverse("admin:knowledge_document_change", args=[document.pk])


def spread(client, document: Document, **query):
    return client.get(page_of(document), query).context["spread"]


def pdf(pages: int) -> bytes:
    from reportlab.pdfgen import canvas

    out = BytesIO()
    sheet = canvas.Canvas(out, pagesize=(595, 842))
    for number in range(pages):
        sheet.drawString(72, 700, f"Page {number + 1}")
        sheet.showPage()
    sheet.save()
    return out.getvalue()


def store(version: DocumentVersion, content: bytes) -> None:
    """The original of a version."""
    version.sha256 = sha256(content).hexdigest()
    version.file.save("guide.pdf", ContentFile(content))


@pytest.fixture
def paged(administrator, own_set, settings, tmp_path) -> Document:
    """A PDF of three pages: passage 0 on page 1, passage 1 on pages 1 and 2, passage 2 on page 3."""
    settings.MEDIA_ROOT = tmp_path
    document = make_document("guide", own_set)
    version = document.live_version
    version.pages = 3
    version.file_name = "guide.pdf"
    store(version, pdf(3))
    version.chunks.all().delete()
    places = [[[1, 70, 100, 300, 130]], [[1, 70, 140, 300, 170], [2, 70, 100, 300, 120]], [[3, 70, 100, 300, 130]]]
    for ordinal, boxes in enumerate(places):
        version.chunks.create(ordinal=ordinal, text=f"passage {ordinal}", tokens=2, page=boxes[0][0], boxes=boxes)
    return document


# ── both sides ──────────────────────────────────────────────────────────────────────────────────


def test_beside_a_page_stand_the_passages_of_that_page(administrator, paged):
    client = signed_in(administrator)

    shown = {page: [p.chunk.ordinal for p in spread(client, paged, page=page).passages] for page in (1, 2, 3)}

    assert shown == {1: [0, 1], 2: [1], 3: [2]}


def test_boxes_are_those_of_the_page_on_its_scale(administrator, paged):
    found = spread(signed_in(administrator), paged, page=2)

    assert found.passages[0].boxes == ((70, 100, 230, 20),)
    assert found.passages[0].pages == (1,)
    assert (found.original.width, found.original.height) == (pytest.approx(595, abs=0.5), pytest.approx(842, abs=0.5))


def test_a_passage_opens_the_page_on_which_it_stands(administrator, paged):
    assert spread(signed_in(administrator), paged, ordinal=2).number == 3


@pytest.mark.parametrize("page", ["0", "99", "x", "-1", "9" * 30])
def test_any_number_of_a_page_leads_somewhere(administrator, paged, page):
    assert spread(signed_in(administrator), paged, page=page).number in (1, 3)


def test_a_page_that_cannot_be_drawn_still_shows_its_passages(administrator, paged):
    store(paged.live_version, b"%PDF-1.7 damaged")

    found = spread(signed_in(administrator), paged)

    assert found.original.kind == "none"
    assert len(found.passages) == 2


@pytest.mark.parametrize(("fault", "words"), [("missing", "is missing on the server"), ("damaged", "is damaged")])
def test_a_lost_original_is_told_on_the_page_of_the_document_and_counted(administrator, paged, fault, words):
    version, client = paged.live_version, signed_in(administrator)
    path = Path(version.file.path)
    path.unlink() if fault == "missing" else path.write_bytes(b"other bytes")

    page = client.get(page_of(paged), headers={"accept-language": "en"})
    home = client.get(reverse("admin:index"))
    listed = client.get(reverse(LIST), {"original": "lost"})

    assert page.status_code == 200
    assert words in page.content.decode()
    assert reverse("knowledge:original", args=[paged.pk]) not in page.content.decode()
    assert next(count["value"] for count in home.context["counts"] if "lost" in count["link"]) == 1
    assert list(listed.context["cl"].queryset) == [paged]


def test_a_text_without_pages_is_shown_in_parts(administrator, own_set, monkeypatch):
    monkeypatch.setattr("knowledge.admin.passages.PASSAGES", 2)
    document = make_document("notes", own_set)
    for ordinal in (1, 2):
        document.live_version.chunks.create(ordinal=ordinal, text=f"passage {ordinal}", tokens=2)
    client = signed_in(administrator)

    assert [p.chunk.ordinal for p in spread(client, document).passages] == [0, 1]
    assert [p.chunk.ordinal for p in spread(client, document, page=2).passages] == [2]
    assert spread(client, document, ordinal=2).number == 2


def test_superseded_passages_are_not_shown_and_disabled_ones_are_said_to_be(administrator, own_set):
    document = make_document("notes", own_set)
    edit = ChunkEdit.objects.create(document=document, kind="disable", anchor_text="x", anchor_sha256="x")
    now = timezone.now()
    document.live_version.chunks.create(ordinal=0, text="superseded", tokens=1, retired=now)
    document.live_version.chunks.create(ordinal=1, text="disabled", tokens=1, retired=now, edit=edit)

    passages = spread(signed_in(administrator), document).passages

    assert [(p.chunk.text, p.is_disabled) for p in passages] == [("passage of notes", False), ("disabled", True)]


def test_the_original_of_a_text_keeps_what_was_read_beside_an_edit(administrator, own_set):
    document = make_document("notes", own_set)
    edit = ChunkEdit.objects.create(document=document, kind="text", anchor_text="as it was read", anchor_sha256="x")
    document.live_version.chunks.update(text="as the owner wrote it", edit=edit)

    (shown,) = spread(signed_in(administrator), document).passages

    assert ("as it was read" in shown.original, "as the owner wrote it" in shown.html) == (True, True)


def test_the_summary_of_a_section_is_a_passage_but_no_part_of_the_original(administrator, own_set):
    document = make_document("notes", own_set)
    document.live_version.chunks.update(kind=Chunk.Kind.SECTION)

    (shown,) = spread(signed_in(administrator), document).passages

    assert (bool(shown.html), bool(shown.original)) == (True, False)


def test_a_passage_of_a_picture_names_no_page_that_could_be_turned_to(administrator, own_set):
    document = make_document("photo", own_set)
    document.live_version.chunks.update(page=1, boxes=[[1, 0, 0, 10, 10]])

    (shown,) = spread(signed_in(administrator), document).passages

    assert shown.pages == ()


def test_a_document_that_failed_says_so_once_and_shows_no_empty_sheet(administrator, own_set):
    document = make_document("broken", own_set, state="failed", error_code="corrupt_document", error_message="Broken.")
    version = document.versions.get()
    version.chunks.all().delete()
    job = IngestJob.objects.create(tenant=own_set.tenant)
    IngestItem.objects.create(
        job=job,
        version=version,
        stage="failed",
        finished=timezone.now(),
        error_code="corrupt_document",
        error_message="Broken.",
    )

    page = signed_in(administrator).get(page_of(document)).content.decode()

    assert (page.count("Broken."), page.count(">Try again<")) == (1, 1)
    assert "Nothing could be read from this file." in page
    assert "they appear once the document is searchable" not in page


def test_a_version_that_was_never_made_is_not_said_to_have_earlier_options(administrator, own_set):
    document = make_document("broken", own_set, state="failed")

    page = signed_in(administrator).get(page_of(document), {"view": "about"}).content.decode()

    assert "This version has not been processed yet." in page
    assert "Made with earlier settings" not in page


def test_a_document_says_whose_settings_it_was_processed_with(owner, own_set):
    document = make_document("notes", own_set)
    version, hidden = document.live_version, make_set("hidden", visibility="members")

    def told(sets):
        version.pipeline, version.pipeline_sets = "ab" * 32, sets
        version.save()
        page = signed_in(owner).get(page_of(document), {"view": "about"}).content.decode()
        return [" ".join(line.split()) for line in re.findall(r"Processed with the settings of: ([^<]*)", page)]

    assert told([own_set.pk]) == [own_set.shown_name]
    assert told([hidden.pk]) == ["a set that you cannot see"]
    assert told([]) == ["site default"]
    assert told(None) == []


def test_a_list_of_many_sets_is_cut_and_told_in_full_on_hover(administrator, own_set):
    make_document("notes", own_set, make_set("beta"), make_set("gamma"), make_set("delta"))

    page = signed_in(administrator).get(reverse(LIST), {"hands": "all"}).content.decode()

    assert "+2</span>" in page


def test_edits_whose_passage_is_gone_are_listed_with_what_to_do(administrator, own_set):
    document = make_document("notes", own_set)
    edit = ChunkEdit.objects.create(
        document=document, kind="replace", anchor_text="Gone.", anchor_sha256="x", text="Better.", state="lost"
    )
    client = signed_in(administrator)

    page = client.get(page_of(document)).content.decode()
    assert "1 edit has lost its passage" in page
    assert "Better." in page

    client.post(reverse("admin:knowledge_passage_undo", args=[document.pk, edit.pk]))
    assert not ChunkEdit.objects.exists()


def test_an_edit_of_a_long_passage_shows_the_sentence_that_changed(administrator, own_set):
    document = make_document("notes", own_set)
    same = "The valve opens. " * 20
    ChunkEdit.objects.create(
        document=document,
        kind="replace",
        anchor_text=f"# Valves\n\n{same}It closes after 5 s.",
        anchor_sha256="x",
        text=f"# Valves\n\n{same}It closes after 9 s.",
    )

    page = signed_in(administrator).get(page_of(document)).content.decode()

    assert re.findall(r"<(?:del|ins)>.*</span>(.*?)</(?:del|ins)>", page) == [
        "It closes after 5 s.",
        "It closes after 9 s.",
    ]


def test_the_text_of_a_document_cannot_bring_scripts_into_the_desk(administrator, own_set):
    document = make_document("notes", own_set)
    document.live_version.chunks.update(text="<script>alert(1)</script>", heading_path=["<b>bold</b>"])

    page = signed_in(administrator).get(page_of(document)).content.decode()

    assert "<script>alert(1)" not in page
    assert "<b>bold</b>" not in page


# ── edits ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def searchable(owner, own_set, redis_client) -> Document:
    return ingest(owner, own_set, timer="The timer waits for two seconds.")["timer"]


def button(name: str, document: Document) -> str:
    chunk = Chunk.objects.get(version=document.live_version_id, retired=None)
    return reverse(f"admin:knowledge_passage_{name}", args=[document.pk, chunk.pk])


def found(owner, query: str) -> list[str]:
    answer = retrieve(scope=scope_of(owner), request=RetrievalRequest(query=query, mode="bm25"))
    return [candidate.passage.text for candidate in answer.state.candidates]


def test_an_edited_passage_is_found_by_its_new_text_and_undone(owner, searchable):
    client = signed_in(owner)

    answer = client.post(button("replace", searchable), {"text": "The pendulum swings for ever.", "ordinal": "0"})
    assert answer["Location"] == f"{page_of(searchable)}?ordinal=0#passage-0"
    assert found(owner, "pendulum") == ["The pendulum swings for ever."]
    shown = spread(client, searchable).passages[0]
    assert shown.edit.author == owner

    client.post(reverse("admin:knowledge_passage_undo", args=[searchable.pk, shown.edit.pk]))
    assert found(owner, "pendulum") == []
    assert found(owner, "timer") == ["The timer waits for two seconds."]


def test_a_passage_is_taken_out_of_searches_and_brought_back(owner, searchable):
    client = signed_in(owner)

    client.post(button("disable", searchable))
    assert found(owner, "timer") == []
    shown = spread(client, searchable).passages[0]
    assert shown.is_disabled

    client.post(reverse("admin:knowledge_passage_undo", args=[searchable.pk, shown.edit.pk]))
    assert found(owner, "timer") == ["The timer waits for two seconds."]


def test_a_passage_is_found_by_questions_that_its_owner_adds(owner, searchable):
    client = signed_in(owner)

    client.post(button("questions", searchable), {"questions": "What about the chronometer?\n\n"})

    assert found(owner, "chronometer") == ["The timer waits for two seconds."]
    assert spread(client, searchable).passages[0].questions.questions == ["What about the chronometer?"]


def test_an_empty_text_is_refused_in_words(owner, searchable):
    answer = signed_in(owner).post(button("replace", searchable), {"text": "  "}, follow=True)

    assert [str(m) for m in answer.context["messages"]] == ["A passage needs text. To hide it, exclude it from search."]
    assert not ChunkEdit.objects.exists()


def test_owners_of_other_sets_edit_nothing(owner, administrator, searchable):
    stranger_set = make_set("elsewhere", owners=[administrator])
    searchable.sets.set([stranger_set])

    signed_in(owner).post(button("replace", searchable), {"text": "Changed."})

    assert not ChunkEdit.objects.exists()


def test_a_text_is_previewed_as_it_will_look(owner, searchable):
    address = reverse("admin:knowledge_passage_preview", args=[searchable.pk])

    html = signed_in(owner).post(address, {"text": "A **bold** word <script>"}).content.decode()

    assert html == "<p>A <strong>bold</strong> word &lt;script&gt;</p>\n"


# ── what is known, versions ─────────────────────────────────────────────────────────────────────


def test_attributes_stand_in_their_groups_under_their_names(administrator, own_set):
    Attribute.objects.create(tenant=own_set.tenant, code="product", name="Product line", group="knowledge")
    document = make_document("guide", own_set, metadata={"product": "BTS", "reviewed_by": "Ada"}, tags=["5g"])

    groups = signed_in(administrator).get(page_of(document), {"view": "about"}).context["groups"]
    facts = {group.name: dict(group.facts) for group in groups}

    assert facts["Knowledge"] == {"Common": "own", "Product line": "BTS"}
    assert facts["Management"] == {"tags": "5g", "reviewed_by": "Ada"}
    assert facts["Basic"]["file name"] == "guide.md"


def test_the_origin_of_each_option_is_told(owner, own_set, searchable):
    KnowledgeSet.objects.filter(pk=own_set.pk).update(options={"chunking": {"max_tokens": 640}})

    context = signed_in(owner).get(page_of(searchable), {"view": "about"}).context
    options = {option.label: option for _name, group in context["pipeline"] for option in group}

    assert options["Maximum passage size (tokens)"].value == "640"
    assert options["Maximum passage size (tokens)"].origin == "knowledge set own"
    assert options["Overlap"].origin == "default"
    assert context["is_present"] is False


def with_second_version(document: Document) -> None:
    document.live_version.markdown = "# Timer\n\nIt waits for two seconds. It ends."
    document.live_version.save()
    DocumentVersion.objects.create(
        document=document,
        number=2,
        sha256="1" * 64,
        file_name="guide.md",
        size_bytes=9,
        markdown="# Timer\n\nIt waits for three seconds. It ends.",
    )


def test_two_versions_stand_side_by_side(administrator, own_set):
    document = make_document("guide", own_set)
    with_second_version(document)
    address = reverse("admin:knowledge_document_diff", args=[document.pk])

    rows = signed_in(administrator).get(address).context["rows"]

    assert [(row.left, row.right) for row in rows if row.changed] == [
        ("It waits for two seconds.", "It waits for three seconds.")
    ]


def test_one_version_alone_cannot_be_compared(administrator, own_set):
    document = make_document("guide", own_set)
    address = reverse("admin:knowledge_document_diff", args=[document.pk])

    answer = signed_in(administrator).get(address, follow=True)

    assert [str(m) for m in answer.context["messages"]] == ["This document has only one version."]


def test_an_older_version_is_shown_but_not_edited(administrator, own_set):
    document = make_document("guide", own_set)
    with_second_version(document)
    second = document.versions.get(number=2)
    second.chunks.create(ordinal=0, text="not searchable", tokens=2)

    shown = spread(signed_in(administrator), document, version=2)

    assert [(p.chunk.text, p.may_edit) for p in shown.passages] == [("not searchable", False)]


def test_a_document_is_rebuilt_as_a_new_version(owner, searchable):
    signed_in(owner).post(reverse("admin:knowledge_document_rebuild", args=[searchable.pk]))

    assert searchable.versions.count() == 2
    searchable.refresh_from_db()
    assert searchable.live_version.number == 1


# ── many at once ────────────────────────────────────────────────────────────────────────────────


def transfer(verb: str) -> str:
    return reverse("admin:knowledge_document_transfer", args=[verb])


def test_moving_asks_for_the_set_and_says_how_many(administrator, own_set, other_set):
    ids = [make_document(title, own_set).pk for title in ("a", "b")]
    client = signed_in(administrator)

    answer = client.post(
        f"{reverse(LIST)}?hands=all", {"action": "move_selected", "_selected_action": ids}, follow=True
    )

    assert "Move 2 documents" in answer.content.decode()
    assert answer.context["likely"] == other_set


@pytest.mark.full
def test_thousands_are_chosen_in_one_field_and_in_no_address(administrator, own_set):
    source = source_ensure(tenant_id=own_set.tenant_id, name=DEFAULT_SOURCE)
    rows = [
        Document(tenant=own_set.tenant, source=source, external_id=f"d{n}", sha256="0" * 64, title=f"d{n}")
        for n in range(2500)
    ]
    made = Document.objects.bulk_create(rows)
    through = Document.sets.through
    through.objects.bulk_create(through(document_id=one.pk, knowledgeset_id=own_set.pk) for one in made)

    for action in ("move_selected", "copy_selected", "weigh_selected", "review_selected", "delete_selected"):
        values = {"action": action, "_selected_action": [made[0].pk], "select_across": "1"}
        answer = signed_in(administrator).post(f"{reverse(LIST)}?hands=all", values)

        assert answer.status_code == 200, action
        assert answer.context["count"] == 2500, action
        assert answer.content.decode().count("<input") < 30, action


def test_documents_are_deleted_by_the_ids_of_the_page_as_far_as_one_keeps_them(owner, own_set, other_set):
    mine, theirs = [make_document(name, own_set) for name in ("a", "b")], make_document("c", other_set)
    client = signed_in(owner)

    page = client.post(f"{reverse(LIST)}?hands=all", {"action": "delete_selected", "_selected_action": [mine[0].pk]})
    values = {"action": "delete_selected", "_selected_action": [mine[0].pk], "post": "yes"}
    ids = ",".join(str(one.pk) for one in (*mine, theirs))
    done = client.post(f"{reverse(LIST)}?hands=all", {**values, "ids": ids}, follow=True).content.decode()

    assert "Delete 1 document" in page.content.decode()
    assert "2 documents were deleted." in done
    assert set(Document.objects.filter(deleted=None).values_list("title", flat=True)) == {"c"}


@pytest.mark.parametrize(("verb", "codes"), [("move", ["other"]), ("copy", ["other", "own"]), ("remove", [])])
def test_documents_change_their_sets(administrator, own_set, other_set, verb, codes):
    document = make_document("a", own_set)

    values = {"ids": str(document.pk), "from_set": own_set.pk, "to_set": other_set.pk}
    signed_in(administrator).post(transfer(verb), values)

    assert sorted(document.sets.values_list("code", flat=True)) == codes


def test_an_owner_moves_nothing_into_sets_of_others(owner, own_set, other_set):
    document = make_document("a", own_set)

    values = {"ids": str(document.pk), "from_set": own_set.pk, "to_set": other_set.pk}
    answer = signed_in(owner).post(transfer("move"), values, follow=True)

    assert [row.code for row in document.sets.all()] == ["own"]
    assert "Only owners and editors may change the documents" in str(next(iter(answer.context["messages"])))


def test_administrators_find_what_was_deleted_and_owners_do_not(administrator, owner, own_set):
    make_document("gone", own_set, state="deleted", deleted=timezone.now())

    def titles(user, hands: str) -> list[str]:
        rows = signed_in(user).get(reverse(LIST), {"hands": hands}).context["cl"].result_list
        return [row.title for row in rows]

    assert titles(administrator, "deleted") == ["gone"]
    assert titles(administrator, "all") == []
    assert titles(owner, "deleted") == []


# ── near-duplicates ─────────────────────────────────────────────────────────────────────────────


def make_pair(first_set: KnowledgeSet, second_set: KnowledgeSet) -> DuplicatePair:
    first, second = make_document("a", first_set), make_document("b", second_set)
    return DuplicatePair.objects.create(
        tenant=first_set.tenant, first=first, second=second, kind="near", similarity=0.9
    )


def test_a_pair_is_compared_and_kept(owner, own_set):
    pair = make_pair(own_set, own_set)
    client = signed_in(owner)

    rows = client.get(reverse("admin:knowledge_duplicatepair_change", args=[pair.pk])).context["rows"]
    assert [(row.left, row.right) for row in rows if row.changed] == [("# a", "# b")]

    client.post(reverse("admin:knowledge_duplicatepair_keep", args=[pair.pk]))
    pair.refresh_from_db()
    assert pair.state == "kept"
    assert not client.get(reverse("admin:knowledge_duplicatepair_changelist")).context["cl"].result_list


def test_pairs_are_narrowed_to_a_set(administrator, own_set, other_set):
    pair = make_pair(own_set, own_set)
    address = reverse("admin:knowledge_duplicatepair_changelist")
    client = signed_in(administrator)

    assert [*client.get(address, {"set": own_set.pk}).context["cl"].result_list] == [pair]
    assert not client.get(address, {"set": other_set.pk}).context["cl"].result_list


def test_pairs_of_other_owners_do_not_exist(owner, own_set, other_set):
    pair = make_pair(other_set, other_set)
    client = signed_in(owner)

    assert not client.get(reverse("admin:knowledge_duplicatepair_changelist")).context["cl"].result_list
    assert client.post(reverse("admin:knowledge_duplicatepair_keep", args=[pair.pk])).status_code == 404
