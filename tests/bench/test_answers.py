"""The benchmark of answers without a language model, on a set made here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from bench.answers import __main__ as answers
from bench.answers.measure import length_of, outcome_of
from ragcore.answerability.features import FEATURES
from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training import __main__ as training
from ragcore.training.answer_sets import SetQuestion, answer_set, half_of
from ragcore.training.refusal_training import (
    ALIGNED,
    RATES,
    Judged,
    aligned,
    refusals_fit,
    refused,
    scores,
    threshold_curve,
)
from ragcore.training.sentence_training import SentenceList, first_right, sentence_list, sentences_fit

TOKENIZER = JiebaTokenizer()
TOWNS = {"Ulm": 1987, "Kiel": 1991, "Bonn": 1964, "Jena": 2003, "Hof": 1972, "Trier": 1958}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six towns with a mast each; one question without an answer."""
    rows = [
        {"id": t, "title": t, "text": f"The mast stands in {t}. The mast of {t} was built in {y}. It is red."}
        for t, y in TOWNS.items()
    ]
    queries = [
        {"id": f"q{t}", "text": f"When was the mast of {t} built?", "answers": [str(y)]} for t, y in TOWNS.items()
    ]
    _lines(tmp_path / "corpus.jsonl", rows)
    _lines(tmp_path / "queries.jsonl", queries)
    _lines(tmp_path / "unanswerable.jsonl", [{"id": "u", "text": "How deep is the well of Passau?"}])
    (tmp_path / "qrels.tsv").write_text("".join(f"q{t}\t{t}\t1\n" for t in TOWNS), encoding="utf-8")
    return tmp_path


def _lines(path: Path, rows: list[dict]) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")


@pytest.fixture
def data(folder: Path):
    return answer_set(folder, tokenizer=TOKENIZER, counter=counter())


def test_the_sources_of_a_question_begin_with_the_passage_that_answers(data):
    sources = data.ranking.sources("When was the mast of Jena built?")

    assert sources[0].passage.external_id == "Jena"
    assert [source.number for source in sources] == list(range(1, len(sources) + 1))


def test_a_robbed_question_misses_its_documents_and_no_other(data):
    sources = data.ranking.sources("When was the mast of Jena built?", without=frozenset({"Jena"}))

    assert {source.passage.external_id for source in sources} == set(TOWNS) - {"Jena"}


def test_an_outcome_says_what_the_text_contains_and_cites(data):
    class Says:
        def blocks(self, request):
            return [self.text]

    asked = SetQuestion(
        id="q", text="When was the mast of Jena built?", answers=("2003",), relevant=frozenset({"Jena"})
    )
    sources = data.ranking.sources(asked.text)
    outcomes = {}
    for text in ("In 2003. [1]", "In 2003. [2]", "In 1999. [1]"):
        generator = Says()
        generator.text = text
        outcomes[text] = outcome_of(asked, sources, generator)

    assert [(o.contains, o.cites) for o in outcomes.values()] == [(True, True), (True, False), (False, True)]


def test_markers_and_marks_have_no_length():
    assert length_of("The **mast** is red. [1] It is high. [2]\n\n- And old. [1]", chinese=False) == 9
    assert length_of("塔高**30**米。[1]", chinese=True) == 6


def test_halves_are_of_the_title_alone():
    assert {half_of(str(n)) for n in range(20)} == {0, 1}
    assert half_of("Ulm") == half_of("Ulm")


def test_the_sentence_with_the_answer_in_a_right_document_is_right(data):
    asked = data.answerable[0]

    made = sentence_list(data, asked, data.ranking.sources(asked.text))

    assert made.right.sum() == 1
    assert sentence_list(data, SetQuestion(id="", text="Why?", answers=("zzz",)), data.ranking.sources("mast")) is None


