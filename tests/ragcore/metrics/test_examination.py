"""How often each place is looked at, estimated from clicks."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.metrics.examination import (
    LEAST,
    PLACES,
    Showings,
    examination_fit,
    examination_prior,
    opening_weight,
)


def clicks(*, eta, answers, seed=1, places=5, is_shuffled=True):
    """Sources of twelve kinds of questions as people of the position-based model open them; worth by item."""
    random = np.random.default_rng(seed)
    worth = random.uniform(0.05, 0.8, 60)
    items, at, opened = [], [], []
    for _ in range(answers):
        first = int(random.integers(0, 12)) * places
        order = random.permutation(places) if is_shuffled and random.random() < 0.5 else np.arange(places)
        for place, item in enumerate(order, 1):
            items.append(first + int(item))
            at.append(place)
            opened.append(bool(random.random() < worth[first + item] * place**-eta))
    return Showings(items=items, places=at, opened=opened)


def test_without_clicks_the_prior_of_the_paper_holds():
    looked = examination_fit(Showings(items=[], places=[], opened=[]))

    assert looked.tolist() == examination_prior().tolist()
    assert (looked[0], looked[3], len(looked)) == (1.0, 0.25, PLACES)


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0])
def test_what_people_did_moves_the_curve_to_what_it_is(eta):
    looked = examination_fit(clicks(eta=eta, answers=2000))

    assert looked[:5] == pytest.approx(np.arange(1, 6) ** -eta, abs=0.09)


def test_a_few_clicks_move_it_little():
    looked = examination_fit(Showings(items=[0, 1], places=[1, 2], opened=[False, True]))

    assert looked == pytest.approx(examination_prior(), abs=0.06)


def test_it_never_rises_from_place_to_place():
    lower_more = Showings(items=list(range(400)), places=[1, 2] * 200, opened=[False, True] * 200)

    looked = examination_fit(lower_more)

    assert all(np.diff(looked) <= 1e-12)
    assert looked[0] == 1.0


def test_the_same_clicks_in_another_order_give_the_same_curve():
    shown = clicks(eta=1.0, answers=100)
    order = np.random.default_rng(2).permutation(len(shown.items))
    pick = lambda values: [values[at] for at in order]  # noqa: E731

    other = Showings(items=pick(shown.items), places=pick(shown.places), opened=pick(shown.opened))

    assert examination_fit(other) == pytest.approx(examination_fit(shown), abs=1e-9)


def test_an_opening_weighs_by_its_place_up_to_a_limit():
    looked = examination_prior()

    assert [opening_weight(looked, place) for place in (1, 4)] == [1.0, 4.0]
    assert opening_weight(looked, 15) == opening_weight(looked, 4000) == 1 / LEAST
