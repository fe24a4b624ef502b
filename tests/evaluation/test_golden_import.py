"""Reading golden cases from files, and importing them."""

from __future__ import annotations

import csv
import io

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from accounts.services import tenant_ensure_default
from evaluation.errors import InvalidGoldenFileError
from evaluation.models import GoldenCase, GoldenSet
from evaluation.services.golden import golden_import, version_changes, version_keep, version_restore
from evaluation.services.golden_files import GoldenRow, csv_file_lines, golden_file_parse, jsonl_lines, row_of
from tests.factories import ingest, make_set, make_user, scope_of
from tests.migrating import migrations_apply, migrations_unapply


def faults(name: str, text: str) -> list[tuple[int, str]]:
    with pytest.raises(InvalidGoldenFileError) as caught:
        golden_file_parse(name=name, content=text.encode())
    return [(line, fault.message) for line, fault in caught.value.data["faults"]]


def test_csv_values_are_separated_by_bars():
    text = "question,answers,relevant,tags\nWhat?, a | b ,doc-1|doc-2,x\n"

    assert golden_file_parse(name="cases.CSV", content=text.encode()) == [
        GoldenRow(question="What?", answers=("a", "b"), relevant=("doc-1", "doc-2"), tags=("x",))
    ]


def test_csv_of_spreadsheets_with_byte_order_mark_and_quotes_is_read():
    text = '\ufeffquestion,answers\r\n"Line one\nline two?","yes, really"\r\n'

    assert golden_file_parse(name="c.csv", content=text.encode()) == [
        GoldenRow(question="Line one\nline two?", answers=("yes, really",))
    ]


def test_csv_needs_a_known_header():
    assert faults("c.csv", "query,answer\na,b\n")[0][0] == 1


def test_faults_carry_the_line_on_which_they_stand():
    text = '{"question": "a?", "answers": ["x"]}\n\n{"question": "b?"}\n{"question": "c?", "answers": "x"}\n[]\n{\n'

    found = faults("c.jsonl", text)

    assert [line for line, _ in found] == [3, 4, 5, 6]
    assert found[0][1] == "has no expected content (answers, relevant, passages, key_points or refusal)"


def test_unknown_fields_are_named():
    assert faults("c.jsonl", '{"question": "a?", "answers": ["x"], "answer": "x"}') == [
        (1, "has unknown fields: answer")
    ]


def test_a_csv_line_with_too_many_values_is_a_fault():
    assert faults("c.csv", "question,answers\na?,b,c\n") == [(2, "has more values than the header has columns")]


def test_an_empty_file_is_a_fault():
    assert faults("c.jsonl", "\n") == [(1, "holds no case")]


@pytest.mark.parametrize(("encoding", "line"), [("gbk", 2), ("utf-16", 1)])
def test_bytes_that_are_no_utf8_name_their_line(encoding, line):
    with pytest.raises(InvalidGoldenFileError) as caught:
        golden_file_parse(name="c.csv", content="question,answers\n问题？,是\n".encode(encoding))

    assert [(at, fault.message) for at, fault in caught.value.data["faults"]] == [(line, "is not UTF-8 text")]


words = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="|"), min_size=1).map(str.strip)
values = st.lists(words.filter(bool), min_size=1, max_size=3, unique=True).map(tuple)


@given(question=words.filter(bool), answers=values, relevant=values, grade=st.integers(1, 3), refusal=st.booleans())
def test_what_is_written_as_csv_is_read_back(question, answers, relevant, grade, refusal):
    row = GoldenRow(
        question=question,
        answers=answers,
        relevant=relevant,
        grades=(grade, *(2 for _ in relevant[1:])) if grade != 1 else (),
        passages=answers,
        key_points=relevant,
        level="multi_hop",
        target="table",
        structure="several_passages",
        robustness="jargon",
        refusal=refusal,
    )

    (read,) = golden_file_parse(name="c.csv", content="".join(csv_file_lines([row])).encode())

    assert read == row


def test_what_a_case_tests_may_be_left_empty_in_a_table():
    (row,) = golden_file_parse(name="c.csv", content=b"question,answers,target,structure,style\na?,x,, ,\n")

    assert (row.target, row.structure, row.robustness, row.style) == ("", "", "", "original")


def test_what_a_case_tests_does_not_change_what_it_expects():
    plain, marked = GoldenRow(question="a?", answers=("x",)), GoldenRow(question="a?", answers=("x",), target="code")

    assert plain.expectation() == marked.expectation()


@pytest.mark.django_db(transaction=True)
def test_tags_of_what_a_case_tests_become_fields_and_tags_again():
    golden = GoldenSet.objects.create(tenant=tenant_ensure_default(), name="g")
    GoldenCase.objects.create(golden_set=golden, question="a?", target="table", robustness="jargon", tags=["x"])

    migrations_unapply("evaluation", "0025")
    with connection.cursor() as cursor:
        cursor.execute("SELECT tags FROM evaluation_goldencase")
        before = cursor.fetchone()[0]
    migrations_apply("evaluation", "0025")

    case = GoldenCase.objects.get()
    assert before == ["x", "target:table", "robustness:jargon"]
    assert (case.target, case.structure, case.robustness, case.tags) == ("table", "", "jargon", ["x"])


