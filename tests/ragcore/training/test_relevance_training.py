"""The model of explanations learns from chosen sentences and is judged on other articles."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ragcore.extractive.relevance import feature_names
from ragcore.text.token_count import counter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.training.relevance_training import cross_validated, explained_questions, relevance_fit

THINGS = ("mast", "crane", "bridge", "tower", "ferry", "tunnel", "canal", "lock")


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chosen")
    cases = [
        {
            "id": thing,
            "title": thing,
            "question": f"how is a {thing} kept safe",
            "passage": f"The {thing} is kept safe by yearly inspections . They look for rust . Guests come in May .",
            "selected_sentences": [
                [f"The {thing} is kept safe by yearly inspections .", "They look for rust ."],
            ],
        }
        for thing in THINGS
    ]
    (folder / "answerable.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    (folder / "unanswerable.jsonl").write_text("", encoding="utf-8")
    return explained_questions(folder, tokenizer=JiebaTokenizer(), counter=counter(), embedder=None)


def test_every_question_is_read_with_its_chosen_sentences(asked):
    assert [one.article for one in asked] == list(THINGS)
    assert all(one.chosen.tolist() == [1, 1, 0] for one in asked)


def test_chosen_sentences_become_likelier_than_the_others(asked):
    weights = relevance_fit(asked)

    assert weights.shape == (len(feature_names()),)
    odds = np.array([one.table[one.places] @ weights for one in asked])
    assert (odds[:, :2].min(axis=1) > odds[:, 2]).all()


def test_questions_are_judged_by_weights_of_other_articles(asked):
    figures = cross_validated(asked)

    assert len(figures) == len(asked)
    assert np.mean([f1 for f1, _ in figures]) > 0.8
