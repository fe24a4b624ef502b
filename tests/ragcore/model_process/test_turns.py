"""Who computes next: questions first, long batches in slices, the others in turn."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from ragcore.model_process import turns
from ragcore.model_process.turns import SLICE_SECONDS, Job, Pace, Turns

PATIENCE_SECONDS = 20


class FixedPace(Pace):
    """Slices of so many texts."""

    def __init__(self, texts: int) -> None:
        self._texts = texts

    def count(self, sizes):
        return min(self._texts, len(sizes))

    def learn(self, size, seconds):
        pass


class Recorder:
    """Computes the length of texts, and remembers the slices in their order; the first one waits for `go_on`."""

    def __init__(self) -> None:
        self.slices: list[tuple[str, ...]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()

    def compute(self, texts):
        self.slices.append(tuple(texts))
        self.begun.set()
        assert self.go_on.wait(PATIENCE_SECONDS)
        return np.array([[len(text)] for text in texts], np.float32)

    def job(self, *texts: str, is_urgent: bool = False, slice_texts: int = 1) -> Job:
        return Job(texts, self.compute, FixedPace(slice_texts), is_urgent=is_urgent)


@pytest.fixture
def lanes():
    """Turns with a thread for each lane."""
    waiting = Turns()
    threads = [threading.Thread(target=waiting.run, kwargs={"is_urgent": urgent}) for urgent in (True, False)]
    for thread in threads:
        thread.start()
    yield waiting
    waiting.close()
    for thread in threads:
        thread.join()


def test_a_question_goes_between_two_slices_of_a_long_batch(lanes):
    recorder = Recorder()
    batch = recorder.job("p1", "p2", "p3", "p4")
    lanes.add(batch)
    assert recorder.begun.wait(PATIENCE_SECONDS)

    questions = [recorder.job("question 1", is_urgent=True), recorder.job("question 2", is_urgent=True)]
    for question in questions:
        lanes.add(question)
    recorder.go_on.set()

    assert batch.result.result(PATIENCE_SECONDS).tolist() == [[2], [2], [2], [2]]
    assert recorder.slices == [("p1",), ("question 1",), ("question 2",), ("p2",), ("p3",), ("p4",)]


def test_long_batches_take_turns(lanes):
    recorder = Recorder()
    first = recorder.job("a1", "a2", "a3")
    lanes.add(first)
    assert recorder.begun.wait(PATIENCE_SECONDS)

    second = recorder.job("b1", "b2")
    lanes.add(second)
    recorder.go_on.set()
    first.result.result(PATIENCE_SECONDS)
    second.result.result(PATIENCE_SECONDS)

    assert recorder.slices == [("a1",), ("b1",), ("a2",), ("b2",), ("a3",)]


def test_a_long_urgent_job_lets_other_questions_between_its_slices(lanes):
    recorder = Recorder()
    pairs = recorder.job("pair 1", "pair 2", is_urgent=True)
    lanes.add(pairs)
    assert recorder.begun.wait(PATIENCE_SECONDS)

    lanes.add(recorder.job("question", is_urgent=True))
    recorder.go_on.set()
    pairs.result.result(PATIENCE_SECONDS)

    assert recorder.slices == [("pair 1",), ("question",), ("pair 2",)]


def test_nothing_more_is_computed_for_a_job_that_was_cancelled(lanes):
    recorder = Recorder()
    batch, other = recorder.job("p1", "p2", "p3"), recorder.job("other")
    lanes.add(batch)
    assert recorder.begun.wait(PATIENCE_SECONDS)

    batch.result.cancel()
    lanes.add(other)
    recorder.go_on.set()
    other.result.result(PATIENCE_SECONDS)

    assert recorder.slices == [("p1",), ("other",)]


def test_rows_have_the_order_of_their_texts_although_shorter_texts_are_computed_first(lanes):
    recorder = Recorder()
    recorder.go_on.set()
    job = recorder.job("four", "a", "three", "of", slice_texts=2)

    lanes.add(job)

    assert job.result.result(PATIENCE_SECONDS).tolist() == [[4], [1], [5], [2]]
    assert recorder.slices == [("a", "of"), ("four", "three")]


def test_a_failure_is_the_result_of_its_job_and_of_no_other(lanes):
    def fail(texts):
        raise ValueError("no such text")

    recorder = Recorder()
    recorder.go_on.set()
    broken, other = Job(["x"], fail, Pace(), is_urgent=False), recorder.job("other")

    lanes.add(broken)
    lanes.add(other)

    with pytest.raises(ValueError, match="no such text"):
        broken.result.result(PATIENCE_SECONDS)
    assert other.result.result(PATIENCE_SECONDS).tolist() == [[5]]


class TestPace:
    def test_a_slice_grows_with_a_quick_model_and_has_a_limit(self):
        pace = Pace()
        sizes = [250] * 500
        before = pace.count(sizes)

        for _ in range(40):
            count = pace.count(sizes)
            pace.learn(count * 250, count * 1e-4)

        assert before == turns.FIRST_BYTES // 250
        assert pace.count(sizes) == turns.SLICE_TEXTS

    def test_a_slice_of_a_slow_model_shrinks_to_one_text(self):
        pace = Pace()

        for _ in range(40):
            pace.learn(pace.count([250] * 10) * 250, 3 * SLICE_SECONDS)

        assert pace.count([250] * 10) == 1

    def test_a_short_question_says_nothing_of_long_texts(self):
        pace = Pace()

        for _ in range(40):
            pace.learn(40, SLICE_SECONDS / 2)

        assert pace.count([250] * 10) == turns.FIRST_BYTES // 250

    def test_one_long_text_is_a_slice(self):
        assert Pace().count([10**6, 10**6]) == 1
