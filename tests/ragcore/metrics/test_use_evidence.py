"""From what people did to evidence: position bias, kinds of questions, and no single person who makes a ranking."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.metrics.use_evidence import (
    LEAST_PEOPLE,
    Showing,
    _Voice,
    learn_from_use,
    value_without_any_one,
)

FLOOR = 0.6
RIGHT, OTHER, LAST = 1, 2, 3


def vectors(*angles):
    """Questions as directions in a plane, by degrees."""
    turned = np.radians(angles)
    return np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)


def learnt(showings, questions=None):
    found = learn_from_use(showings, vectors(0) if questions is None else questions, floor=FLOOR)
    return {(one.passage, one.opened, one.helpful, one.unhelpful): one.value for one in found.evidence}


def values(showings, questions=None):
    found = learn_from_use(showings, vectors(0) if questions is None else questions, floor=FLOOR)
    return {one.passage: one.value for one in found.evidence}


def opened_by(people, *, passage=RIGHT, question=0):
    """Each of them was shown two sources and opened one."""
    return [
        Showing(person=person, passage=each, question=question, place=place, opened=each == passage)
        for person in people
        for place, each in enumerate((RIGHT, OTHER), 1)
    ]


def test_what_people_open_rises_and_what_they_pass_over_falls():
    found = values(opened_by(range(8)))

    assert found[RIGHT] > 0.1
    assert found[OTHER] < -0.1


def test_votes_raise_and_complaints_lower():
    judged = [Showing(person=person, passage=RIGHT, question=0, judgement=1.0) for person in range(4)]
    judged += [Showing(person=person, passage=OTHER, question=0, judgement=-1.0) for person in range(4)]

    found = values(judged)

    assert found == {RIGHT: pytest.approx(0.5), OTHER: pytest.approx(-0.5)}


def test_the_first_place_is_no_merit():
    """Everybody opens what they look at: what stands first is opened most, and is no better."""
    random = np.random.default_rng(7)
    showings = []
    for person in range(600):
        order = random.permutation(5)
        looked = [place for place in range(1, 6) if random.random() < 1 / place]
        opened = [place for place in looked if random.random() < 0.5]
        if opened:
            showings += [
                Showing(person=person, passage=int(each), question=0, place=place, opened=place in opened)
                for place, each in enumerate(np.sort(order) if person % 3 else order, 1)
            ]

    found = values(showings)
    naive = [sum(one.opened for one in showings if one.passage == each) for each in range(5)]

    assert naive[0] > 2 * naive[4]  # counting openings would put the first one far above
    assert all(abs(found.get(each, 0.0)) < 0.25 for each in range(5)), found


def test_the_good_one_at_the_end_is_found():
    random = np.random.default_rng(8)
    worth = {0: 0.3, 1: 0.2, 2: 0.2, 3: 0.2, 4: 0.9}
    showings = []
    for person in range(400):
        order = list(range(5)) if person % 10 else random.permutation(5).tolist()
        opened = {each for place, each in enumerate(order, 1) if random.random() < worth[each] / place}
        if opened:
            showings += [
                Showing(person=person, passage=each, question=0, place=place, opened=each in opened)
                for place, each in enumerate(order, 1)
            ]

    found = values(showings)

    assert max(found, key=lambda each: found[each]) == 4
    assert sum(one.opened for one in showings if one.passage == 0) > sum(
        one.opened for one in showings if one.passage == 4
    )


def test_questions_apart_are_learnt_apart():
    near = opened_by(range(6), question=0) + opened_by(range(6), question=1)
    far = opened_by(range(6), passage=OTHER, question=2)

    found = learn_from_use([*near, *far], vectors(0, 20, 90), floor=FLOOR).evidence

    mine = sorted((one.value > 0, round(float(one.vector[0]), 1)) for one in found if one.passage == RIGHT)
    assert mine == [(False, 0.0), (True, 1.0)]
    assert {one.people for one in found} == {6}


def test_two_people_are_too_few_and_three_are_enough():
    people = range(LEAST_PEOPLE - 1)
    assert values([Showing(person=p, passage=RIGHT, question=0, judgement=1.0) for p in people]) == {}
    assert values([Showing(person=p, passage=RIGHT, question=0, judgement=1.0) for p in range(LEAST_PEOPLE)]) != {}


def test_one_person_alone_moves_nothing_however_much_they_do():
    busy = [Showing(person=0, passage=RIGHT, question=0, judgement=1.0) for _ in range(500)]
    seen = [Showing(person=person, passage=RIGHT, question=0, place=1) for person in (1, 2)]

    assert RIGHT not in {passage for passage, value in values([*busy, *seen]).items() if value > 0}


def test_doing_the_same_again_is_no_louder():
    once = opened_by(range(8))
    again = [*once, *[one for one in once if one.person == 0] * 50]

    assert values(again)[RIGHT] == pytest.approx(values(once)[RIGHT], abs=0.08)


@given(
    st.lists(st.tuples(st.floats(-3, 3, allow_subnormal=False), st.floats(0, 1, allow_subnormal=False)), max_size=12)
)
def test_leaving_out_any_one_person_never_weakens_or_turns_the_evidence(voices):
    every = [_Voice(value, seen) for value, seen in voices]
    value = value_without_any_one(every)

    assert -1.0 <= value <= 1.0
    for at in range(len(every)):
        rest = [one for number, one in enumerate(every) if number != at]
        mean = sum(one.value for one in rest) / max(len(rest), 1)
        seen = sum(one.examined_share for one in rest)
        alone = min(max(mean * seen / (seen + 3.0), -1.0), 1.0)
        assert value == 0 or (alone * value > 0 and abs(alone) >= abs(value) - 1e-9)


def test_where_people_disagree_nothing_is_said():
    split = [Showing(person=p, passage=RIGHT, question=0, judgement=1.0 if p % 2 else -1.0) for p in range(8)]

    assert values(split) == {}


def test_the_order_of_people_does_not_matter():
    showings = opened_by(range(8))
    renamed = [replace(one, person=100 - one.person) for one in showings]

    assert learnt(renamed) == learnt(showings)


def test_nothing_is_learnt_from_nothing():
    assert learn_from_use([], np.zeros((0, 768), np.float32), floor=FLOOR).evidence == ()
