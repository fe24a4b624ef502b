"""Threads are shared out between people, not between questions."""

import asyncio
from contextlib import ExitStack

import pytest

from chat.concurrency.executors import run_db
from chat.concurrency.fair_queue import (
    CREDIT_SECONDS,
    FREE_STREAMS,
    LONGEST_PAUSE_SECONDS,
    LONGEST_UNHURRIED_SECONDS,
    PAUSE_SECONDS,
    STREAM_PAUSE_SECONDS,
    FairQueue,
    Question,
    current,
    fair_queue,
)


class Clock:
    def __init__(self):
        self.at = 1000.0

    def __call__(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


class Steps:
    """Steps that run until they are ended; `order` has those that were started."""

    def __init__(self, queue):
        self.queue, self.order, self.ends, self.tasks = queue, [], {}, []

    async def ask(self, name, question):
        end = asyncio.Event()
        self.ends[name] = end

        async def step():
            self.order.append(name)
            await end.wait()

        self.tasks.append(asyncio.create_task(self.queue.run(question, step)))
        await settle()

    async def end(self, *names):
        for name in names:
            self.ends[name].set()
            await settle()


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_is_alone_uses_every_place(clock):
    steps = Steps(FairQueue(places=3, now=clock))

    for number in range(5):
        await steps.ask(number, Question(1, started=number))

    assert steps.order == [0, 1, 2]


async def test_the_oldest_question_of_a_person_comes_first(clock):
    steps = Steps(FairQueue(places=1, now=clock))
    for name, started in (("first", 1), ("newest", 9), ("older", 2)):
        await steps.ask(name, Question(1, started=started))

    await steps.end("first", "older")

    assert steps.order == ["first", "older", "newest"]


async def test_a_question_with_words_on_the_screen_lets_others_begin(clock, monkeypatch):
    monkeypatch.setattr("chat.concurrency.fair_queue.time.monotonic", clock)
    steps = Steps(FairQueue(places=1, now=clock))
    await steps.ask("running", Question(1, started=990))
    await steps.ask("grounding", Question(1, started=991, has_words=True))
    await steps.ask("no words yet", Question(1, started=1000.5))
    await steps.ask("much later", Question(1, started=1002))

    await steps.end("running", "no words yet", "grounding")

    assert steps.order == ["running", "no words yet", "grounding", "much later"]


async def test_who_was_served_least_comes_first_and_is_not_disturbed_by_who_had_much(clock):
    steps = Steps(FairQueue(places=2, now=clock))
    for number in range(5):
        await steps.ask(number, Question(1, started=number))
    clock.at += 3  # both places were used for three seconds

    await steps.ask("other", Question(2, started=5000))
    await steps.end(0)
    await steps.end(1)

    assert steps.order == [0, 1, "other"]  # one place stays free beside the other person's step
    await steps.end("other")
    assert steps.order == [0, 1, "other", 2, 3]


async def test_nobody_saves_up_what_was_not_used(clock):
    queue = FairQueue(places=1, now=clock)
    steps = Steps(queue)
    await steps.ask("a", Question(1))
    clock.at += 8
    await steps.end("a")
    await steps.ask("b", Question(1))
    await steps.ask("c", Question(2))

    assert queue.served(2) == pytest.approx(queue.served(1) - CREDIT_SECONDS)


async def test_what_somebody_got_is_forgotten(clock):
    queue = FairQueue(places=1, now=clock)
    steps = Steps(queue)
    await steps.ask("a", Question(1))
    clock.at += 4
    await steps.end("a")

    clock.at += 20

    assert queue.served(1) == pytest.approx(1.0)


@pytest.mark.parametrize("is_granted", [True, False])
async def test_a_step_that_is_given_up_keeps_no_place(clock, is_granted):
    steps = Steps(FairQueue(places=1, now=clock))
    await steps.ask("running", Question(1))
    await steps.ask("given up", Question(2))
    if is_granted:
        steps.ends["running"].set()
        await asyncio.sleep(0)

    steps.tasks[1].cancel()
    await settle()
    await steps.end("running")
    await steps.ask("next", Question(3))

    assert steps.order[-1] == "next"


async def test_a_step_that_fails_gives_its_place_back(clock):
    queue = FairQueue(places=1, now=clock)

    async def fail():
        raise LookupError

    for _ in range(2):
        with pytest.raises(LookupError):
            await queue.run(Question(1), fail)


@pytest.mark.django_db
async def test_threads_of_a_question_are_those_of_its_person():
    token = current.set(Question(7))
    try:
        await run_db(lambda: sum(range(100_000)))
    finally:
        current.reset(token)
    await run_db(lambda: None)

    assert fair_queue().served(7) > 0
    assert fair_queue()._served.keys() == {7}


async def test_streams_with_words_wait_longer_the_more_steps_wait_and_not_at_all_where_none_does(clock):
    queue = FairQueue(places=1, now=clock)
    steps = Steps(queue)
    pauses = [queue.pause_seconds()]

    for number in range(4):
        await steps.ask(number, Question(number, started=number))
        pauses.append(queue.pause_seconds())
    for number in range(4):
        await steps.end(number)
    ended = queue.pause_seconds()
    await steps.ask("first", Question(1))
    for number in range(100):
        await steps.ask(("more", number), Question(1))

    assert pauses == pytest.approx([0, 0, PAUSE_SECONDS, 2 * PAUSE_SECONDS, 3 * PAUSE_SECONDS])
    assert ended == 0
    assert queue.pause_seconds() == LONGEST_PAUSE_SECONDS
    for task in steps.tasks:
        task.cancel()


def test_few_streams_are_read_as_they_come_and_many_less_often(clock):
    queue, pauses = FairQueue(now=clock), []

    with ExitStack() as streams:
        for _ in range(FREE_STREAMS + 2):
            streams.enter_context(queue.reading())
            pauses.append(queue.pause_seconds())
        for _ in range(1000):
            streams.enter_context(queue.reading())
        most = queue.pause_seconds()

    assert pauses == pytest.approx([0] * FREE_STREAMS + [STREAM_PAUSE_SECONDS, 2 * STREAM_PAUSE_SECONDS])
    assert (most, queue.pause_seconds()) == (LONGEST_UNHURRIED_SECONDS, 0)
