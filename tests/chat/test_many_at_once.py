"""Many clients, and unfriendly ones, against two web processes, a scripted model, and a Redis of their own.

The full form (TESTS_FULL=1) has as many clients as people fear; the short one far fewer.
"""

import asyncio
import json
import random
import time
from contextlib import suppress
from dataclasses import dataclass

import httpx
import pytest
import pytest_asyncio
import websockets
from asgiref.sync import sync_to_async
from django.db import connection

from bench.load.people import make_people
from chat.branches import branches_of
from chat.models import Conversation, Message
from ragcore.client_registry import tls_context
from ragsite.embedded.processes import Process, free_port, wait_until
from ragsite.embedded.redis import Redis
from tests.chat.disconnects import follow_answer, random_answer
from tests.factories import ingest, make_set, make_user
from tests.forms_plugin import is_full
from tests.live_site import await_answer, running
from tests.scripted_llm import Reply, ScriptedLLM, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600 if is_full() else 180)]

STREAM = "/api/v1/rag/generate/stream"
QUESTION = "What does a handover do?"
ANSWER = Reply(texts=("A handover moves ", "a terminal from one cell ", "to another [1]."))
HELD = Reply(texts=("A handover moves ", "a terminal from one cell ", "to another [1]."), hold_before=1)
SILENT = 200 if is_full() else 12
LEAVING = 100 if is_full() else 5
EQUAL = 50 if is_full() else 10
STREAMS = 20 if is_full() else 6
DISCONNECTS = 1000  # in the full form alone
FOLLOWED = 8  # answers at a time
DEADLINE_SECONDS = 60


@dataclass
class Site:
    """A running site and who may ask there."""

    url: str
    model: ScriptedLLM
    redis: Redis
    process: Process
    key: str
    session: str

    def client(self, **options):
        headers = {"Authorization": f"Bearer {self.key}"}
        limits = httpx.Limits(max_connections=None)
        return httpx.AsyncClient(
            base_url=self.url,
            headers=headers,
            timeout=DEADLINE_SECONDS,
            trust_env=False,
            limits=limits,
            verify=tls_context(),
            **options,
        )

    def socket(self, close_timeout=10.0):
        cookie = {"Cookie": f"sessionid={self.session}"}
        address = f"{self.url.replace('http', 'ws', 1)}/ws/chat"
        return websockets.connect(
            address, origin=self.url, additional_headers=cookie, proxy=None, close_timeout=close_timeout
        )

    async def in_flight(self):
        async with self.client() as client:
            page = (await client.get("/metrics")).text
        line = next(line for line in page.splitlines() if line.startswith("ragsite_answers_in_flight "))
        return float(line.rpartition(" ")[2])


@pytest_asyncio.fixture
async def site(transactional_db, redis_client, tmp_path):
    """Two web processes with a model that answers at once, unless a test changes that."""

    def prepare():
        owner = make_user()
        ingest(owner, make_set("radio", owners=[owner]), ho="A handover moves a terminal from one cell to another.")
        return make_people(1)[0]

    account = await sync_to_async(prepare)()
    redis = Redis(tmp_path)
    redis.start()
    redis.wait_ready()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with serving() as model:
        model.default = ANSWER
        variables = {"PORT": str(port), "WEB_PROCESSES": "2", "REDIS_URL": redis.url, "LLM_BASE_URL": model.url}
        with running("-m", "ragsite.web_server", "--stop-seconds", "3", folder=tmp_path, **variables) as process:
            await_answer(f"{url}/health", process)
            assert wait_until(lambda: is_healthy(url), seconds=60)
            yield Site(url, model, redis, process, account.key, account.session)
            model.release.set()
    redis.stop()


def is_healthy(url):
    return httpx.get(f"{url}/health", trust_env=False, verify=tls_context()).status_code == 200


async def stream(client, question, **options):
    """Types of the events of an answer, or the status that was given instead."""
    async with client.stream("POST", STREAM, json={"query": question, **options}) as answer:
        if answer.status_code != httpx.codes.OK:
            return [answer.status_code]
        return [json.loads(line[6:])["type"] async for line in answer.aiter_lines() if line.startswith("data: {")]


async def until(condition, seconds=30.0):
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110 (another process)
            await asyncio.sleep(0.1)


@pytest.mark.full
async def test_it_bears_what_unfriendly_clients_do(site):
    """One start of the site for all of them: it takes longer than each."""
    await equal_questions_at_once_are_computed_once(site)
    await clients_that_vanish_leave_nothing_behind(site)
    await sockets_that_never_read_hold_nobody_up(site)
    await no_connection_is_held_while_a_model_writes(site)
    await questions_of_two_tabs_have_one_order(site)
    await answers_end_while_redis_is_away(site)


async def equal_questions_at_once_are_computed_once(site):
    before = len(site.model.requests)
    async with site.client() as client:
        answers = await asyncio.gather(*(stream(client, QUESTION, cache=True) for _ in range(EQUAL)))

    assert {events[-1] for events in answers} == {"done"}
    assert len(site.model.requests) - before == 1


async def clients_that_vanish_leave_nothing_behind(site):
    async def ask_and_leave(client, number):
        body = {"query": f"{QUESTION} {number}", "cache": False}
        async with client.stream("POST", STREAM, json=body) as answer:
            async for _line in answer.aiter_lines():
                return  # the connection is closed in the middle of the answer

    async with site.client() as client:
        await asyncio.gather(*(ask_and_leave(client, number) for number in range(LEAVING)))
        await until(lambda: is_zero(site))
        assert (await stream(client, QUESTION, cache=False))[-1] == "done"


async def is_zero(site):
    return await site.in_flight() == 0


