"""Cells of vectors: every vector has one, and a search that looks far enough finds what comparing everything finds."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.embedding.cells import (
    WANTED,
    BoundedCells,
    Cells,
    CellTally,
    Divider,
    Nearest,
    cell_count,
    cells_fit,
    normalised,
    reach_measured,
)

GROUPS, EACH, DIMENSIONS = 60, 40, 128
DEPTH = 20


def grouped(seed=1):
    """float32[n, d]: groups of vectors around as many directions, and questions that lie between them."""
    random = np.random.default_rng(seed)
    around = normalised(random.standard_normal((GROUPS, DIMENSIONS)).astype(np.float32))
    noise = normalised(random.standard_normal((GROUPS * EACH, DIMENSIONS)).astype(np.float32))
    vectors = normalised(np.repeat(around, EACH, axis=0) + 0.75 * noise)
    asked = normalised(random.standard_normal((30, DIMENSIONS)).astype(np.float32) / 8 + around[:30])
    return vectors, asked


@pytest.fixture(scope="module")
def divided():
    vectors, asked = grouped()
    centres, projection = cells_fit(vectors, count=3 * GROUPS)
    cells = Divider.of(centres, projection).cells(vectors)
    tally = CellTally.of(centres)
    tally.add(vectors, cells)
    return vectors, asked, tally.cells(), cells


def nearest_of(vectors, asked, cells, limit=10 * DEPTH):
    found = Nearest.of(len(asked), limit=limit)
    for start in range(0, len(vectors), 700):
        part = slice(start, start + 700)
        found.add(asked @ vectors[part].T, cells[part])
    return found


def test_every_vector_is_counted_in_one_cell(divided):
    vectors, _asked, cells, numbers = divided

    assert cells.sizes.sum() == len(vectors)
    assert np.array_equal(np.bincount(numbers, minlength=len(cells)), cells.sizes)
    assert np.linalg.norm(cells.centres, axis=1) == pytest.approx(1, abs=1e-4)


def test_the_closeness_is_the_mean_cosine_of_a_cells_vectors_to_its_centre(divided):
    vectors, _asked, cells, numbers = divided
    cell = int(np.argmax(cells.sizes))

    expected = (vectors[numbers == cell] @ cells.centres[cell]).mean()

    assert cells.closeness[cell] == pytest.approx(expected, abs=1e-4)


def test_few_vectors_of_different_groups_share_a_cell(divided):
    _vectors, _asked, cells, numbers = divided
    groups = np.repeat(np.arange(GROUPS), EACH)

    most = sum(np.bincount(groups[numbers == cell]).max() for cell in range(len(cells)) if cells.sizes[cell])

    assert most / len(groups) > 0.97


def test_the_nearest_are_gathered_from_batches_as_from_all_at_once(divided):
    vectors, asked, _cells, numbers = divided

    found = nearest_of(vectors, asked, numbers)

    order = np.argsort(-(asked @ vectors.T), axis=1)[:, : 10 * DEPTH]
    assert found.scores == pytest.approx(np.take_along_axis(asked @ vectors.T, order, axis=1), abs=1e-5)
    assert (found.cells == numbers[order]).mean() > 0.999  # but for ties


def test_the_measured_reach_holds_what_is_wanted_and_looks_into_a_part(divided):
    vectors, asked, cells, numbers = divided
    nearest = nearest_of(vectors, asked, numbers)

    found = reach_measured(cells, asked, nearest, depth=DEPTH)

    needed = cells.bounds(asked, reach=found.reach) >= nearest.worst(DEPTH)[:, None]
    held = np.take_along_axis(needed, nearest.cells[:, :DEPTH], axis=1).mean()
    assert found.contained == pytest.approx(held)
    assert found.contained >= WANTED
    assert found.rows < 0.5 * len(vectors)
    assert found.wider >= found.rows


def test_a_search_that_looks_as_far_finds_the_nearest(divided):
    """Also where only a tenth of the vectors may be seen, of which none is near to the question."""
    vectors, asked, cells, numbers = divided
    reach = reach_measured(cells, asked, nearest_of(vectors, asked, numbers), depth=DEPTH).reach
    hits, wanted = 0, 0
    for question in asked:
        scores = vectors @ question
        allowed = np.argsort(scores)[: len(vectors) // 10]
        bounded = BoundedCells(np.arange(len(cells)), cells.sizes, cells.bounds(question[None], reach=reach)[0])
        seen = bounded.first(len(vectors) / 10)
        inside = allowed[np.isin(numbers[allowed], seen)]
        worst = np.sort(scores[inside])[-DEPTH] if len(inside) >= DEPTH else -1.0
        looked = np.concatenate([seen, bounded.beyond(worst, visited=seen)])
        best = set(allowed[np.argsort(-scores[allowed])][:DEPTH])
        hits += len(best & set(allowed[np.isin(numbers[allowed], looked)]))
        wanted += DEPTH

    assert hits / wanted >= 0.98


def test_a_first_look_takes_the_highest_bounds_until_there_are_enough_vectors():
    cells = BoundedCells(np.array([10, 11, 12, 13]), np.array([5, 5, 5, 5]), np.array([0.1, 0.9, 0.5, 0.3], np.float32))

    assert cells.first(1).tolist() == [1]
    assert cells.first(6).tolist() == [1, 2]
    assert cells.first(99).tolist() == [1, 2, 3, 0]
    assert cells.compared(cells.first(6)) == 10


def test_a_second_look_takes_what_may_hold_something_better_and_was_not_seen():
    cells = BoundedCells(np.array([10, 11, 12, 13]), np.array([5, 5, 5, 5]), np.array([0.1, 0.9, 0.5, 0.3], np.float32))

    assert cells.beyond(0.3, visited=np.array([1])).tolist() == [2, 3]
    assert cells.beyond(0.6, visited=np.array([1])).tolist() == []
    assert cells.beyond(-1.0, visited=np.array([1])).tolist() == [0, 2, 3]


def test_a_longer_reach_bounds_higher_and_a_near_cell_is_bounded_by_its_vectors():
    centres = normalised(np.eye(4, dtype=np.float32))
    cells = Cells(centres, np.array([0.8, 0.8, 0.2, 1.0], np.float32), np.ones(4, np.int64))

    short, far = (cells.bounds(centres[:1], reach=reach)[0] for reach in (1.0, 3.0))

    assert short[0] == pytest.approx(0.8)  # the question is the centre: its vectors have this cosine
    assert far[0] == pytest.approx(0.8)
    assert np.all(far[1:3] > short[1:3])
    assert far[3] == pytest.approx(0.0, abs=1e-6)  # all of its vectors are the centre


@pytest.mark.parametrize(("vectors", "least", "most"), [(8, 1, 1), (1_000, 100, 130), (300_000, 6_000, 7_000)])
def test_there_are_many_cells_but_several_vectors_in_each(vectors, least, most):
    assert least <= cell_count(vectors) <= most


def test_the_same_vectors_make_the_same_cells():
    vectors, _asked = grouped(seed=3)

    first, second = (cells_fit(vectors[:500], count=40)[0] for _ in range(2))

    assert np.array_equal(first, second)


def test_fewer_vectors_than_cells_leave_empty_cells():
    vectors, _asked = grouped(seed=4)

    centres, projection = cells_fit(vectors[:5], count=8)
    cells = Divider.of(centres, projection).cells(vectors[:5])

    assert len(set(cells.tolist())) == 5
    assert np.isfinite(centres).all()
