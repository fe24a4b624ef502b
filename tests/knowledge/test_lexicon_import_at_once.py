"""Whole files are stored, and taken back, with a few statements; lines still meet what earlier lines have done."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconChange, LexiconTerm
from knowledge.services.lexicon import change_undo, term_save
from knowledge.services.lexicon import files as lexicon_files
from knowledge.services.lexicon.file_lines import MOST_FAULTS
from knowledge.services.lexicon.files import lexicon_import
from knowledge.services.lexicon.terms import AT_ONCE, terms_store
from tests.factories import scope_of

MANY = 2 * AT_ONCE + 1
STATEMENTS = 60  # rights, locks, the audit, and some for each AT_ONCE lines; 4 a line would be 4,000


def put(person, home, content, **options):
    return lexicon_import(scope=scope_of(person), actor=person, set_id=home.pk, content=content.encode(), **options)


def undo(person, change_id):
    return change_undo(scope=scope_of(person), actor=person, change_id=change_id)


def names(field="synonyms"):
    return dict(LexiconTerm.objects.values_list("text", field))


@pytest.mark.full
@pytest.mark.django_db
def test_many_lines_take_few_statements_and_so_does_undoing_them(owner, common):
    def file(synonym):
        return "term,synonyms\n" + "".join(f"term {n},{synonym}\n" for n in range(MANY))

    with CaptureQueriesContext(
        connection,
    ) as adding:
        added = put(owner, common, file("a"))
    with CaptureQueriesContext(connection) as changing:
        changed = put(owner, common, file("b"))
    with CaptureQueriesContext(connection) as restoring:
        undo(owner, changed.change_id)
    restored = set(map(tuple, names().values()))
    with CaptureQueriesContext(connection) as removing:
        undo(owner, added.change_id)

    assert (added.added, changed.changed) == (MANY, MANY)
    assert restored == {("a",)}
    assert not LexiconTerm.objects.exists()
    assert [len(one) < STATEMENTS for one in (adding, changing, restoring, removing)] == [True] * 4


@pytest.mark.django_db
def test_each_line_has_its_change_in_the_history_in_the_order_of_the_file(owner, common):
    term_save(scope=scope_of(owner), actor=owner, set_id=common.pk, values={"text": "old", "synonyms": ["was"]})
    LexiconChange.objects.all().delete()

    done = put(owner, common, "term,synonyms\nnew,a\nold,b\nnew,c\nnew,c\nNEW,d\n", file_name="terms.csv")

    assert (done.added, done.changed, done.same) == (1, 3, 1)
    changes = list(LexiconChange.objects.order_by("pk"))
    assert done.change_id == changes[-1].pk
    assert [(one.text, (one.before or {}).get("synonyms"), one.after["synonyms"]) for one in changes] == [
        ("new", None, ["a"]),
        ("old", ["was"], ["b"]),
        ("new", ["a"], ["c"]),
        ("NEW", ["c"], ["d"]),
    ]
    assert {(one.file_name, one.batch, one.author) for one in changes} == {("terms.csv", changes[0].batch, owner)}
    terms = {term.text: term for term in LexiconTerm.objects.all()}
    assert [one.term_id for one in changes] == [terms[name].pk for name in ("NEW", "old", "NEW", "NEW")]
    assert (terms["NEW"].origin, terms["NEW"].author, terms["old"].origin) == ("import", owner, "person")

    assert undo(owner, changes[0].pk) is None
    assert names() == {"old": ["was"]}


@pytest.mark.django_db
def test_a_name_that_somebody_takes_while_the_file_is_read_costs_its_lines_only(owner, common, monkeypatch):
    def store(terms):
        term_save(scope=scope_of(owner), actor=owner, set_id=common.pk, values={"text": "term 3", "synonyms": ["mine"]})
        return terms_store(terms)

    monkeypatch.setattr(lexicon_files, "terms_store", store)
    lines = [f"term {n}," for n in range(9)] + ["term 3,theirs", ","]

    done = put(owner, common, "term,synonyms\n" + "\n".join(lines) + "\n…,\n")

    assert [(fault.line, fault.error.code) for fault in done.faults] == [
        (5, "name_taken"),
        (11, "name_taken"),
        (13, "invalid_term"),
    ]
    assert done.added == 8
    assert names()["term 3"] == ["mine"]
    assert set(names()) == {f"term {n}" for n in range(9)}
    assert LexiconChange.objects.exclude(batch=None).count() == 8


@pytest.mark.django_db
def test_a_line_that_would_get_the_words_of_another_term_is_a_fault(owner, common):
    for long_form in ("", "carrier aggregation"):
        values = {"text": "CA", "long_form": long_form, "synonyms": ["mine"]}
        term_save(scope=scope_of(owner), actor=owner, set_id=common.pk, values=values)

    done = put(owner, common, "term,long_form,synonyms\nCA,ca,taken\n")  # is its own long form: has none

    assert [(fault.line, fault.error.code) for fault in done.faults] == [(2, "name_taken")]
    assert list(LexiconTerm.objects.values_list("synonyms", flat=True)) == [["mine"], ["mine"]]


@pytest.mark.django_db
def test_all_faulty_lines_are_counted_and_the_first_ones_kept(owner, common):
    done = put(owner, common, "term\ngood\n" + "…\n" * 250)

    assert (done.added, done.fault_count, len(done.faults)) == (1, 250, MOST_FAULTS)
    assert [fault.line for fault in done.faults[:2]] == [3, 4]


@pytest.mark.django_db
def test_an_import_is_undone_wholly_or_not_at_all(owner, common):
    done = put(owner, common, "term,synonyms\nalpha,a\nbeta,b\ngamma,c\n")
    term = LexiconTerm.objects.get(text="beta")
    term_save(scope=scope_of(owner), actor=owner, term_id=term.pk, values={"synonyms": ["later"]})

    with pytest.raises(LexiconTermError) as refused:
        undo(owner, done.change_id)

    assert refused.value.reason == "changed"
    assert names() == {"alpha": ["a"], "beta": ["later"], "gamma": ["c"]}
    assert not LexiconChange.objects.exclude(undone=None).exists()
