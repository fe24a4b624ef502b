import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from ragcore.text.request_cache import cached, request_cache


@pytest.fixture
def made():
    """Counts what is made; `ask(key)` says how often the value of that key was made when it was."""

    class Made:
        def __init__(self):
            self.times = []

        def ask(self, key):
            return cached(key, lambda: (self.times.append(key), len(self.times))[1])

    return Made()


def test_outside_everything_is_made_each_time(made):
    assert [made.ask("a"), made.ask("a")] == [1, 2]


def test_inside_each_key_is_made_once_and_nothing_outlives_the_end(made):
    with request_cache():
        assert [made.ask("a"), made.ask("b"), made.ask("a")] == [1, 2, 1]
    with request_cache():
        assert made.ask("a") == 3
    assert made.ask("a") == 4


def test_an_inner_one_goes_on_with_what_the_outer_one_has(made):
    with request_cache():
        made.ask("a")
        with request_cache():
            made.ask("a")
        made.ask("a")

    assert made.times == ["a"]


def test_none_is_a_value_like_others():
    asked = []
    with request_cache():
        cached("a", lambda: asked.append(1))
        cached("a", lambda: asked.append(1))

    assert asked == [1]


def test_threads_and_tasks_that_are_started_inside_share_it(made):
    async def answer():
        with request_cache():
            made.ask("a")
            await asyncio.create_task(asyncio.to_thread(made.ask, "a"))
            with ThreadPoolExecutor(1) as pool:
                pool.submit(copy_context().run, made.ask, "a").result()

    asyncio.run(answer())

    assert made.times == ["a"]


def test_two_answers_at_the_same_time_have_nothing_in_common(made):
    async def answer(both):
        with request_cache():
            await both.wait()
            return made.ask("a")

    async def two():
        both = asyncio.Barrier(2)
        return await asyncio.gather(answer(both), answer(both))

    assert sorted(asyncio.run(two())) == [1, 2]


def test_an_error_is_raised_and_not_kept(made):
    with request_cache():
        with pytest.raises(ZeroDivisionError):
            cached("a", lambda: 1 / 0)
        assert made.ask("a") == 1
