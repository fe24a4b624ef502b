"""The lexicon in the admin: who sees which terms, reviewing, files, publishing, history."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import translation

from knowledge.models import Document, LexiconChange, LexiconTerm, LexiconVersion
from knowledge.services.lexicon import mining_start, term_save
from tests.admin.conftest import make_document, signed_in
from tests.factories import make_admin, make_set, make_tenant, make_user, scope_of
from tests.knowledge.lexicons import lexicon_build
from work.claims import job_claim
from work.models import Job
from work.runner import slice_run
from work.services import work_start

LIST = reverse("admin:knowledge_lexiconterm_changelist")
ADD = reverse("admin:knowledge_lexiconterm_add")
REVIEW = reverse("admin:knowledge_lexiconterm_review")
DECIDE = reverse("admin:knowledge_lexiconterm_decide")
IMPORT = reverse("admin:knowledge_lexiconterm_import")
EXPORT = reverse("admin:knowledge_lexiconterm_export")
HISTORY = reverse("admin:knowledge_lexiconterm_changes")
SCRIPT = {"HTTP_ACCEPT": "application/json"}


def suggest(person, text, score, *, set_id=None, **more):
    values = {"text": text, "status": "candidate"}
    term = term_save(scope=scope_of(person), actor=person, set_id=set_id, values=values)
    LexiconTerm.objects.filter(pk=term.pk).update(score=score, **more)
    return term


def send(client, content, **more):
    return client.post(IMPORT, {"file": SimpleUploadedFile("terms.csv", content), "approve": "on", **more})


def test_a_term_is_added_changed_found_and_deleted(owner, own_set):
    client = signed_in(owner)
    values = {"home": own_set.pk, "text": "CA", "kind": "term", "language": "other", "long_form": "carrier aggregation"}

    added = client.post(
        ADD, {**values, "synonyms": "bonding\n\nbonding", "translations": "载波聚合", "status": "approved"}
    )

    assert added.status_code == 302, added.context["adminform"].errors
    term = LexiconTerm.objects.get()
    assert (term.kind, term.synonyms, term.knowledge_set) == ("abbreviation", ["bonding"], own_set)
    assert "CA" in client.get(LIST, {"q": "carrier"}).content.decode()
    change = reverse("admin:knowledge_lexiconterm_change", args=[term.pk])
    client.post(change, {**values, "synonyms": "", "translations": "", "status": "rejected"})
    term.refresh_from_db()
    assert (term.synonyms, term.status) == ([], "rejected")
    client.post(reverse("admin:knowledge_lexiconterm_delete", args=[term.pk]), {"post": "yes"})
    assert not LexiconTerm.objects.exists()
    assert LexiconChange.objects.count() == 3


def test_what_the_service_refuses_stands_beside_the_field(owner, own_set):
    term_save(scope=scope_of(owner), actor=owner, set_id=own_set.pk, values={"text": "CA"})
    client = signed_in(owner)

    values = {"home": own_set.pk, "kind": "term", "language": "en", "status": "approved"}
    for text, words in (("ca", "already"), ("…", "letter or digit")):
        assert words in client.post(ADD, {**values, "text": text}).content.decode()
    assert LexiconTerm.objects.count() == 1


def test_owners_see_their_sets_and_administrators_the_organisation(owner, own_set, administrator):
    other = make_set(owners=[make_user()])
    for person, set_id, text in (
        (owner, own_set.pk, "mine"),
        (administrator, other.pk, "theirs"),
        (administrator, None, "all"),
    ):
        term_save(scope=scope_of(person), actor=person, set_id=set_id, values={"text": text})

    page = signed_in(owner).get(LIST).content.decode()

    assert ">mine<" in page
    assert ">theirs<" not in page
    assert ">all<" not in page
    assert "the whole organisation" not in page
    everything = signed_in(administrator).get(LIST).content.decode()
    assert all(f">{text}<" in everything for text in ("mine", "theirs", "all"))
    stranger = make_admin(tenant=make_tenant())
    assert ">mine<" not in signed_in(stranger).get(LIST).content.decode()
    assert signed_in(make_user(is_staff=True)).get(LIST).status_code == 403


@pytest.mark.parametrize("address", [REVIEW, IMPORT, EXPORT, HISTORY])
def test_pages_of_a_foreign_lexicon_show_nothing(owner, own_set, address):
    foreign = make_set(owners=[make_user()])
    term_save(scope=scope_of(make_admin()), actor=owner, set_id=foreign.pk, values={"text": "foreign"})

    answer = signed_in(owner).get(address, {"set": foreign.pk})

    assert answer.status_code in (302, 403, 404)


def test_the_queue_begins_with_the_most_doubtful_and_is_worked_off_by_scripts(owner, own_set):
    sure = suggest(owner, "sure", 0.99, set_id=own_set.pk)
    doubtful = suggest(owner, "doubtful", 0.52, set_id=own_set.pk)
    suggest(owner, "confidential", 0.5, set_id=own_set.pk, clearance=4)
    type(owner).objects.filter(pk=owner.pk).update(clearance=1)
    client = signed_in(owner)

    page = client.get(REVIEW, {"set": own_set.pk}).content.decode()
    assert page.index(">doubtful<") < page.index(">sure<")
    assert "confidential" not in page
    done = client.post(DECIDE, {"set": own_set.pk, "term": doubtful.pk, "status": "approved"}, **SCRIPT).json()
    client.post(reverse("admin:knowledge_lexiconterm_undo", args=[done["undo"]]), {"set": own_set.pk}, **SCRIPT)

    assert done["left"] == 1
    assert {t.status for t in LexiconTerm.objects.filter(pk__in=[sure.pk, doubtful.pk])} == {"candidate"}
    assert client.post(DECIDE, {"set": own_set.pk, "term": "x", "status": "approved"}, **SCRIPT).status_code == 409


def test_suggestions_are_filtered_by_the_score_of_the_model(owner, own_set):
    for text, score in (("likely", 0.9), ("unlikely", 0.1), ("unscored", None)):
        suggest(owner, text, 0.5, set_id=own_set.pk, model_score=score)
    client, here = signed_in(owner), {"set": own_set.pk}

    everything = client.get(REVIEW, here).content.decode()
    low = client.get(REVIEW, {**here, "model": "low"}).content.decode()

    assert all(f">{text}<" in everything for text in ("likely", "unlikely", "unscored"))
    assert "Model: 0.90" in everything
    assert ">unlikely<" in low
    assert not any(f">{text}<" in low for text in ("likely", "unscored"))
    assert "1 suggestion is waiting." in low
    assert ">unscored<" in client.get(REVIEW, {**here, "model": "none"}).content.decode()
    assert ">likely<" in client.get(LIST, {**here, "model": "high"}).content.decode()
    exported = client.get(EXPORT, here).content
    assert b"likely,other,term,,,,candidate,0.9\r\n" in exported or b"likely,en,term,,,,candidate,0.9\r\n" in exported
    term = LexiconTerm.objects.get(text="unlikely")
    decided = {**here, "term": term.pk, "status": "rejected"}
    done = client.post(f"{DECIDE}?model=low", decided, **SCRIPT).json()
    assert (done["left"], done["suggested"]) == (0, 2)
    assert client.post(f"{DECIDE}?model=low", decided).url.endswith("&model=low")


def test_a_search_is_started_with_what_is_ticked(owner, own_set):
    client, mine = signed_in(owner), reverse("admin:knowledge_lexiconterm_mine")

    page = client.get(LIST, {"set": own_set.pk}).content.decode()
    client.post(mine, {"set": own_set.pk, "compounds_only": "on"})

    assert "compounds_only" in page
    assert "asks_model" not in page  # there is none
    run = Job.objects.get()
    assert run.arguments == {
        "set_id": own_set.pk, "asks_model": False, "compounds_only": True, "learns_general": False,
    }  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_files_are_read_in_usual_encodings_with_the_faults_of_each_line(owner, own_set, encoding):
    content = "术语,同义词,译文\n波束管理,波束控制|波束治理,beam management\n,leer,\n长" + "长" * 200 + ",,\n"
    client = signed_in(owner)

    page = send(client, content.encode(encoding), set=own_set.pk).content.decode()

    term = LexiconTerm.objects.get()
    assert (term.synonyms, term.translations) == (["波束控制", "波束治理"], ["beam management"])
    assert "1 added, 0 changed, 0 unchanged." in page
    assert all(f'rs-end">{line}</td>' in page for line in (3, 4))
    assert "1 unchanged" in send(client, content.encode(encoding), set=own_set.pk).content.decode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "first line"),
        (b"a,b\n1,2\n", "first line"),
        ("term\nŘízení".encode("cp1250"), "cannot be read"),
        (b"\xff\xff\x00\x80", "cannot be read"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "cannot be read"),
    ],
)
def test_a_file_that_is_none_is_refused(owner, own_set, content, words):
    assert words in send(signed_in(owner), content, set=own_set.pk).content.decode()
    assert not LexiconTerm.objects.exists()


@pytest.mark.parametrize("ending", ["csv", "tsv", "tbx"])
def test_what_is_exported_can_be_imported_again(owner, own_set, ending):
    client = signed_in(owner)
    send(client, b'term,synonyms,long_form\n"a, b",x|y,\nCA,,"carrier ""x"""\n', set=own_set.pk)

    text = client.get(EXPORT, {"set": own_set.pk, "format": ending}).content

    assert "2 unchanged" in send(client, text, set=own_set.pk).content.decode()


