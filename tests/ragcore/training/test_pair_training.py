"""Training of what reads question and sentence together, on a tiny model."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from ragcore.embedding.e5_export import pair_encoder
from ragcore.embedding.e5_pairs import PairWeights
from ragcore.embedding.e5_weights import E5Weights
from ragcore.embedding.unigram import UnigramTokenizer, unigram_save
from ragcore.training.pair_lists import PairList, PairSentence, as_typed, drawn, table_lists
from ragcore.training.pair_training import PairModel, PairTraining, first_right, listwise_loss, pairs_fit
from tests.ragcore.embedding.e5_file import E5File

WORDS = ("query", "rent", "fee", "how", "much", "is", "the", "ten", "blue", "sky", "a")
PIECES = {f"▁{word}": -3.0 for word in WORDS} | {":": -2.0, "▁": -5.0}
RENT = PairList(
    "own",
    "how much is the rent",
    (PairSentence("", "the rent is ten", is_right=True), PairSentence("", "the sky is blue", is_right=False)),
)
FEE = PairList(
    "own",
    "how much is the fee",
    (PairSentence("", "a sky", is_right=False), PairSentence("", "a fee is ten", is_right=True)),
)


@pytest.fixture
def weights(tmp_path):
    return E5Weights(E5File(PIECES).write(tmp_path / "weights.bin"))


@pytest.fixture
def model(weights, tmp_path):
    unigram_save(weights.vocabulary, tmp_path)
    torch.manual_seed(2)
    return PairModel(weights, UnigramTokenizer(tmp_path), frozen=1)


@pytest.mark.full
def test_training_makes_right_sentences_likelier(model):
    before = float(listwise_loss(model.scores_of([RENT, FEE]), [RENT, FEE]))

    for _step in pairs_fit(model, [RENT, FEE] * 4, [], PairTraining(epochs=50, rate=2e-2)):
        pass

    assert float(listwise_loss(model.scores_of([RENT, FEE]), [RENT, FEE])) < 0.8 * before
    assert first_right(model, [RENT, FEE]) == {"own": 1.0}


def test_the_exported_model_scores_as_the_trained_one(model, weights):
    for _step in pairs_fit(model, [RENT, FEE] * 4, [], PairTraining(epochs=2, rate=2e-2)):
        pass
    changed = PairWeights(weights, model.changes())
    token_ids = model._pair(RENT.question, "", RENT.sentences[0].text)
    words = torch.from_numpy(weights.matrix("emb.word", weights.shape.words)[token_ids])[None]

    (exported,) = pair_encoder(changed)(words)

    assert float(exported) == pytest.approx(float(model.scores(RENT)[0].detach()), abs=0.1)  # bfloat16 beside float32
    assert np.allclose(changed.matrix("l0.q.w", 64), weights.matrix("l0.q.w", 64))  # a frozen layer
    assert not np.allclose(changed.matrix("l1.k.w", 64), weights.matrix("l1.k.w", 64))


def test_the_order_of_sentences_does_not_matter(model):
    turned = PairList(RENT.group, RENT.question, RENT.sentences[::-1])

    assert model.scores(turned).flip(0).tolist() == pytest.approx(model.scores(RENT).tolist(), abs=0.05)


def test_none_of_these_is_right_where_no_sentence_is():
    unanswered = PairList("own", "how", (PairSentence("", "the sky", is_right=False),))

    assert listwise_loss(torch.tensor([-5.0]), [unanswered]) < listwise_loss(torch.tensor([5.0]), [unanswered])


def test_a_draw_may_lose_its_answer_or_ask_for_a_neighbour():
    told = PairSentence("Pump 20", "Pump P20 weighs 12 kg", is_right=True)
    others = tuple(PairSentence("", f"Pump P{n} is red", is_right=False) for n in range(30, 36))
    one = PairList("own", "How heavy is the P20?", (told, *others))
    draws = [drawn(one, ["Berlin"], random.Random(seed)) for seed in range(200)]

    missed = [d for d in draws if any(s.text == told.text and not s.is_right for s in d.sentences)]
    assert missed
    assert all("p20" not in d.question.lower() for d in missed)
    assert any(not any(s.text == told.text for s in d.sentences) for d in draws)
    assert 0.6 < np.mean([d.has_answer for d in draws]) < 0.95
    assert all(d.has_answer is any(s.is_right for s in d.sentences) for d in draws)


def test_questions_as_people_type_them_differ_and_stay_readable():
    forms = {as_typed("What is the heaviest Pump?", random.Random(seed)) for seed in range(60)}

    assert {"What is the heaviest Pump?", "what is the heaviest pump"} <= forms
    assert all("heavi" in form.lower() or "pump" in form.lower() for form in forms)


def test_rows_of_tables_are_asked_for(tmp_path):
    rows = "\n".join(f"P{n},{n * 10} kg,hall {n}" for n in range(1, 9))
    (tmp_path / "a.csv").write_text(f"Pump,Weight,Place\n{rows}\n", encoding="utf-8")

    (made,) = table_lists(tmp_path, limit=5)

    (right,) = [s for s in made.sentences if s.is_right]
    assert made.sentences[0] is right
    assert right.text.split(" · ")[0] in made.question or right.text.split("：")[0] in made.question
    assert len(made.sentences) > 5
