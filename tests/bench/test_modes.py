"""The short form of `make bench-modes`."""

import json

import pytest

from bench.calibration import Reliability
from bench.modes.measure import MODES, ModeAnswer, SetFigures, measure
from chat.models import Message

pytestmark = pytest.mark.django_db(transaction=True)


def answer(*, gold: bool, confidence: float | None = 0.8, status: str = "answered") -> ModeAnswer:
    return ModeAnswer(has_gold=gold, cites_gold=gold, status=status, confidence=confidence, seconds=0.1)


@pytest.mark.full
def test_every_mode_answers_the_questions_of_a_public_set(tmp_path):
    folder = tmp_path / "tiny_set" / "dev"
    folder.mkdir(parents=True)
    texts = {"a": "The backoff timer of the P10 lasts 20 ms.", "b": "The antenna of the P10 has four ports."}
    questions = [
        {"id": "q", "text": "How long does the backoff timer of the P10 last?", "answers": ["20 ms"]},
        {"id": "r", "text": "How many ports has the antenna of the P10?", "answers": ["four"]},
    ]
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in texts.items()))
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    (folder / "qrels.tsv").write_text("q\ta\t1\nr\tb\t1\n")

    (figures,) = measure([folder], limit=5)

    assert figures.name == "tiny_set"
    assert {mode: figures.shares(mode) for mode in MODES} == dict.fromkeys(MODES, {"gold": 1.0, "cites": 1.0})
    assert len(list(figures.rows())) == len(MODES)
    assert {message.metadata["mode_used"] for message in Message.objects.all()} == set(MODES)


def test_a_mode_is_compared_with_the_one_before_it_question_by_question():
    figures = SetFigures(name="made")
    figures.answers["basic"] = [answer(gold=True), answer(gold=False)]
    figures.answers["enhanced"] = [answer(gold=False), answer(gold=False)]

    assert figures.against("enhanced", "basic", "has_gold").value == -0.5


def test_confidence_that_is_too_high_is_an_error_of_calibration():
    reliability = Reliability()
    for is_right in (True, False, False, False):
        reliability.add(0.85, is_right=is_right)
    reliability.add(None, is_right=False)

    assert reliability.error() == pytest.approx(0.6)
    assert reliability.bins() == [(4, pytest.approx(0.85), 0.25)]