def test_what_a_spreadsheet_would_run_is_exported_as_text_and_read_back(owner, own_set):
    client = signed_in(owner)
    send(client, b"term,long_form\n=HYPERLINK(1),+cmd\n", set=own_set.pk)

    text = client.get(EXPORT, {"set": own_set.pk, "format": "csv"}).content

    assert b"'=HYPERLINK(1)" in text
    assert b"'+cmd" in text
    assert "1 unchanged" in send(client, text, set=own_set.pk).content.decode()


def test_publishing_and_going_back_are_in_the_history(owner, own_set):
    client = signed_in(owner)
    send(client, b"term\nalpha beta\n", set=own_set.pk)
    for text in ("gamma delta", "epsilon zeta"):
        client.post(reverse("admin:knowledge_lexiconterm_publish"), {"set": own_set.pk})
        lexicon_build(version_id=LexiconVersion.objects.latest("pk").pk)
        send(client, f"term\n{text}\n".encode(), set=own_set.pk)

    page = client.get(HISTORY, {"set": own_set.pk}).content.decode()
    assert "Restore this version" in page
    first = LexiconVersion.objects.get(number=1)
    client.post(reverse("admin:knowledge_lexiconterm_back", args=[first.pk]), {"set": own_set.pk})
    assert LexiconVersion.objects.get(number=3).entries == first.entries


