"""History of a lexicon: what was done at once is one row, every change can be reached, and how a search ended."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import translation

from knowledge.admin.lexicon_history import NAMED, ROWS
from knowledge.models import LexiconChange, LexiconTerm
from knowledge.services.lexicon import mining_start, term_save, terms_decide
from tests.admin.conftest import signed_in
from tests.factories import make_set, make_user, scope_of
from work.models import Job

LIST = reverse("admin:knowledge_lexiconterm_changelist")
HISTORY = reverse("admin:knowledge_lexiconterm_changes")


def undo_of(change):
    return reverse("admin:knowledge_lexiconterm_undo", args=[change.pk])


def save(person, home, text, **values):
    return term_save(scope=scope_of(person), actor=person, set_id=home.pk, values={"text": text, **values})


def send(client, home, *names):
    content = "\n".join(("term", *names)).encode()
    file = SimpleUploadedFile("terms.csv", content)
    client.post(reverse("admin:knowledge_lexiconterm_import"), {"file": file, "set": home.pk})


def shown(client, home, **more):
    return client.get(HISTORY, {"set": home.pk, **more}).content.decode()


def rows_of(page):
    """The texts of the rows of changes."""
    table = page.partition('id="changes"')[2]
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2], re.S)
    return [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]


def test_an_import_is_one_row_that_hides_no_earlier_change(owner, own_set):
    client = signed_in(owner)
    save(owner, own_set, "earlier")
    send(client, own_set, *(f"term {n:03}" for n in range(120)))

    found = rows_of(shown(client, own_set))

    assert len(found) == 2
    assert found[0].startswith("120 terms terms.csv term 000, term 001, ")
    assert f"term {NAMED - 1:03}, … added" in found[0]
    assert "Undo: 120 terms" in found[0]
    assert found[1].startswith("earlier added")
    client.post(undo_of(LexiconChange.objects.latest("pk")), {"set": own_set.pk})
    assert [term.text for term in LexiconTerm.objects.all()] == ["earlier"]
    assert "undone" in rows_of(shown(client, own_set))[0]


def test_every_change_of_an_import_can_be_looked_at(owner, own_set):
    client = signed_in(owner)
    send(client, own_set, *(f"term {n:03}" for n in range(ROWS + 1)))
    batch = LexiconChange.objects.latest("pk").batch

    pages = [rows_of(shown(client, own_set, batch=batch, page=number)) for number in (1, 2)]

    assert f"batch={batch}" in shown(client, own_set)
    assert [len(found) for found in pages] == [ROWS, 1]
    assert pages[1][0].startswith(f"term {ROWS:03} added")
    assert "Undo" not in pages[0][0]
    assert f"Undo: {ROWS + 1} terms" in shown(client, own_set, batch=batch)


def test_older_changes_are_on_the_next_page(owner, own_set):
    for n in range(ROWS + 1):
        save(owner, own_set, f"term {n:03}")
    client = signed_in(owner)

    first, second = (shown(client, own_set, page=number) for number in (1, 2))

    assert (len(rows_of(first)), len(rows_of(second))) == (ROWS, 1)
    assert "page=2" in first
    assert rows_of(second)[0].startswith("term 000 added")


def test_terms_that_are_deleted_together_come_back_together(owner, own_set):
    client = signed_in(owner)
    ids = [save(owner, own_set, f"term {letter}").pk for letter in "abc"]
    act = {"action": "delete_selected", "_selected_action": ids, "post": "yes"}

    client.post(LIST, act)

    assert not LexiconTerm.objects.exists()
    assert rows_of(shown(client, own_set))[0].startswith("3 terms term a, term b, term c deleted")
    client.post(undo_of(LexiconChange.objects.latest("pk")), {"set": own_set.pk})
    assert LexiconTerm.objects.count() == 3


def test_a_change_says_what_was_changed(owner, own_set):
    term = save(owner, own_set, "CA", synonyms=["bonding"])
    values = {"synonyms": [], "translations": ["载波聚合"], "status": "rejected"}
    term_save(scope=scope_of(owner), actor=owner, term_id=term.pk, values=values)

    [row, added] = rows_of(shown(signed_in(owner), own_set))

    assert "Synonyms: bonding → –; Translations: – → 载波聚合; Status: Approved → Rejected" in row
    assert "added" in added


def test_a_decision_about_several_says_which_and_an_import_how_many_were_new(owner, own_set):
    terms = [save(owner, own_set, text, status="candidate") for text in ("alpha", "beta")]
    ids = [term.pk for term in terms]
    terms_decide(scope=scope_of(owner), actor=owner, term_ids=ids, status="approved")
    client = signed_in(owner)
    file = SimpleUploadedFile("terms.csv", b"term,synonyms\nalpha,first\ngamma,\n")
    client.post(reverse("admin:knowledge_lexiconterm_import"), {"file": file, "set": own_set.pk})

    imported, decided, *_others = rows_of(shown(client, own_set))

    assert imported.startswith("2 terms terms.csv alpha, gamma 1 added, 1 changed")
    assert decided.startswith("2 terms alpha, beta Suggested → Approved")


def test_the_button_counts_terms_of_other_lexicons_that_come_back_with_it(owner, own_set):
    other = make_set("second", owners=[owner])
    ids = [save(owner, home, "beam", status="candidate").pk for home in (own_set, other)]
    terms_decide(scope=scope_of(owner), actor=owner, term_ids=ids, status="approved")

    row = rows_of(shown(signed_in(owner), own_set))[0]

    assert row.startswith("1 term beam")
    assert "Undo: 2 terms" in row


def test_a_batch_shows_only_terms_up_to_the_clearance(owner, own_set):
    ids = [save(owner, own_set, text, status="candidate").pk for text in ("open", "confidential")]
    LexiconTerm.objects.filter(text="confidential").update(clearance=3)
    terms_decide(scope=scope_of(owner), actor=owner, term_ids=ids, status="approved")
    LexiconChange.objects.filter(text="confidential", batch=None).delete()  # it was not confidential then
    editor = make_user(clearance=1, is_staff=True)
    own_set.owners.add(editor)
    client = signed_in(editor)

    pages = [shown(client, own_set), shown(client, own_set, batch=LexiconChange.objects.latest("pk").batch)]

    assert all("open" in page and "confidential" not in page for page in pages)
    assert shown(client, own_set, batch="no batch").count("<tr>") == pages[0].count("<tr>")


def test_a_search_that_failed_says_why_and_one_that_waits_says_so(owner, own_set):
    client = signed_in(owner)
    run = mining_start(scope=scope_of(owner), actor=owner, set_id=own_set.pk)

    waiting = client.get(LIST, {"set": own_set.pk}).content.decode()
    Job.objects.filter(pk=run.pk).update(state="failed", error_code="interrupted")
    failed = client.get(LIST, {"set": own_set.pk}).content.decode()
    Job.objects.filter(pk=run.pk).update(error_code="internal")
    broken = client.get(LIST, {"set": own_set.pk}).content.decode()

    assert "Search for terms: Waiting" in waiting
    assert "Failed: It was interrupted repeatedly." in failed
    assert "Failed: Something went wrong. It has been logged." in broken


def test_where_the_search_of_the_organisation_is_begun_stands_what_it_reads(administrator, own_set):
    client = signed_in(administrator)
    words = "only knowledge sets that are open to everyone"

    assert words in client.get(LIST, {"set": 0}).content.decode()
    assert words not in client.get(LIST, {"set": own_set.pk}).content.decode()


@pytest.mark.parametrize("batched", [False, True])
def test_the_history_is_chinese_for_chinese_readers(owner, own_set, batched):
    client = signed_in(owner)
    send(client, own_set, "alpha", "beta")
    more = {"batch": LexiconChange.objects.latest("pk").batch} if batched else {}

    with translation.override("zh-hans"):
        page = client.get(HISTORY, {"set": own_set.pk, **more}, HTTP_ACCEPT_LANGUAGE="zh-CN").content.decode()

    assert "撤销：2 个术语" in page
    assert not re.search(r"terms\b(?!\.csv)|added|Undo", "".join(rows_of(page)))
