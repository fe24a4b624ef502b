"""What people paste, and what models write back, does no harm: it is refused in words, or shown as its text."""

from __future__ import annotations

import html
import time

import pytest
import pytest_asyncio
from django.core.files.base import ContentFile
from django.test import Client
from django.urls import reverse

from accounts.selectors import scope_for
from chat.attachments.files import attachment_add
from chat.concurrency.executors import run_db
from chat.models import Message
from chat.rendering import BlockStream, render_markdown
from tests.chat.reading import attachment_read
from tests.chat.sockets import Socket
from tests.factories import make_user
from tests.scripted_llm import Reply
from tests.security.hostile import Trap
from tests.security.hostile_archives import archives

QUESTION = "How many steps does the random access procedure have?"
MOST_CHARACTERS = 2000
PASTED = {
    "scripts": "<script>alert(1)</script><img src=x onerror=alert(1)> random access",
    "attributes": "\" autofocus onfocus='alert(1)' random access {{ 7*7 }} {% debug %}",
    "right to left": "\u202e\u2067random access\u2069\u202c\u200b\u200d\ufeff متى؟",
    "combining": "random access z" + "\u0351\u0352\u0357" * 500,
    "quotes": "> " * 900 + "random access",
    "brackets": "[" * 900 + "random access" + "](javascript:alert(1))" * 40,
    "emphasis": "**_~~`random access" * 90,
}
BOMBS = {
    "quotes": "> " * 50_000 + "text",
    "brackets": "[" * 100_000,
    "links": "[a](" * 25_000,
    "emphasis": "*a **b " * 15_000,
    "lists": "".join("  " * depth + "- x\n" for depth in range(400)),
    "table": "|" + "a|" * 2000 + "\n|" + "-|" * 2000 + "\n" + ("|" + "b|" * 2000 + "\n") * 10,
    "code": "`" * 100_000,
    "formulas": "$$" * 50_000,
    "entities": "&#x26;" * 16_000,
}
MOST_SECONDS = 10.0


@pytest_asyncio.fixture
async def socket(world):
    made = Socket(world.reader)
    await made.connect()
    yield made
    await made.disconnect()


@pytest.mark.every_row
@pytest.mark.parametrize("text", PASTED.values(), ids=PASTED)
async def test_a_hostile_question_is_answered_and_shown_as_its_text(socket, world, text):
    await socket.send(type="ask", question=text[:MOST_CHARACTERS])
    begun, *_rest = await socket.until("done")

    page = await run_db(page_of, world.reader, begun["conversation_id"])
    stored = await run_db(Message.objects.get, pk=begun["message_id"])
    assert html.escape(stored.question) in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def page_of(user, conversation_id):
    client = Client()
    client.force_login(user)
    answer = client.get(reverse("chat:conversation", args=[conversation_id]))
    assert answer.status_code == 200
    return answer.content.decode()


async def test_a_pasted_text_of_100_kb_is_refused_in_words_and_the_connection_stays(socket):
    await socket.send(type="ask", question="random access " * 7200)

    problem = await socket.receive()

    assert (problem["type"], problem["code"]) == ("problem", "invalid")
    assert str(MOST_CHARACTERS) in problem["message"]
    await socket.send(type="ask", question=QUESTION)
    assert (await socket.until("done"))[-1]["data"]["status"] == "answered"


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_markdown_bomb_is_rendered_in_time_whole_and_streamed(text):
    started = time.process_time()

    whole = render_markdown(text, citations=(1,))
    stream = BlockStream()
    for at in range(0, len(text), 4000):
        stream.feed(text[at : at + 4000])

    assert time.process_time() - started < MOST_SECONDS
    assert len(whole) < 40 * len(text)


async def test_a_model_that_writes_scripts_and_bombs_harms_no_page(socket, world, llm):
    llm.default = Reply(texts=("<script>alert(1)</script>\n\n", "> " * 2000, "It has four steps [1]. ", "[" * 2000))

    await socket.send(type="ask", question=QUESTION)
    begun, *_rest = await socket.until("done")

    assert "<script>alert" not in await run_db(page_of, world.reader, begun["conversation_id"])


def close_set(knowledge_set):
    knowledge_set.visibility = "members"
    knowledge_set.save(update_fields=["visibility"])


async def test_rights_that_are_lost_while_a_conversation_is_open_end_its_sources(socket, world):
    await socket.send(type="ask", question=QUESTION)
    begun, *_rest = await socket.until("done")
    before = await run_db(page_of, world.reader, begun["conversation_id"])

    await run_db(close_set, world.knowledge_set)
    after = await run_db(page_of, world.reader, begun["conversation_id"])
    await socket.send(
        type="ask", question="And what is sent on PRACH?", conversation_id=begun["conversation_id"], cache=False
    )
    events = await socket.until("done")

    assert 'class="source"' in before
    assert "This source was removed, or you no longer have access." in after
    assert events[-1]["data"]["status"] == "refused"
    assert [event["data"]["citations"] for event in events if event["type"] == "citations"] == [[]]


@pytest.mark.django_db
def test_a_hostile_attached_file_fails_alone_with_its_reason(tmp_path):
    trap = Trap(url="http://127.0.0.1:9/", secret_file=tmp_path / "secret", outside=tmp_path / "outside")
    bomb = next(one for one in archives() if one.label == "attached")
    person = make_user()

    row = attachment_add(scope=scope_for(person), name=bomb.name, content=ContentFile(bomb.build(trap), bomb.name))
    attachment_read(attachment_id=row.pk)

    row.refresh_from_db()
    assert (row.state, row.passages.count()) == ("failed", 0)
    assert row.error_code
    assert row.error_message
