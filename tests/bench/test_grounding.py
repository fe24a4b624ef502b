"""The benchmark of grounding on small sets of its own."""

import json
import random

import numpy as np
import pytest

from bench.grounding import __main__ as grounding
from bench.grounding.rgb import cases, contains, measured, mixed
from bench.grounding.scripted_model import looking_up
from ragcore.grounding.facts import figures, figures_offered, negations, plain_figure
from ragcore.grounding.support_model import FEATURES, SupportModel
from ragcore.prompts.refusals import is_refusal
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training import __main__ as training
from ragcore.training.support_edits import Corpus, faithful, unfaithful
from ragcore.training.support_examples import Example, examples, statement
from ragcore.training.support_meaning_training import (
    HARDLY,
    SLOPE,
    AcrossTable,
    across_fit,
    balanced_accuracy,
    meaning_fit,
)
from ragcore.training.support_summaries import _caused, _certain, _swapped, condensed, invented
from ragcore.training.support_training import (
    Table,
    annotated,
    auc,
    best_threshold,
    cross_validated,
    findings,
    fitted,
    folds,
    probabilities,
    table,
)

TOWNS = ["Ulm", "Graz", "Linz", "Bern", "Jena", "Kiel", "Lodz", "Nice", "Porto", "Riga"]


def lines(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")


@pytest.fixture
def retrieval_set(tmp_path):
    folder = tmp_path / "towns" / "dev"
    texts = [
        f"The old mast of {town} was built in {1900 + 7 * n} by Anna Berger. It is {30 + n} metres high, "
        f"and it carries {n + 2} antennas of the network. Nobody may climb the mast of {town} without a permit."
        for n, town in enumerate(TOWNS)
    ]
    lines(
        folder / "corpus.jsonl", *({"id": f"p{n}", "title": f"Masts {n % 5}", "text": t} for n, t in enumerate(texts))
    )
    asked = [
        {"id": f"q{n}", "text": f"When was the mast of {t} built?", "answers": [str(1900 + 7 * n)]}
        for n, t in enumerate(TOWNS)
    ]
    more = [
        {"id": f"h{n}", "text": f"How high is the mast of {t}?", "answers": [f"{30 + n} metres"]}
        for n, t in enumerate(TOWNS)
    ]
    lines(folder / "queries.jsonl", *asked, *more)
    rels = [f"{kind}{n}\tp{n}\t1" for n in range(len(TOWNS)) for kind in "qh"]
    (folder / "qrels.tsv").write_text("\n".join(rels), encoding="utf-8")
    lines(
        folder / "unanswerable.jsonl",
        {"id": "u", "text": "Who painted the bridge?", "doc_id": "p1", "title": "Masts 1"},
    )
    return folder


def test_examples_are_the_same_every_time_and_of_both_classes(retrieval_set):
    found = examples([retrieval_set], limit=10)

    assert found == examples([retrieval_set], limit=10)
    assert {e.supported for e in found} == {True, False}
    assert {"edited", "answered", "answered wrongly", "elsewhere", "unanswerable", "answerable"} <= {
        e.kind for e in found
    }
    assert {e.supported for e in found if e.kind.startswith("summary")} == {True, False}
    assert all(1 <= number <= len(e.sources) for e in found for number in e.cited)


def test_a_question_becomes_a_statement():
    assert statement("When was the mast built?", "1907") == "1907 the mast built."
    assert statement("塔是谁建的？", "张三") == "塔张三建的。"


def test_an_unfaithful_edit_never_leaves_the_sentence_as_it_was():
    texts = [[f"The mast of {t} was built in {1900 + n}, and it is high, as all know." for n, t in enumerate(TOWNS)]]
    corpus = Corpus.of(texts, random.Random(1))

    for sentence in texts[0] * 20:
        text, kind = unfaithful(sentence, texts[0], corpus)
        assert text
        assert kind in {"number", "name", "denied", "mixed", "added", "foreign"}
        assert text != sentence
        assert faithful(sentence, texts[0], corpus)


SAID = [
    "Anna Berger of Ulm built the old mast in 1907, and it may be the first of the Danube valley.",
    "The bridge of Karl Weber carries several cables to Linz, but nobody has counted them since 1950.",
    "Many visitors (mostly from Graz) climb the tower in summer because the view is famous.",
]
SAID_ZH = [
    "乌尔姆的老塔由安娜在1907年建成，可能是多瑙河谷的第一座。",
    "卡尔的桥把电缆引到林茨，但是从1950年起没有人数过。",
    "许多游客（主要来自格拉茨）在夏天登塔，因为风景有名。",
]


@pytest.mark.parametrize("said", [SAID, SAID_ZH])
def test_a_condensed_sentence_keeps_figures_and_negations_of_its_text(said):
    corpus = Corpus.of([said], random.Random(3))
    figures_there = figures_offered(" ".join(said))

    for _ in range(200):
        text = condensed(said, corpus)
        assert text.rstrip("。.")
        assert {plain_figure(figure) for figure in figures(text)} <= figures_there
        assert negations(text) <= sum(negations(sentence) for sentence in said)


@pytest.mark.parametrize("said", [SAID, SAID_ZH])
def test_every_kind_of_error_of_summaries_is_made_in_both_languages(said):
    corpus = Corpus.of([said, [f"{sentence} Elsewhere." for sentence in reversed(said)]], random.Random(3))

    kinds = {invented(said, corpus)[1] for _ in range(400)}

    assert {"caused", "merged", "moved", "detailed", "certain", "coloured", "stranger"} <= kinds
    assert "swapped" in kinds or said is SAID_ZH  # names in Chinese have no capital letters


def test_a_dropped_reservation_is_the_only_change_of_its_kind():
    corpus = Corpus.of([SAID], random.Random(1))

    assert _certain(["It may rain"], SAID, corpus) == "It rain"
    assert _certain(["It rains"], SAID, corpus) is None
    assert _certain(["它可能下雨"], SAID_ZH, corpus) == "它下雨"


def test_two_names_change_places_and_a_cause_joins_two_statements():
    corpus = Corpus.of([SAID], random.Random(1))

    assert _swapped(["Anna met Karl"], SAID, corpus) == "Karl met Anna"
    assert _caused(["It rains"], SAID, corpus) is None
    caused = _caused(["It rains", "the road is wet"], SAID, corpus)
    assert caused is not None
    assert caused.startswith("It rains")
    assert caused.endswith("the road is wet")


def test_folds_never_cut_a_group_in_two():
    groups = np.array(["a", "b", "a", "c", "d", "e", "f", "c"])

    fold = folds(groups, count=3)

    assert all(len(set(fold[groups == g])) == 1 for g in groups)
    assert set(fold) == {0, 1, 2}


def test_training_tells_copies_from_strangers_in_documents_that_it_has_not_seen(retrieval_set):
    found = [
        Example(sentence=s, sources=(text,), cited=(), supported=ok, group=str(n), kind="made")
        for n, town in enumerate(TOWNS)
        for text in [f"The mast of {town} was built in {1900 + n}. It carries antennas."]
        for s, ok in [(f"The mast of {town} was built in {1900 + n}.", True), ("Purple bananas ripen slowly.", False)]
    ]
    data = table(found, tokenizer=JiebaTokenizer(), embedder=None)

    scores = cross_validated(data, lambda train, test: probabilities(fitted(train), test))

    assert ((scores >= 0.5) == data.supported).all()
    assert data.words.shape == (20, len(FEATURES))
    model = SupportModel(words=fitted(data).words, meaning=())
    methods = {f.name: f for f in findings(data, shipped=model)}
    assert methods["shipped weights, threshold 0.5"].balanced_accuracy == 1
    beside = findings(data, shipped=model, overlap_from=1.01)[0]
    assert (beside.unsupported, beside.supported) == (1, 0)


class Trusted:
    """An embedder that hardly reads Chinese."""

    model, dimensions = "trusted", 2

    def trust(self, cjk_share):
        return 0.3 if cjk_share else 0.6


def test_what_supports_a_sentence_in_the_other_language_is_learnt_from_meaning_and_figures():
    rows = np.array([[0.9, 0], [0.8, 0], [0.85, 0], [0.3, 0], [0.2, 0], [0.9, 2], [0.85, 1], [0.8, 1]])
    data = AcrossTable(rows, np.array([True, True, True, False, False, False, False, False]))

    constant, cosine, missing = across_fit(data)

    assert cosine > 0 > missing
    assert balanced_accuracy(data, (constant, cosine, missing)) > 0.8


def test_the_cosine_joins_the_words_with_a_weight_that_is_given_and_a_constant_that_is_fitted():
    rows = np.zeros((8, len(FEATURES)))
    rows[:4, 0] = 1.0
    cosine = np.array([0.9, 0.8, 0.9, 0.8, 0.2, 0.1, 0.2, 0.1])
    data = Table(
        words=rows,
        cosine=cosine,
        cjk=np.zeros(8),
        supported=np.array([True] * 4 + [False] * 4),
        groups=np.array(list("abcdabcd")),
        kinds=np.array(["made"] * 8),
        overlap=cosine,
    )

    words = fitted(data).words
    weights = meaning_fit(data, words=words, embedder=Trusted())
    model = SupportModel(words=words, meaning=weights)

    assert weights[1:3] == pytest.approx((1.0, SLOPE / 0.6))
    assert weights[5] == pytest.approx(HARDLY / 0.3 - SLOPE / 0.6)
    assert ((probabilities(model, data) >= 0.5) == data.supported).all()


def test_auc_and_threshold_are_those_of_the_definition():
    truth, scores = np.array([True, True, False, False]), np.array([0.9, 0.4, 0.4, 0.1])

    assert auc(truth, scores) == pytest.approx(3.5 / 4)
    assert 0.1 < best_threshold(np.array([False, False, True]), np.array([0.1, 0.1, 0.8])) < 0.8


def test_annotated_spans_become_labels_of_sentences(tmp_path):
    response = " The mast is high. It is red and old. It may be in Ulm. It stands firm."
    marks = [("Unwanted.Extrinsic", "red"), ("Questionable", "may be"), ("Benign", "firm")]
    annotations = [
        {"label": [label], "start": response.index(span), "end": response.index(span) + len(span)}
        for label, span in marks
    ]
    row = {"id": "1", "source": "A mast.", "response": response, "model": "m", "annotations": annotations}
    lines(tmp_path / "samples.jsonl", row)

    found = {e.sentence: e.supported for e in annotated(tmp_path / "samples.jsonl")}

    assert found == {"The mast is high.": True, "It is red and old.": False, "It stands firm.": True}


RGB = [
    {
        "id": "1",
        "query": "How high is the mast of Ulm?",
        "answer": "40 metres",
        "positive": ["The mast of Ulm is 40 metres high."],
        "negative": [f"The mast of {town} is old." for town in TOWNS],
    },
    {
        "id": "2",
        "query": "乌尔姆的塔有多高，何时建成？",
        "answer": [["40米", "四十米"], "1907年"],
        "positive": [["乌尔姆的塔高40米。"], ["它于1907年建成。"]],
        "negative": ["塔很旧。", "塔在河边。"],
    },
]


def test_noise_takes_the_place_of_passages_with_the_answer(tmp_path):
    lines(tmp_path / "x.jsonl", *RGB)
    first, second = cases(tmp_path / "x.jsonl")

    assert len(mixed(first, 0.8, random.Random(1))) == 5
    assert not set(mixed(first, 0.0, random.Random(1))) & set(first.negative)
    assert second.positive == ("乌尔姆的塔高40米。", "它于1907年建成。")
    assert contains("高四十米，1907 年建成", second)
    assert not contains("高40米", second)


def test_a_stand_in_that_follows_the_prompt_answers_with_markers_and_refuses_without_an_answer(tmp_path):
    lines(tmp_path / "x.jsonl", *RGB)

    with looking_up() as answerer:
        figures = measured(tmp_path / "x.jsonl", answerer, is_refusal)

    assert figures[0] == 1.0
    assert figures[-1] == 1.0


def test_the_command_prints_a_row_for_every_file(tmp_path, capsys):
    lines(tmp_path / "a.jsonl", *RGB)

    grounding.main(["rgb", str(tmp_path), "--no-embedder"])

    assert "| a | 1.000 |" in capsys.readouterr().out


@pytest.mark.full
def test_training_writes_weights_with_their_record(retrieval_set, tmp_path, capsys):
    out = tmp_path / "model.json"

    training.main(["support", str(retrieval_set), "--no-embedder", "--out", str(out)])

    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["features"] == list(FEATURES)
    assert len(record["words"]) == 2 * len(FEATURES) + 2
    assert "towns" in record["training"]["command"]
    assert "balanced accuracy" in capsys.readouterr().out


def test_confidence_and_speed_are_reported(retrieval_set, capsys):
    grounding.main(["confidence", str(retrieval_set), "--no-embedder", "--limit", "5"])
    grounding.main(["speed", str(retrieval_set)])

    out = capsys.readouterr().out
    assert "5 questions" in out
    assert "ms" in out
