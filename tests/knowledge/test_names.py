"""Documents asked for by file name and folder, through the real search."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from knowledge.models import CorpusEpoch, Document, DocumentNames, Source
from knowledge.services import document_delete, retrieve
from knowledge.services.composition import set_sources_put
from knowledge.services.names import document_rename
from knowledge.services.sources import archive_upload
from knowledge.services.sources.webhooks import WebhookEvent, webhook_events_apply
from knowledge.types import Filters, RetrievalRequest, SourceFilter
from ragcore.retrieval.names import NO_NAMES
from ragcore.retrieval.stages import search as search_stages
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, run_job, scope_of
from tests.knowledge.sources.building import folder_source, run, site
from tests.knowledge.uploads import upload


def others_make():
    owner = make_admin()
    common = make_set("common", owners=[owner])
    return owner, common, ingest(owner, common, **OTHERS)


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=others_make)]

OTHERS = {
    "notes": "Release notes list what is new. The BTS3900 base station gets release notes for each release.",
    "support": "Support answers questions about 5G and handover. Support has a handover desk for 5G.",
    "spec": "The specification 38321 g10 is quoted here, and the docx of 38321 is mentioned again: 38321 g10.",
    "zh": "切换失败处理指南说明技术支持如何处理切换失败。切换失败时查看指南。",
}
TEXT = "Tilt the antenna by three degrees and measure the level again."
ORDINARY = (
    "How does the support desk handle handover?",
    "release notes of the base station",
    "antenna",
    "切换失败如何处理？",
    "38321 is quoted where?",
)


def search(user, query, **request):
    return retrieve(scope=scope_of(user), request=RetrievalRequest(query=query, **request))


def titles(user, query, **request):
    return [c.passage.title for c in search(user, query, **request).state.candidates]


@pytest.fixture
def owner(request, db):
    return request.getfixturevalue("kept_rows")[0] if "others" in request.fixturenames else make_admin()


@pytest.fixture
def common(request, owner):
    with_others = "others" in request.fixturenames
    return request.getfixturevalue("kept_rows")[1] if with_others else make_set("common", owners=[owner])


@pytest.fixture
def others(kept_rows):
    return kept_rows[2]


def stored(owner, *sets, name, title="Antenna work", text=TEXT, **more):
    """A live document whose title and text say nothing of its name."""
    done = upload(owner, *sets, name=name, content=text.encode(), title=title, **more)
    run_job(done.job.pk)
    return done.document


# ── by name ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("mode", ["hybrid", "bm25"])
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("38321-g10.docx.txt", "38321-g10.docx.txt"),
        ("38321-g10.txt", "38321-g10.txt"),
        ("38321-g10.txt", "38321-G10"),
        ("38321-g10.txt", "What does 38321-g10.txt say about antennas?"),
        ("BTS3900_release_notes_v3.txt", "BTS3900_release_notes_v3.txt"),
        ("BTS3900_release_notes_v3.txt", "BTS3900 release notes v3"),
        ("切换失败处理指南.txt", "切换失败处理指南.txt"),
        ("切换失败处理指南.txt", "请打开切换失败处理指南.txt看看"),
    ],
)
def test_who_types_a_file_name_finds_its_document_first(owner, common, mode, name, asked):
    stored(owner, common, name=name)

    assert titles(owner, asked, mode=mode)[0] == "Antenna work"


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("BTS3900_release_notes_v3.txt", "BTS3900 v3"),
        ("BTS3900_release_notes_v3.txt", "release_notes_v3"),
        ("BTS3900ReleaseNotes.txt", "release notes BTS 3900"),
        ("切换失败处理指南V2.txt", "失败处理指南"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"rerank": False}])
def test_a_part_of_a_name_finds_it(owner, common, name, asked, options, monkeypatch):
    stored(owner, common, name=name)

    assert "Antenna work" in titles(owner, asked, top_k=5, options=options)
    monkeypatch.setattr(search_stages, "find_names", lambda query, index: NO_NAMES)
    assert "Antenna work" not in titles(owner, asked, mode="bm25")


def test_of_two_endings_the_one_that_is_asked_for_comes_first(owner, common):
    stored(owner, common, name="plan-2024.txt", title="text", text="Tilt the antenna.")
    stored(owner, common, name="plan-2024.md", title="markdown", text="Measure the level.")

    assert titles(owner, "plan-2024.md")[0] == "markdown"
    assert titles(owner, "plan-2024.txt")[0] == "text"
    assert set(titles(owner, "plan-2024")) == {"text", "markdown"}


def test_all_passages_of_a_named_document_lead_and_the_rest_follows(owner, common):
    ingest(owner, common, **OTHERS)
    long = "\n\n".join(f"# Part {n}\n\n" + f"Tilt number {n} of the antenna. " * 90 for n in range(2))
    stored(owner, common, name="tilt_plan.md", text=long)

    found = titles(owner, "What does tilt_plan.md say about the support desk for handover?")

    own = found.count("Antenna work")
    assert own >= 2
    assert found[:own] == ["Antenna work"] * own
    assert found[own] == "support"


def test_a_name_that_was_given_is_relevant_even_if_no_word_stands_in_the_text(owner, common, others):
    stored(owner, common, name="wx-99-8871.txt")

    assert search(owner, "wx-99-8871.txt").relevant
    assert search(owner, "wx-99-8871.txt").state.named_documents == {Document.objects.get(title="Antenna work").pk}
    assert not search(owner, "wx-99-8872.txt", mode="bm25").relevant


# ── by folder ───────────────────────────────────────────────────────────────────────────────────


def zipped(**members: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        for name, text in members.items():
            made.writestr(name.replace("__", "/") + ".txt", text)
    return target.getvalue()


@pytest.fixture
def archive(owner, common, others):
    content = zipped(
        Support__5G__Handover__cause="Tilt the antenna.",
        Support__5G__Handover__remedy="Measure the level.",
        Support__4G__cable="Check the cable.",
        技术支持__切换__原因="检查天线。",
    )
    scope = scope_of(owner)
    done = archive_upload(scope=scope, actor=owner, sets=[common.pk], name="field_docs.zip", content=content)
    run_job(done.job.pk)


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Support/5G/Handover", {"cause", "remedy"}),
        ("5g/handover/", {"cause", "remedy"}),
        ("Support\\5G", {"cause", "remedy"}),
        ("Support/5G/Handover/remedy.txt", {"remedy"}),
        ("Which cables are in Support/4G?", {"cable"}),
        ("技术支持/切换", {"原因"}),
        ("技术支持/切换里有什么？", {"原因"}),
        ("field_docs.zip", {"cause", "remedy", "cable", "原因"}),
    ],
)
def test_who_types_a_folder_finds_its_documents_first(owner, asked, found):
    assert set(titles(owner, asked)[: len(found)]) == found


@pytest.mark.usefixtures("archive")
def test_folder_names_in_plain_words_find_its_documents(owner):
    assert {"cause", "remedy"} <= set(titles(owner, "Handover 5G Support", top_k=5))


def test_the_api_and_addresses_give_names_too(owner, common, others):
    stored(owner, common, name="page.txt", title="by id", text="One.", external_id="RAN/tickets/CASE-7712")
    stored(
        owner, common, name="p.txt", title="by address", text="Two.", external_id="https://wiki.test/ran/Tilt%20plan"
    )

    assert titles(owner, "CASE-7712")[0] == "by id"
    assert titles(owner, "RAN/tickets")[0] == "by id"
    assert titles(owner, "https://wiki.test/ran/Tilt plan")[0] == "by address"
    assert titles(owner, "https://wiki.test/ran/Tilt%20plan")[0] == "by address"


# ── rights ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("asked", ["secret_plan_77.txt", "secret plan 77", "Vault/2031", "plan 77"])
def test_who_may_not_see_a_document_does_not_find_it_by_its_name(owner, common, others, asked):
    hidden = make_set("hidden", owners=[owner], visibility="members")
    stored(owner, hidden, name="secret_plan_77.txt", title="hidden", external_id="Vault/2031/secret_plan_77.txt")
    reader = make_user(clearance=0)

    assert "hidden" in titles(owner, asked)
    assert "hidden" not in titles(reader, asked)
    assert search(reader, asked).state.names == {}


def test_clearance_filters_sets_and_deletion_hold_for_names(owner, common, others):
    other = make_set("other", owners=[owner])
    document = stored(owner, other, name="wx-99-8871.txt", clearance=2, tags=["field"])
    low = make_user(clearance=1)

    assert titles(low, "wx-99-8871.txt") != titles(owner, "wx-99-8871.txt")
    assert "Antenna work" not in titles(low, "wx-99-8871.txt")
    assert "Antenna work" not in titles(owner, "wx-99-8871.txt", sets=(common.pk,))
    assert titles(owner, "wx-99-8871.txt", filters=Filters(tags=("field",))) == ["Antenna work"]
    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)
    assert "Antenna work" not in titles(owner, "wx-99-8871.txt")


def test_another_tenant_has_names_of_its_own(owner, common, others):
    stranger = make_user(tenant=make_tenant())
    stored(owner, common, name="wx-99-8871.txt")

    assert titles(stranger, "wx-99-8871.txt") == []


# ── ordinary questions ──────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("mode", ["hybrid", "bm25", "vector"])
@pytest.mark.parametrize("question", ORDINARY)
def test_an_ordinary_question_has_the_same_scores_with_and_without_names(owner, common, mode, question):
    stored(owner, common, name="handover_support_desk_release.txt", external_id="antenna/38321/切换失败/x.txt")

    with_names = search(owner, question, mode=mode).state
    DocumentNames.objects.all().delete()
    without = search(owner, question, mode=mode).state

    assert [(c.chunk, dict(c.scores)) for c in with_names.candidates] == [
        (c.chunk, dict(c.scores)) for c in without.candidates
    ]


@pytest.mark.usefixtures("others")
def test_a_sentence_costs_no_look_up(owner):
    with CaptureQueriesContext(connection) as asked:
        search(owner, "How does the support desk handle handover?")
    with CaptureQueriesContext(connection) as named:
        search(owner, "support_desk.txt")

    assert not [one for one in asked.captured_queries if "documentnames" in one["sql"]]
    assert [one for one in named.captured_queries if "documentnames" in one["sql"]]


def test_words_that_many_names_have_move_nothing(owner, common):
    rows = {f"Reports/Handover/n{number}": f"Antenna {number} was tilted." for number in range(25)}
    ingest(owner, common, **rows)
    Document.objects.filter(external_id__startswith="Reports").update(title="report")

    assert search(owner, "handover reports").state.names == {}
    assert len(search(owner, "Reports/Handover").state.named_documents) == 25


def test_a_title_that_says_the_same_is_left_to_words(owner, common, others):
    stored(owner, common, name="release_notes_extra.txt", title="Extra release notes")

    assert search(owner, "extra release notes").state.names == {}
    assert search(owner, "release_notes_extra.txt").state.named_documents


# ── renamed and moved ───────────────────────────────────────────────────────────────────────────


def test_a_file_that_is_moved_in_its_folder_is_found_by_its_new_place_only(owner, others, tmp_path, settings):
    settings.SOURCE_FOLDERS = (str(tmp_path),)
    shelf = tmp_path / "shelf"
    (shelf / "Radio" / "Beams").mkdir(parents=True)
    (shelf / "Archive").mkdir()
    file = shelf / "Radio" / "Beams" / "tilt_plan_7.txt"
    file.write_text(TEXT)
    source = folder_source(owner, shelf, options={"delete_missing": True})
    composed(owner, source)
    run_job(run(owner, source).pk)
    before = [titles(owner, asked)[0] for asked in ("Radio/Beams", "tilt_plan_7.txt")]

    file.rename(shelf / "Archive" / "tilt_plan_8.txt")
    run_job(run(owner, source).pk)

    assert before == ["tilt_plan_7", "tilt_plan_7"]
    assert [titles(owner, asked)[0] for asked in ("Archive/tilt_plan_8", "tilt_plan_8.txt")] == ["tilt_plan_8"] * 2
    assert search(owner, "Radio/Beams").state.names == {}
    assert search(owner, "tilt_plan_7.txt").state.named_documents == frozenset()


def composed(owner, source):
    """A set of all documents of the source, which makes them searchable."""
    made = make_set(f"of {source.name}", owners=[owner])
    scope = scope_of(owner)
    set_sources_put(scope=scope, actor=owner, set_id=made.pk, sources=[(source.pk, SourceFilter())])


def hook_event(name):
    return WebhookEvent(event="upsert", external_id="41", title="Antenna work", content=TEXT.encode(), name=name)


def test_a_file_that_is_renamed_under_the_same_id_is_found_by_its_new_name_without_a_new_version(owner, others):
    source = Source.objects.create(tenant=owner.tenant, name="hook", kind=Source.Kind.WEBHOOK, owner=owner)
    composed(owner, source)
    run_job(webhook_events_apply(source=source, events=[hook_event("tilt_plan_7.txt")]).job_id)

    again = webhook_events_apply(source=source, events=[hook_event("tilt_plan_8.txt")])

    assert again.job_id is None
    assert Document.objects.get(source=source).versions.count() == 1
    assert titles(owner, "tilt_plan_8.txt")[0] == "Antenna work"
    assert search(owner, "tilt_plan_7.txt").state.named_documents == frozenset()


def test_a_page_that_sends_the_same_bytes_under_another_name_is_renamed(owner, others, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    headers = {"Content-Type": "text/plain", "Content-Disposition": 'attachment; filename="tilt_plan_7.txt"'}
    pages = {"/get": (200, headers, TEXT.encode())}
    with site(pages) as url:
        source = Source.objects.create(tenant=owner.tenant, name="web", kind="url", location=f"{url}/get", owner=owner)
        composed(owner, source)
        run_job(run(owner, source).pk)
        headers["Content-Disposition"] = 'attachment; filename="tilt_plan_8.txt"'
        run(owner, source)

    document = Document.objects.get(source=source)
    assert document.versions.count() == 1
    assert search(owner, "tilt_plan_8.txt").state.named_documents == {document.pk}
    assert search(owner, "tilt_plan_7.txt").state.named_documents == frozenset()


def test_a_rename_makes_cached_answers_stale_once(owner, common, others):
    document = stored(owner, common, name="wx-99-8871.txt")
    before = CorpusEpoch.objects.get(tenant=owner.tenant).value

    assert document_rename(document_id=document.pk, file_name="wx-99-8872.txt")
    assert not document_rename(document_id=document.pk, file_name="wx-99-8872.txt")

    assert CorpusEpoch.objects.get(tenant=owner.tenant).value == before + 1
    assert titles(owner, "wx-99-8872.txt")[0] == "Antenna work"


def test_who_adds_the_same_bytes_to_a_set_of_their_own_does_not_rename_them(owner, common, others):
    stored(owner, common, name="wx-99-8871.txt")
    other = make_user()
    mine = make_set("mine", owners=[other])

    upload(other, mine, name="zz-11-2233.txt", content=TEXT.encode(), title="Antenna work")

    assert titles(owner, "wx-99-8871.txt")[0] == "Antenna work"
    assert search(owner, "zz-11-2233.txt").state.named_documents == frozenset()