def test_training_finds_the_feature_that_tells():
    random = np.random.default_rng(1)
    lists = []
    for _ in range(60):
        inputs = random.normal(size=(5, 4)).astype(np.float32)
        lists.append(SentenceList("made up", inputs, inputs[:, 2] == inputs[:, 2].max()))

    weights = sentences_fit(lists)

    assert np.argmax(np.abs(weights)) == 2
    assert first_right(lists, weights) > 0.95


def test_refusals_are_learnt_and_counted_at_each_rate():
    random = np.random.default_rng(1)
    good, bad = (random.normal(size=(300, len(FEATURES))) for _ in range(2))
    bad[:, 0] -= 3
    can, cannot = (Judged(group="x", matrix=rows) for rows in (good, bad))

    weights = refusals_fit([can], [cannot])
    shares = refused(scores(can, weights), scores(cannot, weights))

    assert list(shares) == list(RATES)
    assert shares[0.05] > 0.8
    assert np.mean(scores(can, weights) < threshold_curve(scores(can, weights))[2]) == pytest.approx(0.05, abs=0.01)


def test_the_command_prints_a_row_for_each_set(folder, capsys):
    answers.main([str(folder), "--no-embedder", "--limit", "6"])

    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith(f"| {folder.name} | 6 | 1.000 | 1.000 | 1.000 |")


def test_refusals_are_printed_for_written_and_for_robbed_questions(folder, capsys):
    answers.main(["refusals", str(folder), "--no-embedder"])

    kinds = [line.split("|")[2].strip() for line in capsys.readouterr().out.splitlines()[2:]]
    assert kinds == ["1 written", "6 robbed"]


@pytest.mark.full
def test_a_set_is_measured_with_weights_that_have_not_seen_it(folder, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns("other"))

    answers.main(["left-out", str(folder), str(other), "--no-embedder"])

    lines = capsys.readouterr().out.splitlines()[2:]
    assert {line.split("|")[1].strip() for line in lines} == {folder.name, "other"}
    assert all(0 <= float(cell) <= 1 for line in lines for cell in line.split("|")[3:7])


def test_a_question_for_which_nothing_is_found_counts_as_refused():
    rows = np.zeros((3, len(FEATURES)), np.float32)
    weights = np.zeros(len(FEATURES) + 1)

    assert list(scores(Judged(group="x", matrix=rows, empty=1), weights)) == [0.5, 0.5, 0.5, 0.0]


def test_moved_weights_give_the_wanted_quantiles():
    random = np.random.default_rng(2)
    rows = np.hstack([random.normal(size=(400, 3)), np.ones((400, 1))])
    weights, like = np.array([1.0, -2.0, 0.5, 3.0]), random.normal(loc=-1, scale=4, size=300)

    moved = rows @ aligned(weights, rows @ weights, like)

    for share in ALIGNED:
        assert np.quantile(moved, share) == pytest.approx(np.quantile(like, share))


def test_a_sign_that_counts_against_answers_never_counts_for_them():
    random = np.random.default_rng(3)
    good, bad = (random.normal(size=(200, len(FEATURES))) for _ in range(2))
    good[:, FEATURES.index("unknown")] += 3

    weights = refusals_fit([Judged(group="x", matrix=good)], [Judged(group="x", matrix=bad)])

    assert weights[FEATURES.index("unknown")] <= 0
    assert weights[FEATURES.index("similarity")] == 0


@pytest.mark.full
@pytest.mark.parametrize(
    ("command", "key", "size", "length"),
    [
        ("sentences", "features", lambda weights: weights, lambda n: 2 * n),
        ("refusals", "signs", lambda weights: weights["en"], lambda n: n + 1),
    ],
)
def test_training_writes_the_weights_with_their_record(folder, tmp_path, command, key, size, length):
    out = tmp_path / "weights.json"

    training.main([command, str(folder), "--no-embedder", "--out", str(out)])

    record = json.loads(out.read_text(encoding="utf-8"))
    assert len(size(record["weights"])) == length(len(record[key]))
    assert command in record["trained"]["command"]


def test_a_folder_without_relevance_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"qrels\.tsv"):
        answers.main([str(tmp_path)])
