"""Seconds of thinking: from the first reasoning of a request to its first text, or to its end."""

from __future__ import annotations

from ragcore.llm.thinking_time import ThinkingTime
from ragcore.ports import GenerationEvent


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def noted(*steps):
    """The time after these events, each so many seconds after the one before."""
    clock = Clock()
    time = ThinkingTime(clock)
    for seconds, event in steps:
        clock.now += seconds
        time.note(event)
    clock.now += 5
    return time


THOUGHT, TEXT = GenerationEvent(reasoning="hm"), GenerationEvent(text="Four.")
END, BOTH = GenerationEvent(final=True), GenerationEvent(reasoning="hm", text="Four.")


def test_it_counts_from_the_first_reasoning_to_the_first_text():
    time = noted((2, THOUGHT), (3, THOUGHT), (4, TEXT), (5, TEXT), (6, END))

    assert (time.seconds, time.is_under_way) == (7, False)


def test_without_reasoning_there_is_no_time():
    assert noted((2, TEXT), (3, END)).seconds == 0


def test_thinking_under_way_counts_until_now():
    assert noted((2, THOUGHT)).seconds == 5


def test_several_requests_add_up():
    assert noted((1, THOUGHT), (2, TEXT), (9, END), (1, THOUGHT), (3, END)).seconds == 5


def test_reasoning_and_text_that_come_together_end_it():
    assert not noted((1, THOUGHT), (2, BOTH)).is_under_way


def test_what_broke_off_is_stopped():
    time = noted((1, THOUGHT))
    time.stop()

    assert (time.seconds, time.is_under_way) == (5, False)