def test_no_cell_of_an_exported_csv_is_a_formula_and_reading_takes_the_guard_away():
    rows = [
        GoldenRow(question="=HYPERLINK(1)", answers=("+1", "x|y\\"), relevant=("@a",)),
        GoldenRow(question="'=1", answers=(" b",)),
    ]

    text = "".join(csv_file_lines(rows))
    cells = [cell for line in csv.reader(io.StringIO(text.lstrip("\ufeff"))) for cell in line]

    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@"))]
    read = golden_file_parse(name="c.csv", content=text.encode())
    assert [row.question for row in read] == ["=HYPERLINK(1)", "'=1"]
    assert read[0].answers == ("+1", "x|y\\")


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"question": "a?", "relevant": ["x", "y"], "grades": [1]}', "has grades that are not one number from 1 to 3"),
        ('{"question": "a?", "relevant": ["x"], "grades": [true]}', "has grades that are not one number from 1 to 3"),
        ('{"question": "a?", "relevant": ["x"], "level": "hard"}', "has a level that is none of: single, multi_hop"),
        (
            '{"question": "a?", "relevant": ["x"], "target": "film"}',
            "has a target that is none of: text, table, figure",
        ),
        ('{"question": "a?", "refusal": "maybe"}', "has a refusal that is none of: yes, no"),
        ('{"question": "a\\u0000?", "answers": ["x"]}', "has question with characters that cannot be stored"),
        ('{"question": "a?", "answers": ["\\ud800"]}', "has answers with characters that cannot be stored"),
    ],
)
def test_values_that_cannot_be_used_are_faults_of_their_line(line, fault):
    ((number, message),) = faults("c.jsonl", line)

    assert number == 1
    assert message.startswith(fault)


def test_cells_of_any_length_and_columns_given_twice_are_faults_too():
    assert faults("c.csv", "question,question\na?,b\n")[0][0] == 1
    assert "is not valid CSV" in faults("c.csv", f"question,answers\na?,{'x' * 1_000_001}\n")[0][1]
    assert "more than 4000 characters" in faults("c.csv", f"question,answers\na?,{'x' * 200_000}\n")[0][1]
    assert "is not valid JSON" in faults("c.jsonl", "[" * 100_000)[0][1]


def test_importing_twice_adds_nothing_and_a_changed_case_is_updated(db):
    tenant, row = tenant_ensure_default(), GoldenRow(question="a?", answers=("x",))

    first = golden_import(tenant=tenant, name="g", rows=[row, GoldenRow(question="b?", answers=("y",))])
    again = golden_import(tenant=tenant, name="g", rows=[row])
    changed = golden_import(tenant=tenant, name="g", rows=[GoldenRow(question="a?", answers=("z",))])

    assert (first.added, first.updated) == (2, 0)
    assert (again.added, again.updated) == (0, 0)
    assert (changed.added, changed.updated) == (0, 1)
    assert GoldenSet.objects.get().cases.get(question="a?").answers == ["z"]


def test_an_export_can_be_imported_again(db):
    rows = [
        GoldenRow(
            question="切片？",
            answers=("SST",),
            relevant=("#7", "x"),
            grades=(3, 1),
            passages=("a slice",),
            passage_grades=(2,),
            key_points=("SST", "SD"),
            style="summarised",
            level="multi_hop",
            tags=("t",),
        ),
        GoldenRow(question="Who won?", refusal=True),
    ]
    golden_set = golden_import(tenant=tenant_ensure_default(), name="g", rows=rows).golden_set
    stored = [row_of(case) for case in golden_set.cases.order_by("id")]

    assert stored == rows
    assert golden_file_parse(name="g.jsonl", content="".join(jsonl_lines(stored)).encode()) == rows
    assert golden_file_parse(name="g.csv", content="".join(csv_file_lines(stored)).encode()) == rows


def test_versions_say_what_changed_and_can_be_restored(db):
    tenant, actor = tenant_ensure_default(), make_user()
    first = [GoldenRow(question="a?", answers=("x",)), GoldenRow(question="b?", answers=("y",))]
    golden_set = golden_import(tenant=tenant, name="g", rows=first).golden_set
    golden_set.cases.filter(question="b?").delete()
    golden_import(tenant=tenant, name="g", rows=[GoldenRow(question="a?", answers=("z",))])

    changes = version_changes(list(golden_set.versions.all()))
    assert [(c.version.number, c.total, c.added, c.changed, c.removed) for c in changes] == [
        (4, 1, 0, 1, 0),
        (3, 1, 0, 0, 1),
        (2, 2, 2, 0, 0),
        (1, 0, 0, 0, 0),
    ]
    assert version_keep(golden_set=golden_set).number == 4  # nothing has changed since

    kept = version_restore(scope=scope_of(actor), version=golden_set.versions.get(number=2), actor=actor)

    assert [row_of(case) for case in golden_set.cases.order_by("question")] == first
    assert (kept.number, kept.note) == (5, "v2")


def test_restoring_leaves_cases_of_documents_that_one_may_not_open_as_they_are(db):
    tenant, boss, judge = tenant_ensure_default(), make_user(), make_user(clearance=0)
    ingest(boss, make_set(owners=[boss]), clearance=3, secret="The site closes in May.")
    open_case, closed, gone = (
        GoldenRow(question=q, answers=("x",), relevant=r)
        for q, r in (("open?", ()), ("closed?", ("secret",)), ("gone?", ("secret",)))
    )
    golden_set = golden_import(tenant=tenant, name="g", rows=[open_case, closed, gone]).golden_set
    golden_set.cases.filter(question="gone?").delete()
    golden_set.cases.update(answers=["later"])
    golden_set.cases.create(question="fresh?", answers=["x"])
    golden_set.cases.create(question="fresh and closed?", answers=["x"], relevant=["secret"])
    first = golden_set.versions.get(number=2)

    version_restore(scope=scope_of(judge), version=first, actor=judge)

    answers = dict(golden_set.cases.values_list("question", "answers"))
    assert answers == {"open?": ["x"], "closed?": ["later"], "fresh and closed?": ["x"]}
    version_restore(scope=scope_of(boss), version=first, actor=boss)
    assert set(golden_set.cases.values_list("question", flat=True)) == {"open?", "closed?", "gone?"}
