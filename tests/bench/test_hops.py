import json

import pytest

from bench.hops import Library, asked, report, shared_places
from ragcore.text.tokenise import JiebaTokenizer

CORPUS = [
    {
        "id": "film",
        "title": "Maximum Overdrive",
        "text": "Maximum Overdrive is a film that was shot in Leland in 1986.",
    },
    {"id": "king", "title": "Stephen King", "text": "Stephen King made Maximum Overdrive, his only one."},
    *(
        {"id": f"other{n}", "title": f"Leland {n}", "text": f"The film club of Leland shot pictures in {n}."}
        for n in range(30)
    ),
]
QUESTION = {"id": "q", "text": "Who directed the film that was shot in Leland in 1986?", "type": "bridge/easy"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, CORPUS)), encoding="utf-8")
    rows = [QUESTION, {"id": "unjudged", "text": "Who?"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("q\tfilm\t1\nq\tking\t1\nq\tother0\t0\n", encoding="utf-8")
    return tmp_path


def test_the_second_search_finds_what_the_question_does_not_name(folder):
    (found,) = asked(folder, JiebaTokenizer())

    assert (found.label, found.one, found.two) == ("bridge", False, True)


def test_the_report_counts_questions_and_kinds(folder):
    text = report("small", asked(folder, JiebaTokenizer()))

    assert "| all | 1 | 0.000 | 1.000 | +1.000" in text
    assert "| bridge | " in text


def test_a_query_without_a_known_word_finds_nothing(folder):
    assert Library(folder, JiebaTokenizer()).search("zzz qqq") == []


def test_two_rankings_share_the_places_and_no_document_has_two():
    assert shared_places(list(range(10)), []) == list(range(10))
    assert shared_places(list(range(10)), list(range(3, 13))) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert shared_places([1, 2], [2, 3]) == [1, 2, 3]
