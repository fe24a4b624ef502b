"""Folders, the archive, search in answers, and conversations of hundreds of turns."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chat.models import Conversation, Message
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(redis_client):
    return make_user()


def talk_of(user, title, *answers, **fields):
    talk = Conversation.objects.create(tenant=user.tenant, user=user, channel="web", title=title, **fields)
    for number, text in enumerate(answers):
        Message.objects.create(
            conversation=talk, question=f"Question {number}?", answer=text, answer_html="<p>x</p>", state="done"
        )
    return talk


def titles(page):
    return re.findall(r'dir="auto"[^>]*>([^<>]+)</a>', page)


def test_the_words_of_answers_are_found_and_their_place_is_shown(browser, reader):
    talk = talk_of(reader, "One", "Nothing here.", "It **carries** seven tons [1] on a good day.")
    talk_of(reader, "Other", "Nothing here.")
    talk_of(make_user(), "Foreign", "It carries seven tons.")

    page = browser.get("/conversations?q=Seven tons").content.decode()

    message = talk.messages.get(answer__contains="seven")
    assert titles(page) == ["One"]
    assert f'href="/c/{talk.pk}?turn={message.pk}&amp;q=Seven%20tons#turn-{message.pk}"' in page
    assert "It carries <mark>seven tons</mark> on a good day." in page


def test_each_word_may_stand_anywhere_in_a_turn(browser, reader):
    talk_of(reader, "One", "The failure of the handover is counted [2].", "Nothing here.")
    talk_of(reader, "Other", "A handover.", "A failure.")
    talk_of(reader, "Failure before the handover")

    page = browser.get("/conversations", {"q": "handover failure 0?"}).content.decode()
    titled = browser.get("/conversations", {"q": "handover before"}).content.decode()

    assert titles(page) == ["One"]
    assert "The <mark>failure</mark> of the <mark>handover</mark> is counted." in page
    assert titles(titled) == ["Failure before the handover"]


@pytest.mark.parametrize(
    ("answer", "words", "shown"),
    [
        ("使用**载波聚合**[1]技术。", "载波聚合技术", "使用<mark>载波聚合技术</mark>。"),
        ("It waits for `T_mod`, then ~~stops~~.", "t_mod,", "It waits for <mark>T_mod,</mark> then stops."),
        ("See **bold** text.", "**bold**", "See <mark>**bold**</mark> text."),
        ("| a | seven |\n|---|---|\n| b | tons |", "seven", "a <mark>seven</mark> b tons"),
    ],
)
def test_answers_are_searched_as_people_see_them_and_as_they_are_stored(browser, reader, answer, words, shown):
    talk_of(reader, "One", answer)

    page = browser.get("/conversations", {"q": words}).content.decode()

    assert shown in page


def test_a_list_that_is_cut_says_so(browser, reader, monkeypatch):
    monkeypatch.setattr("chat.pages.conversation_list.RECENT", 2)
    monkeypatch.setattr("chat.pages.conversation_list.FOUND", 2)
    talks = [talk_of(reader, "Talk", "seven", "eight") for _ in range(2)]
    more, older = "There are more.", "Older conversations are not listed."

    def said(**query):
        page = browser.get("/conversations", query).content.decode()
        return [words for words in (more, older) if words in page]

    assert (said(), said(q="seven"), said(archived=1)) == ([], [], [])
    talks.append(talk_of(reader, "Talk", "seven"))
    assert (said(), said(q="seven"), said(q="eight")) == ([older], [more], [])
    assert older in browser.get("/").content.decode()
    Conversation.objects.update(archived=True)
    assert (said(), said(archived=1)) == ([], [older])


def test_what_a_search_found_is_text_and_never_markup(browser, reader):
    talk_of(reader, "One", "beam <script>alert(1)</script> <img src=x onerror=y>")

    page = browser.get("/conversations", {"q": "beam"}).content.decode()

    assert "<mark>beam</mark>" in page
    assert "<script" not in page
    assert "<img" not in page


@pytest.mark.parametrize("words", ["%", "_", "\u200b", "x" * 100_000, "'; --"])
def test_words_that_mean_something_to_a_database_are_words(browser, reader, words):
    talk_of(reader, "One", "abc")

    response = browser.get("/conversations", {"q": words})

    assert response.status_code == 200
    assert "<mark>" not in response.content.decode()


def test_conversations_stand_in_their_folders(browser, reader):
    talk = talk_of(reader, "Salary")
    talk_of(reader, "Loose")

    assert browser.post(f"/c/{talk.pk}/move", {"folder": "<b>Mine</b>"}).status_code == 204
    page = browser.get("/conversations").content.decode()

    folder = re.search(r"<details.*?</details>", page, re.DOTALL)[0]
    assert "&lt;b&gt;Mine&lt;/b&gt;" in folder
    assert titles(folder) == ["Salary"]
    assert titles(page) == ["Salary", "Loose"]
    browser.post(f"/c/{talk.pk}/move", {"folder": "\u200b\u202e"})
    assert "<details" not in browser.get("/conversations").content.decode()
    assert browser.post(f"/c/{talk.pk}/move", {"folder": "x" * 65}).status_code == 422


def test_archived_conversations_leave_the_list_and_come_back(browser, reader):
    talk = talk_of(reader, "Old one", "seven tons")
    before = talk.updated

    assert browser.post(f"/c/{talk.pk}/archive", {"archived": "on"}).status_code == 204

    assert titles(browser.get("/conversations").content.decode()) == []
    assert titles(browser.get("/conversations?archived=1").content.decode()) == ["Old one"]
    assert titles(browser.get("/conversations?q=seven").content.decode()) == ["Old one"]
    browser.post(f"/c/{talk.pk}/archive", {})
    assert titles(browser.get("/conversations").content.decode()) == ["Old one"]
    talk.refresh_from_db()
    assert talk.updated == before


def test_a_conversation_that_is_being_answered_is_marked(browser, reader):
    talk = talk_of(reader, "One", "a")
    assert "Being answered" not in browser.get("/conversations").content.decode()

    talk.messages.update(state="running")

    assert "Being answered" in browser.get("/conversations").content.decode()


@pytest.fixture
def long_talk(reader):
    talk = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="Long")
    start = timezone.now() - timedelta(days=1)
    turns = Message.objects.bulk_create(
        Message(conversation=talk, question=f"Turn {n:03}?", answer_html="<p>x</p>", state="done") for n in range(500)
    )
    for number, turn in enumerate(turns):
        turn.created = start + timedelta(seconds=number)
    Message.objects.bulk_update(turns, ["created"], batch_size=500)
    return talk


def questions(page):
    return re.findall(r"Turn (\d{3})\?</h2>", page.content.decode())


def test_of_500_turns_the_last_are_shown_and_earlier_ones_are_fetched(browser, long_talk):
    with CaptureQueriesContext(connection) as queries:
        page = browser.get(f"/c/{long_talk.pk}")
    first = re.search(r'data-earlier="([0-9a-f-]+)"', page.content.decode())[1]

    fetched = browser.get(f"/c/{long_talk.pk}/turns", {"before": first})

    assert questions(page) == [f"{n:03}" for n in range(470, 500)]
    assert questions(fetched) == [f"{n:03}" for n in range(440, 470)]
    assert "data-earlier" in fetched.content.decode()
    assert len(queries) < 60
    oldest = Message.objects.get(question="Turn 010?")
    assert "data-earlier" not in browser.get(f"/c/{long_talk.pk}/turns", {"before": oldest.pk}).content.decode()


def test_a_link_to_an_old_turn_shows_it(browser, long_talk):
    wanted = Message.objects.get(question="Turn 100?")

    page = browser.get(f"/c/{long_talk.pk}", {"turn": wanted.pk})

    assert questions(page)[:3] == ["098", "099", "100"]
    assert "Show the latest questions" in page.content.decode()
    assert questions(browser.get(f"/c/{long_talk.pk}?turn=nonsense"))[-1] == "499"


def test_nobody_fetches_turns_of_another(long_talk):
    stranger = Client()
    stranger.force_login(make_user())
    mine = talk_of(make_user(), "Mine", "a").messages.get()

    assert stranger.get(f"/c/{long_talk.pk}/turns", {"before": mine.pk}).status_code == 404
    assert stranger.get(f"/c/{long_talk.pk}/turns").status_code == 422
