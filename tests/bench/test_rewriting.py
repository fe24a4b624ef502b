"""The tables of `make bench-rewriting`, and the measures behind them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.rewriting.__main__ import conversation_table
from bench.rewriting.files import conversations, retrieval_questions, rewriting_files
from bench.rewriting.retrieval import run
from bench.rewriting.scores import bleu, compared, counts, exact
from ragcore.types.answering import Turn

ROWS = [
    {"history": ["随机接入是什么", "一种过程"], "question": "它有什么关键技术", "rewrite": "随机接入有什么关键技术"},
    {"history": ["4G的峰值速率是多少", "1 Gbit/s"], "question": "那5G呢", "rewrite": "5G的峰值速率是多少？"},
    {"history": ["载波聚合是什么", "聚合载波"], "question": "什么时候引入的", "rewrite": "载波聚合是从哪个版本开始的"},
]


def written(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def cells(table):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_a_file_of_conversations_gives_a_row(tmp_path):
    written(tmp_path / "zh.jsonl", ROWS)
    written(tmp_path / "notes.jsonl", [{"text": "no conversation"}])

    (row,) = cells(conversation_table([tmp_path]))

    assert row[:5] == ["zh", "3", "3", "0.667", "0.000"]
    assert float(row[6]) > float(row[7])


def test_questions_alone_are_told_from_questions_with_answers(tmp_path):
    mixed = written(
        tmp_path / "mixed.jsonl",
        [
            {"history": ["A?"], "question": "B?", "rewrite": "x"},
            {"history": ["A?", "B?"], "question": "C?", "rewrite": "x"},
            {"history": ["D?", "[system] An answer."], "question": "E?", "rewrite": "x"},
        ],
    )

    assert [one.history for one in conversations(mixed)] == [
        (Turn(question="A?"),),
        (Turn(question="A?"), Turn(question="B?")),
        (Turn(question="D?", answer="An answer."),),
    ]
    assert rewriting_files(tmp_path) == [mixed]


def test_speakers_become_turns(tmp_path):
    said = [{"speaker": "agent", "text": "Hi"}, {"speaker": "user", "text": "A?"}, {"speaker": "agent", "text": "B"}]
    written(tmp_path / "queries.jsonl", [{"id": 7, "text": "C?", "history": said}])

    (one,) = retrieval_questions(tmp_path)

    assert one.history == (Turn(question="", answer="Hi"), Turn(question="A?", answer="B"))
    assert (one.text, one.wanted) == ("C?", "7")


def test_exact_match_looks_at_words_only():
    assert exact("What is TCP", "what is TCP?")
    assert exact("随机 接入是什么", "随机接入是什么。")
    assert not exact("What is UDP?", "What is TCP?")


def test_bleu_is_that_of_the_paper():
    # five of six words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 of four; lengths are equal
    row = counts("the cat sat on the mat", "the cat sat on a mat")

    assert row == [6.0, 6.0, 5.0, 6.0, 3.0, 5.0, 2.0, 4.0, 1.0, 3.0]
    assert bleu_of("the cat sat on the mat", "the cat sat on a mat") == pytest.approx(53.7285, abs=1e-3)


def bleu_of(text, reference):
    return bleu(np.array(counts(text, reference)))


@given(words=st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=4, max_size=12))
def test_the_reference_itself_is_perfect_and_a_shorter_text_is_not(words):
    text = " ".join(words)

    assert bleu_of(text, text) == pytest.approx(100)
    if len(words) > 4:
        assert bleu_of(" ".join(words[:-1]), text) < 100


def test_a_difference_has_an_interval_around_it():
    references = [f"what is the price of unit {n}" for n in range(30)]
    found = compared(references, [text.replace("unit", "it") for text in references], references)

    assert (found.exact, found.exact_copied) == (1.0, 0.0)
    assert 0 < found.bleu_gain.low <= found.bleu_gain.value <= found.bleu_gain.high


@pytest.mark.full
@pytest.mark.django_db
def test_a_retrieval_set_with_histories_gives_a_row_for_every_arm(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    texts = {"a": "The backoff timer of random access lasts 20 ms.", "b": "The antenna has four ports and a timer."}
    written(folder / "corpus.jsonl", [{"id": name, "text": text} for name, text in texts.items()])
    history = [{"speaker": "user", "text": "What is random access?"}, {"speaker": "agent", "text": "A procedure."}]
    written(folder / "queries.jsonl", [{"id": "q", "text": "How long is its timer?", "history": history}])
    (folder / "qrels.tsv").write_text("q\ta\t1\n")

    table = cells(run(folders=[folder], limit=5))

    assert [row[1] for row in table] == ["the last turn", "its standalone form", "and the form with context"]
    assert table[-1][4].startswith("1.000")