async def sockets_that_never_read_hold_nobody_up(site):
    host, port = site.url.removeprefix("http://").split(":")
    request = f"GET /api/schema HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {site.key}\r\n\r\n".encode()
    writers, sockets = [], []
    for number in range(SILENT):
        if number % 2:
            _reader, writer = await asyncio.open_connection(host, int(port), limit=2**12)
            writer.write(request if number % 4 == 1 else request[:20])
            writers.append(writer)
        else:
            socket = await site.socket()
            socket.transport.pause_reading()
            await socket.send(json.dumps({"type": "ask", "question": f"{QUESTION} {number}"}) if number < 40 else "{}")
            sockets.append(socket)

    started = time.monotonic()
    async with site.client() as client:
        events = await stream(client, QUESTION, cache=False)

    assert events[-1] == "done"
    assert time.monotonic() - started < 30
    await until(lambda: is_zero(site), DEADLINE_SECONDS)
    for each in writers:
        each.close()
    for each in sockets:
        each.transport.abort()


async def no_connection_is_held_while_a_model_writes(site):
    """Every stream has had its first words and waits for the model: no session of theirs is in a transaction."""
    site.model.default, first = HELD, asyncio.Event()
    begun = []

    async def ask(client, number):
        kinds = []
        async with client.stream("POST", STREAM, json={"query": f"{QUESTION} {number}", "cache": False}) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    kinds.append(json.loads(line[6:])["type"])
                    if kinds[-1] == "chunk" and kinds.count("chunk") == 1:
                        begun.append(number)
                        if len(begun) == STREAMS:
                            first.set()
        return kinds

    async with site.client() as client:
        asking = asyncio.gather(*(ask(client, number) for number in range(STREAMS)))
        async with asyncio.timeout(DEADLINE_SECONDS):
            await first.wait()
        busy, sessions = await sync_to_async(sessions_of_others)()
        site.model.release.set()
        answers = await asking
    site.model.default = ANSWER

    assert {kinds[-1] for kinds in answers} == {"done"}
    assert busy == 0
    assert sessions < 2 * 16 + 1


def sessions_of_others():
    """Sessions of the site that are in a transaction, and all of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FILTER (WHERE state <> 'idle'), count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return cursor.fetchone()


@pytest.mark.skipif(not is_full(), reason="1,000 disconnects take a quarter of an hour")
async def test_readers_who_come_and_go_see_the_stored_answer(site):
    """Each answer is read by pages and clients of the API that are cut off, or loaded anew, at random moments."""
    rng, disconnects, asked = random.Random(1), 0, len(site.model.requests)
    questions = 0
    while disconnects < DISCONNECTS:
        replies = [random_answer(rng) for _ in range(FOLLOWED)]
        site.model.script(*replies)
        async with site.client() as client:
            ids = await asyncio.gather(*(first_event(client, f"{QUESTION} {questions + n}") for n in range(FOLLOWED)))
        for readers in await asyncio.gather(
            *(follow_answer(site, key, seed=questions + n) for n, key in enumerate(ids))
        ):
            stored = await Message.objects.aget(pk=readers[0].message_id)
            assert {reader.text for reader in readers if reader.chunks} == {stored.answer}
            assert stored.answer in {"".join(reply.texts).strip() for reply in replies}
            assert {reader.done.get("html", stored.answer_html) for reader in readers} == {stored.answer_html}
            blocks = [reader.blocks for reader in readers if reader.blocks]
            assert all(html == blocks[0].get(at, html) for seen in blocks for at, html in seen.items())
            disconnects += sum(reader.disconnects for reader in readers)
        questions += FOLLOWED
    print(f"{disconnects} disconnects, {questions} questions, {len(site.model.requests) - asked} requests to the model")
    assert len(site.model.requests) - asked == questions


async def first_event(client, question):
    """Ask, and leave as soon as the answer begins; the id of the message."""
    async with client.stream("POST", STREAM, json={"query": question, "cache": False}) as answer:
        return answer.headers["x-message-id"]


async def questions_of_two_tabs_have_one_order(site):
    """Two pages that show the same conversation ask at the same moment, a few times."""
    async with site.socket() as first, site.socket() as second:
        await first.send(json.dumps({"type": "ask", "question": f"{QUESTION} first"}))
        begun = await until_done(first)
        key, after = begun["conversation_id"], begun["message_id"]
        for round_ in range(3):
            body = {"type": "ask", "conversation_id": key, "after": after}
            for name, tab in (("left", first), ("right", second)):
                await tab.send(json.dumps({**body, "question": f"{QUESTION} {name} {round_}"}))
            ends = await asyncio.gather(until_done(first), until_done(second))
            after = ends[round_ % 2]["message_id"]  # of one of the two, whichever came first

    conversation = await Conversation.objects.aget(pk=key)
    branches = await sync_to_async(branches_of)(conversation)
    assert len(branches.shown) == 7
    assert branches.shown == list(branches.parents)


async def until_done(socket):
    """The announcement of the turn whose answer has then ended."""
    begun = None
    while True:
        event = json.loads(await socket.recv())
        begun = event if event["type"] == "turn" else begun
        assert event["type"] not in ("problem", "error"), event
        if event["type"] == "done":
            return begun


async def answers_end_while_redis_is_away(site):
    async with site.client() as client:
        site.redis.process.kill_group()
        site.redis.process.wait(5)
        without = await asyncio.gather(*(stream(client, f"{QUESTION} without {n}", cache=False) for n in range(5)))
        whole = await client.post("/api/v1/rag/generate", json={"query": QUESTION})
        site.redis.start()
        site.redis.wait_ready()

        async def works_again():
            with suppress(httpx.HTTPError):
                return (await stream(client, QUESTION))[-1] == "done"

        await until(works_again)

    assert {events[-1] for events in without} == {"done"}
    assert whole.status_code == 200
