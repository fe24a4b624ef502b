"""Training of query adapters on vectors whose noise is known."""

from dataclasses import replace

import numpy as np
import pytest

from ragcore.embedding.adapter_training import (
    AdapterSettings,
    AdapterTraining,
    TrainingPairs,
    _gradients,
    noise_filter,
    plain_scale,
)
from ragcore.text.question_pairs import folds_of

DIMENSIONS, PASSAGES = 32, 60
SETTINGS = AdapterSettings(rank=8, shrinkage=0.1, rounds=6, batch=32, batches=2, prefix=16)


def units(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def made(*, noise=2.0, seed=3, questions=180, folds=3):
    """Questions are their passage and a way of asking, which lies in four directions that say nothing."""
    random = np.random.default_rng(seed)
    passages = units(random.standard_normal((PASSAGES, DIMENSIONS)))
    ways = units(random.standard_normal((4, DIMENSIONS)))
    right = [[at % PASSAGES] for at in range(questions)]
    asked = passages[[one[0] for one in right]] + noise * (random.standard_normal((questions, 4)) + 1) @ ways
    groups = [[one[0]] for one in right]
    return TrainingPairs(questions=units(asked), passages=passages, right=right, touches=folds_of(groups, folds=folds))


def found(questions, pairs, rows):
    best = np.argmax(questions @ pairs.passages.T, axis=1)
    return np.mean([place in pairs.right[row] for place, row in zip(best, rows, strict=True)])


def test_what_is_noise_is_learnt_on_other_documents():
    pairs = made()
    training = AdapterTraining(pairs, SETTINGS)
    before = found(pairs.questions[pairs.held_out], pairs, pairs.held_out)
    assert found(training.held_out(), pairs, pairs.held_out) == before  # nothing is changed before the first round

    while not training.is_over:
        training.advance()

    assert found(training.held_out(), pairs, pairs.held_out) > before + 0.2


def test_a_training_that_was_broken_off_ends_with_the_same_numbers():
    pairs = made()
    whole, broken = AdapterTraining(pairs, SETTINGS), AdapterTraining(pairs, SETTINGS)
    losses = [whole.advance() for _round in range(SETTINGS.rounds)]
    again = [broken.advance() for _round in range(3)]

    resumed = AdapterTraining.resumed(pairs, SETTINGS, broken.checkpoint())
    again += [resumed.advance() for _round in range(3)]

    assert again == losses
    assert resumed.is_over
    assert resumed.kept().pack() == whole.kept().pack()


def test_the_slopes_are_those_of_the_loss():
    pairs = replace(made(), masked=[[(at + 1) % PASSAGES] for at in range(180)])
    rows, known = np.arange(20), np.arange(PASSAGES)
    settings = replace(SETTINGS, weight_decay=0.0)
    weights = {name: one.astype(np.float64) for name, one in noise_filter(pairs, np.arange(180), settings).items()}
    wide = replace(pairs, questions=pairs.questions.astype(np.float64), passages=pairs.passages.astype(np.float64))
    random = np.random.default_rng(0)
    loss = lambda changed: _gradients(wide, rows, known, changed, settings, random)[0]  # noqa: E731
    slopes = _gradients(wide, rows, known, weights, settings, random)[1]

    for name, at in (("down", (3, 2)), ("up", (1, 5)), ("shift", (7,))):
        step = np.zeros_like(weights[name])
        step[at] = 1e-4
        change = (loss({**weights, name: weights[name] + step}) - loss({**weights, name: weights[name] - step})) / 2e-4
        assert slopes[name][at] == pytest.approx(change, rel=0.02, abs=1e-4)


def test_passages_that_are_held_out_do_not_compete():
    """Their models would learn that they are wrong for every question; so other vectors of them change nothing."""
    pairs = made()
    held = np.unique([pairs.right[row][0] for row in np.flatnonzero(pairs.touches[:, 0])])
    changed = pairs.passages.copy()
    changed[held] = -changed[held]
    trainings = [AdapterTraining(one, SETTINGS) for one in (pairs, replace(pairs, passages=changed))]
    for training in trainings:
        for _round in range(3):
            training.advance()

    first, second = (training.models[1].adapter().pack() for training in trainings)
    assert first == second


def test_many_passages_compete_in_part_and_the_right_ones_always():
    pairs = made()
    training = AdapterTraining(pairs, replace(SETTINGS, negatives=10))
    losses = [training.advance() for _round in range(4)]
    assert all(loss is None or np.isfinite(loss) for loss in losses)


@pytest.mark.parametrize("questions", [1, 128, 300])
def test_adapted_cosines_are_brought_to_the_plain_scale(questions):
    pairs = made(questions=questions)
    adapted = units(0.2 * pairs.questions + 0.8 * pairs.passages[[one[0] for one in pairs.right]])
    slope, level = plain_scale(pairs.questions, adapted, pairs.passages)

    nearest = lambda asked: -np.partition(-(asked @ pairs.passages.T), 19, axis=1)[:, :20]  # noqa: E731
    scaled = slope * nearest(adapted) + level
    assert scaled.mean() == pytest.approx(nearest(pairs.questions).mean(), abs=1e-5)
    assert scaled.std() == pytest.approx(nearest(pairs.questions).std(), abs=1e-5)
