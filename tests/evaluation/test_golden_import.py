"""Reading golden cases from files, and importing them."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.services import tenant_ensure_default
from evaluation.errors import InvalidGoldenFileError
from evaluation.models import GoldenSet
from evaluation.services.golden import GoldenRow, golden_export, golden_file_parse, golden_import


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
    assert found[0][1] == "has neither answers nor relevant documents"


def test_unknown_fields_are_named():
    assert faults("c.jsonl", '{"question": "a?", "answers": ["x"], "answer": "x"}') == [
        (1, "has unknown fields: answer")
    ]


def test_a_csv_line_with_too_many_values_is_a_fault():
    assert faults("c.csv", "question,answers\na?,b,c\n") == [(2, "has more values than the header has columns")]


def test_an_empty_file_is_a_fault():
    assert faults("c.jsonl", "\n") == [(1, "holds no case")]


def test_bytes_that_are_no_utf8_name_their_line():
    with pytest.raises(InvalidGoldenFileError) as caught:
        golden_file_parse(name="c.csv", content="question,answers\n问题？,是\n".encode("gbk"))

    assert [(line, fault.message) for line, fault in caught.value.data["faults"]] == [(2, "is not UTF-8 text")]


words = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="|"), min_size=1).map(str.strip)
values = st.lists(words.filter(bool), min_size=1, max_size=3, unique=True).map(tuple)


@given(question=words.filter(bool), answers=values, relevant=values)
def test_what_is_written_as_csv_is_read_back(question, answers, relevant):
    file = io.StringIO()
    csv.writer(file).writerows([["question", "answers", "relevant"], [question, "|".join(answers), "|".join(relevant)]])

    (row,) = golden_file_parse(name="c.csv", content=file.getvalue().encode())

    assert row == GoldenRow(question=question, answers=answers, relevant=relevant)


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
    rows = [GoldenRow(question="切片？", answers=("SST",), relevant=("#7",), tags=("t",))]
    golden_set = golden_import(tenant=tenant_ensure_default(), name="g", rows=rows).golden_set

    exported = "".join(golden_export(golden_set=golden_set))

    assert golden_file_parse(name="g.jsonl", content=exported.encode()) == rows