def test_documents_are_searched_for_terms_with_progress_and_cancelling(owner, own_set):
    document = make_document("notes", own_set)
    document.live_version.markdown = "Carrier Aggregation (CA) is used. Beam Failure Recovery (BFR) is not."
    document.live_version.save()
    client = signed_in(owner)
    mine = reverse("admin:knowledge_lexiconterm_mine")

    client.post(mine, {"set": own_set.pk})
    refused = client.post(mine, {"set": own_set.pk}, **SCRIPT)
    run = Job.objects.get()
    slice_run(job_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.done, run.figures, refused.status_code) == ("done", 1, {"found": 2}, 409)
    page = client.get(LIST, {"set": own_set.pk}).content.decode()
    assert "2 new suggestions" in page
    assert "1 document read" in page
    assert "has changed since" not in page
    later = make_document("later", own_set)
    Document.objects.filter(pk=later.pk).update(state=Document.State.PROCESSING, live_version=None)
    assert (
        "1 document is being processed or has changed since" in client.get(LIST, {"set": own_set.pk}).content.decode()
    )
    client.post(mine, {"set": own_set.pk})
    again = Job.objects.latest("pk")
    client.post(reverse("admin:knowledge_lexiconterm_mine_cancel", args=[again.pk]), {"set": own_set.pk})
    slice_run(job_id=again.pk)
    again.refresh_from_db()
    assert (again.state, LexiconTerm.objects.count()) == ("cancelled", 2)


