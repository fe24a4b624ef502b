"""Filters on the chat page: sent with a question, kept with it, said when they leave nothing."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.urls import reverse

from chat.concurrency.executors import run_db
from chat.models import Message
from knowledge.models import Attribute
from tests.chat.pages.test_views import answer, conversation_of
from tests.chat.sockets import Socket
from tests.factories import make_set, make_user

FILTERS = {
    "axis": "X",
    "capability": ["test"],
    "organisation": [],
    "tags": ["5G"],
    "metadata": {"release": ["16", 17], "year": {"gte": 2020}},
}


def start_of(page: str) -> dict:
    """What the script of a page begins with."""
    return json.loads(re.search(r'<script id="filters-start" type="application/json">(.*?)</script>', page)[1])


@pytest.fixture
def reader(db):
    return make_user()


@pytest.fixture
def named(db, reader):
    Attribute.objects.create(tenant=reader.tenant, code="release", name="Release", name_zh="版本")
    return make_set("test", axis="X", name="Testing", owners=[make_user()])


@pytest.mark.usefixtures("named")
def test_a_new_conversation_begins_without_filters_and_knows_the_names(browser):
    start = start_of(browser.get("/").content.decode())

    assert start["chosen"] == {}
    assert start["names"]["sets"] == {"test": "Testing"}
    assert start["names"]["attributes"] == {"release": "Release"}


@pytest.mark.usefixtures("named")
def test_a_conversation_goes_on_with_the_filters_of_its_last_question(browser, reader):
    conversation = conversation_of(reader)
    answer(conversation, request={"filters": {"tags": ["old"]}})
    turn = answer(conversation, request={"filters": {**FILTERS, "organisation": ["gone"]}})

    page = browser.get(reverse("chat:conversation", args=[conversation.pk])).content.decode()

    assert start_of(page)["chosen"] == {name: value for name, value in FILTERS.items() if value}
    kept = json.loads(html.unescape(re.search(rf'data-message="{turn.pk}"[^>]* data-filters="([^"]*)"', page)[1]))
    assert kept["metadata"] == FILTERS["metadata"]


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize(
    ("status", "searched", "words"),
    [
        ("refused", 0, ["No passage matches your filters", "Nothing was searched."]),
        ("refused", 1, ["Not enough evidence", "Your filters left 1 passage to search."]),
        (
            "search_results",
            1200,
            ["No direct answer", "Your filters left 1,200 passages to search."],
        ),
    ],
)
def test_a_refusal_says_what_the_filters_left_and_offers_to_search_without(
    browser,
    reader,
    status,
    searched,
    words,
):
    turn = answer(conversation_of(reader), status=status, request={"filters": FILTERS}, trace={"searched": searched})

    page = browser.get(reverse("chat:message", args=[turn.pk])).content.decode()

    for text in [
        *words,
        "Capability · Capability: Testing · #5G · year: from 2020 · Release: 16, 17",
        "Search without filters",
    ]:
        assert text in page


def test_a_refusal_without_filters_offers_no_search_without_them(browser, reader):
    turn = answer(conversation_of(reader), status="refused", request={"filters": {"tags": []}})

    page = browser.get(reverse("chat:message", args=[turn.pk])).content.decode()

    assert "Search without filters" not in page
    assert "data-filters" not in page


@pytest.mark.usefixtures("named")
def test_the_names_of_filters_are_said_in_chinese(browser, reader):
    turn = answer(conversation_of(reader), request={"filters": FILTERS}, metadata={"total_time": 1, "cache": "exact"})

    page = browser.get(reverse("chat:message", args=[turn.pk]), headers={"accept-language": "zh-CN"}).content.decode()

    assert "版本: 16, 17" in page


def test_hostile_filters_stay_text(browser, reader):
    hostile = '</script><img src=x onerror="alert(1)">'
    turn = answer(conversation_of(reader), status="refused", request={"filters": {"tags": [hostile]}}, trace={})

    page = browser.get(reverse("chat:conversation", args=[turn.conversation_id])).content.decode()

    assert hostile not in page
    assert start_of(page)["chosen"] == {"tags": [hostile]}


# ── over the WebSocket ──────────────────────────────────────────────────────────────────────────


async def asked(world, **message):
    socket = Socket(world.reader)
    await socket.connect()
    await socket.send(type="ask", question="How many steps does the random access procedure have?", **message)
    events = [await socket.receive()]
    while events[-1]["type"] not in ("done", "problem", "error"):
        events.append(await socket.receive())
    await socket.disconnect()
    return events


async def test_a_question_is_asked_and_kept_with_its_filters(world):
    def label():
        world.documents["ho"].tags = ["5G"]
        world.documents["ho"].save()

    await run_db(label)

    events = await asked(world, filters={"tags": ["5G"], "metadata": {}})

    message = await run_db(Message.objects.get, pk=events[0]["message_id"])
    assert message.request["filters"]["tags"] == ["5G"]
    assert message.trace["searched"] == 1


async def test_filters_that_leave_nothing_end_in_a_refusal_that_says_why(world):
    events = await asked(world, filters={"tags": ["6G"]})

    done = events[-1]["data"]
    assert done["status"] == "refused"
    assert [warning["code"] for warning in done["metadata"]["warnings"]] == ["no_match", "unknown_tag"]


@pytest.mark.parametrize(
    ("filters", "code"),
    [
        ({"metadata": {"year": {"near": 1}}}, "invalid"),
        ({"colour": "red"}, "invalid"),
        ({"capability": ["nothing"]}, "unknown_filter"),
    ],
)
async def test_a_filter_that_is_not_understood_is_a_problem_and_no_turn(world, filters, code):
    events = await asked(world, filters=filters)

    assert (events[-1]["type"], events[-1]["code"]) == ("problem", code)
    assert not await run_db(Message.objects.exists)


@pytest.mark.parametrize("status", ["refused", "search_results"])
def test_a_refusal_in_chosen_sets_names_them_and_offers_all(browser, reader, named, status):
    make_set("other", name="Other", owners=[make_user()])
    turn = answer(conversation_of(reader), status=status, request={"sets": [named.pk]})

    page = browser.get(reverse("chat:message", args=[turn.pk])).content.decode()

    assert "Searched in: Testing" not in page
    assert page.count("Searched only in: Testing.") == 1
    assert "data-ask-everywhere" in page
    assert "Search without filters" not in page


def test_an_answer_from_chosen_sets_names_them_and_one_from_all_does_not(browser, reader, named):
    other = make_set("other", name="Other", owners=[make_user()])
    conversation = conversation_of(reader)
    narrowed = answer(conversation, request={"sets": [named.pk]})
    every = answer(conversation, request={"sets": [named.pk, other.pk]})

    shown = [browser.get(reverse("chat:message", args=[turn.pk])).content.decode() for turn in (narrowed, every)]

    assert "Searched in: Testing" in shown[0]
    assert "Searched in" not in shown[1]  # all sets are no choice
    assert "data-ask-everywhere" not in shown[0] + shown[1]


def test_a_new_chat_begins_in_the_set_of_its_address_and_all_sets_are_no_choice(browser, named):
    other = make_set("other", name="Other", owners=[make_user()])

    def chosen(query: str) -> set[int]:
        page = browser.get(f"/{query}").content.decode()
        return {int(number) for number in re.findall(r'name="sets" value="(\d+)"[^>]* checked', page)}

    assert chosen("") == set()
    assert chosen(f"?set={named.pk}") == {named.pk}
    assert chosen(f"?set={named.pk}&set={other.pk}") == set()
    assert chosen("?set=nothing&set=99999999999999999999") == set()
