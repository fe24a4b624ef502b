"""Lexicons as CSV and TSV: what their heads, cells and quotation marks mean, and what is a fault."""

import pytest
from django.utils import translation

from accounts.error_messages import error_message
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconTerm
from knowledge.services.lexicon.files import entries_of, lexicon_import
from knowledge.services.lexicon.tables import CHOICES
from knowledge.services.lexicon.terms import checked_values
from tests.factories import scope_of


def read(text):
    return list(entries_of(text.encode()))


def only(text):
    ((_line, values),) = read(text)
    return values


def reason_of(text):
    """Of a file that is refused as a whole."""
    with pytest.raises(LexiconTermError) as refused:
        read(text)
    return refused.value


# ── columns ─────────────────────────────────────────────────────────────────────────────────────


def test_an_abbreviation_beside_the_term_becomes_the_term_and_the_term_its_long_form():
    values = only("术语,缩写,译文\n载波聚合,CA,carrier aggregation\n")

    assert values == {
        "text": "CA",
        "kind": "abbreviation",
        "long_form": "载波聚合",
        "translations": ["carrier aggregation"],
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("载波聚合,,", {"text": "载波聚合"}),
        (",CA,", {"text": "CA", "kind": "abbreviation"}),
        ("CA,CA,", {"text": "CA", "kind": "abbreviation", "long_form": "CA"}),
        (
            "载波聚合,CA,carrier aggregation",
            {"text": "CA", "kind": "abbreviation", "long_form": "carrier aggregation", "synonyms": ["载波聚合"]},
        ),
        (
            "Carrier Aggregation,CA,carrier aggregation",
            {"text": "CA", "kind": "abbreviation", "long_form": "carrier aggregation"},
        ),
        (",CA,carrier aggregation", {"text": "CA", "kind": "abbreviation", "long_form": "carrier aggregation"}),
    ],
)
def test_nothing_is_lost_of_a_term_an_abbreviation_and_a_long_form(line, expected):
    assert only(f"术语,缩写,全称\n{line}\n") == expected


def test_a_column_of_abbreviations_alone_is_that_of_the_terms():
    assert only("缩写,全称\nCA,载波聚合\n") == {"text": "CA", "long_form": "载波聚合"}


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("term,术语", ("term", "术语")),
        ("术语,译文, 翻译 ", ("译文", "翻译")),
        ("Abbreviation,缩写", ("Abbreviation", "缩写")),
        ("术语,缩写,abbreviation", ("缩写", "abbreviation")),
        ("term,Status,状态", ("Status", "状态")),
    ],
)
def test_two_columns_of_one_meaning_are_refused_by_their_names(head, names):
    error = reason_of(f"{head}\na,b,c\n")

    assert (error.reason, error.data["first"], error.data["second"]) == ("column_twice", *names)
    assert all(f"'{name}'" in error_message(error) for name in names)


def test_columns_that_are_not_read_may_have_one_name():
    assert only("note,term,note,,\na,CA,b,,\n") == {"text": "CA"}


def test_a_line_with_more_cells_than_columns_is_a_fault():
    good, fault, quoted, empty = read(
        'term,translations\nCA,carrier\nCC,component carrier, secondary\nCC,"component carrier, secondary"\nCE,x,, \n'
    )

    assert [line for line, _values in (good, fault, quoted, empty)] == [2, 3, 4, 5]
    assert fault[1].reason == "cells"
    assert quoted[1] == {"text": "CC", "translations": ["component carrier, secondary"]}
    assert empty[1] == {"text": "CE", "translations": ["x"]}


# ── quotation marks and lines ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('term,synonyms\nalpha,\n"beta,\ngamma,\ndelta,\n', 3),  # swallowed gamma and delta
        ('term,synonyms\nalpha,\n\n"beta,\ngamma,"x"\n', 4),
        ('term\n"alpha"x\n', 2),
    ],
)
def test_a_quotation_mark_that_does_not_close_is_refused_with_its_line(text, line):
    error = reason_of(text)

    assert (error.reason, error.data) == ("quotes", {"line": line})
    assert f"line {line}" in error_message(error)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_break_in_a_name_is_a_fault_of_its_first_line(end):
    lines = ["term,synonyms", "alpha,", '"beta,', "gamma,", 'delta",x', '"zeta', '",', "omega,", 'last,"a', 'b"']

    found = read(end.join(lines) + end)

    assert [line for line, _entry in found] == [2, 3, 6, 8, 9]
    assert [entry["text"] for _line, entry in found if isinstance(entry, dict)] == ["alpha", "zeta", "omega"]
    faults = [entry for _line, entry in found if isinstance(entry, LexiconTermError)]
    assert [(fault.reason, fault.data) for fault in faults] == [
        ("line_break", {"text": "beta,", "last": 5}),
        ("line_break", {"text": "a", "last": 10}),
    ]


def test_a_note_that_is_not_read_may_have_line_breaks():
    assert read('term,note\nalpha,"a\nb"\nbeta,\n') == [(2, {"text": "alpha"}), (4, {"text": "beta"})]


# ── values ──────────────────────────────────────────────────────────────────────────────────────


def test_values_are_read_as_either_language_of_the_interface_shows_them():
    text = "术语,语言,类型,状态\n波束管理,中文,术语,已批准\nCA,English,Abbreviation,Suggested\nx,EN,name,rejected\n"

    assert [[values[name] for name in ("language", "kind", "status")] for _line, values in read(text)] == [
        ["zh", "term", "approved"],
        ["en", "abbreviation", "candidate"],
        ["en", "name", "rejected"],
    ]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("column", CHOICES)
def test_every_value_of_the_pages_is_read_and_another_is_refused_by_the_label_of_its_column(column, language):
    with translation.override(language):
        labels = {value: str(label) for value, label in CHOICES[column].choices}
        read_again = {value: only(f"term,{column}\nx y,{label}\n")[column] for value, label in labels.items()}
        with pytest.raises(LexiconTermError) as refused:
            checked_values(only(f"term,{column}\nx y,foo\n"))
        words = error_message(refused.value)
        heading = str(LexiconTerm._meta.get_field(column).verbose_name)

    assert read_again == {value: value for value in labels}
    assert "foo" in words
    assert heading in words
    assert all(label.lower() in words.lower() for label in labels.values())


@pytest.mark.django_db
def test_a_chinese_list_is_taken_and_the_faults_of_its_lines_are_told(owner, common):
    content = "术语,缩写,类型,状态\n载波聚合,CA,缩写,已批准\n波束管理,,术语,待定\n小区,,,,更多\n"

    done = lexicon_import(scope=scope_of(owner), actor=owner, set_id=common.pk, content=content.encode("gb18030"))

    term = LexiconTerm.objects.get()
    assert (term.text, term.long_form, term.kind, term.status) == ("CA", "载波聚合", "abbreviation", "approved")
    assert [(fault.line, fault.error.reason) for fault in done.faults] == [(3, "status"), (4, "cells")]