def test_a_search_can_be_cancelled_while_it_runs_and_begun_again(owner, own_set):
    client = signed_in(owner)
    mine = reverse("admin:knowledge_lexiconterm_mine")
    queue = reverse("admin:knowledge_lexiconterm_review")
    assert "Questions use approved terms once published" in client.get(LIST, {"set": own_set.pk}).content.decode()
    assert "No suggestions are waiting" in client.get(queue, {"set": own_set.pk}).content.decode()
    client.post(mine, {"set": own_set.pk})
    run = job_claim(job_id=Job.objects.get().pk)
    running = client.get(LIST, {"set": own_set.pk}).content.decode()
    assert "The documents are being searched" in client.get(queue, {"set": own_set.pk}).content.decode()

    client.post(reverse("admin:knowledge_lexiconterm_mine_cancel", args=[run.pk]), {"set": own_set.pk})
    page = client.get(LIST, {"set": own_set.pk}).content.decode()
    client.post(mine, {"set": own_set.pk})

    assert f'action="{mine}"' not in running
    assert f'action="{mine}"' in page
    assert list(Job.objects.order_by("pk").values_list("state", flat=True)) == ["cancelled", "queued"]


def test_a_search_of_another_set_or_another_kind_is_not_cancelled(owner, own_set, administrator):
    closed = make_set("closed", owners=[administrator], visibility="members")
    job = mining_start(scope=scope_of(administrator), actor=administrator, set_id=closed.pk)
    client = signed_in(owner)

    of_tenant = work_start(
        kind="knowledge.mine_terms", tenant_id=owner.tenant_id, author=owner, arguments={"set_id": None}
    )

    for pk in (job.pk, of_tenant.job.pk):
        client.post(reverse("admin:knowledge_lexiconterm_mine_cancel", args=[pk]), {"set": own_set.pk})

    assert set(Job.objects.values_list("state", flat=True)) == {"queued"}


def test_a_search_that_breaks_has_failed_and_can_be_begun_again(owner, own_set, monkeypatch):
    make_document("notes", own_set)
    client = signed_in(owner)
    client.post(reverse("admin:knowledge_lexiconterm_mine"), {"set": own_set.pk})
    run = Job.objects.get()

    def break_down(*_a, **_k):
        raise ValueError("a text that nobody expected")

    monkeypatch.setattr("knowledge.jobs.mine_terms.TermMiner", break_down)
    slice_run(job_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.error_code) == ("failed", "internal")
    assert "Search documents for terms" in client.get(LIST, {"set": own_set.pk}).content.decode()


def test_documents_for_named_readers_are_not_searched(owner, own_set):
    from knowledge.models import ReaderList

    document = make_document("notes", own_set)
    document.live_version.markdown = "Carrier Aggregation (CA) is used."
    document.live_version.save()
    document.readers = ReaderList.objects.first() or ReaderList.objects.create(tenant=own_set.tenant)
    document.save()
    client = signed_in(owner)

    client.post(reverse("admin:knowledge_lexiconterm_mine"), {"set": own_set.pk})
    slice_run(job_id=Job.objects.get().pk)

    assert not LexiconTerm.objects.exists()


def test_the_pages_are_chinese_for_chinese_readers(owner, own_set):
    suggest(owner, "x y", 0.5, set_id=own_set.pk)
    client = signed_in(owner)
    with translation.override("zh-hans"):
        pages = [
            client.get(a, {"set": own_set.pk}, HTTP_ACCEPT_LANGUAGE="zh-CN").content.decode()
            for a in (LIST, REVIEW, IMPORT, HISTORY)
        ]

    assert all("词库" in page for page in pages)
    assert all("Term suggestions" not in page for page in pages)
