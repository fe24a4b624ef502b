"""The chat page and its parts, as a signed-in browser sees them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from bs4 import BeautifulSoup
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from chat.models import Conversation, Message, MessageCitation
from knowledge.models import Document
from tests.factories import ingest, make_set, make_user

TEXT = "The timer waits for two seconds. When the timer expires, the session falls back to the source path."


@pytest.fixture
def reader() -> User:
    return make_user()


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def document_make() -> Document:
    owner = make_user()
    return ingest(owner, make_set("radio", owners=[owner], name="Radio"), timer=TEXT)["timer"]


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=document_make)]


@pytest.fixture
def document(kept_rows, redis_client) -> Document:
    return kept_rows


def conversation_of(user: User, title: str = "About the timer") -> Conversation:
    return Conversation.objects.create(tenant=user.tenant, user=user, channel="web", title=title)


def answer(conversation: Conversation, document: Document | None = None, **fields) -> Message:
    """A finished turn that cites the first chunk of a document."""
    values = {"question": "How long does the timer wait?", "answer": "Two seconds [1].", "state": "done"}
    html = '<p>Two seconds <button class="cite" type="button" data-cite="1">1</button>.</p>'
    made = Message.objects.create(
        conversation=conversation, **{**values, "answer_html": html, "status": "answered", **fields}
    )
    if document is not None:
        MessageCitation.objects.create(
            message=made,
            number=1,
            chunk=document.live_version.chunks.first(),
            document=document,
            version=document.live_version,
            segment="The session falls back to the source path when the timer expires [1].",
            confidence=0.9,
        )
    return made


def source_url(message: Message, number: int = 1) -> str:
    return reverse("chat:source", args=[message.pk, number])


# ── who sees what ───────────────────────────────────────────────────────────────────────────────


def test_a_stranger_is_sent_to_the_sign_in():
    response = Client().get("/")

    assert response.status_code == 302
    assert response["Location"] == "/sign-in?next=/"


def test_nobody_opens_the_conversation_of_another(browser, document):
    message = answer(conversation_of(make_user()), document)

    addresses = [
        reverse("chat:conversation", args=[message.conversation_id]),
        reverse("chat:message", args=[message.pk]),
        source_url(message),
    ]

    assert [browser.get(address).status_code for address in addresses] == [404, 404, 404]


@pytest.mark.parametrize("name", ["rename", "pin", "choose_sets", "move", "archive", "delete"])
def test_nobody_changes_the_conversation_of_another(browser, name):
    conversation = conversation_of(make_user())

    response = browser.post(reverse(f"chat:{name}", args=[conversation.pk]), {"title": "mine"})

    assert response.status_code == 404
    conversation.refresh_from_db()
    assert conversation.title == "About the timer"


def test_a_source_is_shown_with_the_cited_sentence_marked(browser, reader, document):
    message = answer(conversation_of(reader), document)

    page = browser.get(source_url(message)).content.decode()

    assert re.search(r"<mark>When the timer expires, .* source path\.</mark>", page)
    assert "Source 1 of 1" in page
    assert "Radio" in page


def test_each_marker_shows_the_words_of_its_own_claim(browser, reader, document):
    text = "When the timer expires, the session falls back [1]. It waits for two seconds [1]. Bananas are yellow [1]."
    message = answer(conversation_of(reader), document, answer=text)

    pages = [browser.get(f"{source_url(message)}?place={place}").content.decode() for place in (0, 1, 2, "x", 99)]

    marked = [re.findall(r"<mark>(.*?)</mark>", page) for page in pages]
    assert marked[0][0].startswith("When the timer expires")
    assert marked[1] == ["The timer waits for two seconds."]
    assert marked[2] == []
    assert "The answer paraphrases this source" in pages[2]
    assert marked[3] == marked[4] == marked[0]  # as without a place: the claim of the first marker


def test_an_answer_without_a_model_says_so_and_tells_support_from_relevance(browser, reader, document):
    sentences = [{"text": "Two seconds [1].", "support": "supported", "citations": [1], "reason": None}]
    message = answer(conversation_of(reader), document, sentences=sentences, metadata={"model": "extractive"})
    message.citations.update(relevance=0.05)

    page = browser.get(reverse("chat:conversation", args=[message.conversation_id])).content.decode()

    assert "no language model wrote it" in page
    assert "weak match" in page
    assert "but it may not answer your question" in page


def test_a_source_is_refused_once_the_reader_may_no_longer_read_it(browser, reader, document):
    message = answer(conversation_of(reader), document)
    document.sets.update(visibility="members")

    page = browser.get(reverse("chat:conversation", args=[message.conversation_id])).content.decode()

    assert browser.get(source_url(message)).status_code == 404
    assert "This source was removed, or you no longer have access." in page
    assert 'data-title="timer"' not in page


def test_a_set_that_is_closed_to_the_reader_is_listed_without_a_count(browser, document):
    make_set("secret", name="Secret plans", visibility="members", owners=[make_user()])

    page = browser.get("/").content.decode()
    locked = re.search(r'<a class="choice" data-locked.*?</a>', page, re.DOTALL)

    assert locked
    assert "Secret plans" in locked[0]
    assert not re.search(r"\d", re.sub(r"<[^>]+>", "", locked[0]))


def test_counts_leave_out_what_is_above_the_reader(document):
    Document.objects.filter(pk=document.pk).update(clearance=3)

    page = signed_in(make_user(clearance=2)).get("/").content.decode()

    assert re.search(r"documents: </span>0</span>", page)


# ── the page ────────────────────────────────────────────────────────────────────────────────────


def test_a_running_turn_is_marked_so_that_the_script_resumes_it(browser, reader):
    message = answer(conversation_of(reader), state="running", answer="", answer_html="", status="")

    page = browser.get(reverse("chat:conversation", args=[message.conversation_id])).content.decode()

    assert f'data-message="{message.pk}" data-state="running"' in page


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"state": "failed", "error_message": "No model.", "error_code": "model_unavailable"}, "model_unavailable"),
        ({"state": "stopped"}, "Stopped; partial answer kept."),
        ({"status": "refused"}, "Not enough evidence"),
        ({"status": "search_results"}, "No direct answer"),
        ({"status": "degraded"}, "Compiled from the sources"),
    ],
)
def test_every_kind_of_ending_is_said_in_words(browser, reader, fields, words):
    message = answer(conversation_of(reader), **fields)

    assert words in browser.get(reverse("chat:message", args=[message.pk])).content.decode()


def test_a_newcomer_who_owns_a_set_is_shown_where_to_add_documents():
    owner = make_user()
    make_set(owners=[owner])

    assert "Add documents" in signed_in(owner).get("/").content.decode()
    assert "Add documents" not in signed_in(make_user()).get("/").content.decode()


def test_an_answer_from_memory_says_so(browser, reader, document):
    message = answer(conversation_of(reader), document)
    message.metadata = {"cache": "exact"}
    message.save()

    assert "This question was answered before." in browser.get(f"/messages/{message.pk}").content.decode()


@pytest.mark.parametrize(
    ("cache", "language", "notice", "button"),
    [
        ("exact", "en", "This question was asked before: the answer is from 3 minutes ago.", "Ask again"),
        ("semantic", "en", "asked before in other words: the answer is from 3 minutes ago.", "Ask again"),
        ("exact", "zh-CN", "之前有人问过这个问题，此回答来自3 分钟前。", "重新提问"),
        ("semantic", "zh-CN", "之前有人用另一种说法问过同一问题，此回答来自3 分钟前。", "重新提问"),
    ],
)
def test_below_an_answer_from_the_cache_a_fresh_one_is_offered(
    browser, reader, document, cache, language, notice, button
):
    message = answer(conversation_of(reader), document)
    address, headers = f"/messages/{message.pk}", {"accept-language": language}
    fresh = browser.get(address, headers=headers).content.decode()

    answered_at = (timezone.now() - timedelta(minutes=3)).isoformat()
    Message.objects.filter(pk=message.pk).update(metadata={"cache": cache, "answered_at": answered_at})
    kept = browser.get(address, headers=headers).content.decode()

    assert notice in BeautifulSoup(kept, "html.parser").select_one(".turn-cached").text
    assert f"data-ask-fresh>{button}</button>" in kept
    assert "data-ask-fresh>" not in fresh


def test_a_failed_answer_is_explained_in_the_language_of_the_reader(browser, reader, document):
    message = answer(conversation_of(reader), document)
    Message.objects.filter(pk=message.pk).update(
        state=Message.State.FAILED, error_code="timeout", error_message="The answer took too long."
    )

    page = browser.get(f"/messages/{message.pk}", headers={"accept-language": "zh-CN"}).content.decode()

    assert "回答超时。" in page


@pytest.mark.parametrize("code", ["retrieval_unavailable", "unavailable", "internal"])
def test_whatever_is_down_the_reader_is_told_the_same_and_whom_to_ask(browser, reader, document, code):
    message = answer(conversation_of(reader), document)
    Message.objects.filter(pk=message.pk).update(
        state=Message.State.FAILED, error_code=code, error_message="Search is not available at the moment."
    )

    page = browser.get(f"/messages/{message.pk}", headers={"accept-language": "en"}).content.decode()

    assert "The system has a technical problem at the moment." in page
    assert "please contact technical support" in page
    assert "Search is not available" not in page
    assert code in page


def test_pages_obey_a_policy_without_inline_styles_and_scripts(browser, reader, document):
    message = answer(conversation_of(reader), document)

    for address in ("/", "/profile", reverse("chat:conversation", args=[message.conversation_id]), "/sign-in?next=/x"):
        response = browser.get(address, follow=True)
        page = response.content.decode()
        assert "style-src 'self';" in f"{response['Content-Security-Policy']};"
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=\"|<script(?![^>]*(src=|application/json))", page)


def test_more_turns_need_no_more_queries(browser, reader, document):
    short, long = conversation_of(reader), conversation_of(reader)
    answer(short, document)
    for _ in range(5):
        answer(long, document)

    def queries_of(conversation):
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(reverse("chat:conversation", args=[conversation.pk])).status_code == 200
        # whether the registry of models has changed is asked once a second
        return len([query for query in captured if "knowledge_modelsversion" not in query["sql"]])

    queries_of(long)  # what a process keeps is made
    assert queries_of(long) == queries_of(short)


# ── the side bar ────────────────────────────────────────────────────────────────────────────────


def test_conversations_stand_under_pinned_today_and_earlier(browser, reader):
    pinned, _today, old = (conversation_of(reader, title) for title in ("First", "Second", "Third"))
    Conversation.objects.filter(pk=pinned.pk).update(pinned=True)
    Conversation.objects.filter(pk=old.pk).update(updated=timezone.now() - timedelta(days=3))

    page = browser.get("/conversations").content.decode()

    assert re.findall(r"<h2>(\w+)</h2>|>(First|Second|Third)</a>", page) == [
        ("Pinned", ""),
        ("", "First"),
        ("Today", ""),
        ("", "Second"),
        ("Earlier", ""),
        ("", "Third"),
    ]


def test_searching_looks_in_titles_and_questions_of_the_reader_only(browser, reader):
    answer(conversation_of(reader, "One"), question="What about the preamble?")
    conversation_of(reader, "Preamble formats")
    conversation_of(reader, "Something else")
    conversation_of(make_user(), "Preamble of another")

    page = browser.get("/conversations?q=preamble").content.decode()

    assert set(re.findall(r">([^<>]+)</a>", page)) == {"One", "Preamble formats"}


def test_renaming_and_pinning_do_not_change_the_order(browser, reader):
    conversation = conversation_of(reader)
    before = conversation.updated

    named = browser.post(reverse("chat:rename", args=[conversation.pk]), {"title": "Better"})
    pinned = browser.post(reverse("chat:pin", args=[conversation.pk]), {"pinned": "on"})

    conversation.refresh_from_db()
    assert (named.status_code, pinned.status_code) == (204, 204)
    assert (conversation.title, conversation.pinned, conversation.updated) == ("Better", True, before)


def test_an_empty_title_is_refused(browser, reader):
    conversation = conversation_of(reader)

    assert browser.post(reverse("chat:rename", args=[conversation.pk]), {"title": " "}).status_code == 422


def test_a_conversation_never_asks_in_a_set_that_the_reader_may_not_read(browser, reader):
    conversation = conversation_of(reader)
    open_set, closed = make_set(), make_set(visibility="members", owners=[make_user()])

    response = browser.post(
        reverse("chat:choose_sets", args=[conversation.pk]), {"sets": [str(open_set.pk), str(closed.pk)]}
    )

    assert response.status_code == 204
    assert list(conversation.sets.all()) == [open_set]


def test_a_deleted_conversation_is_gone_with_its_answers(browser, reader, document):
    message = answer(conversation_of(reader), document)

    response = browser.post(reverse("chat:delete", args=[message.conversation_id]))

    assert response.status_code == 204
    assert not Message.objects.filter(pk=message.pk).exists()


def test_changes_need_the_token_of_the_page(reader):
    conversation = conversation_of(reader)
    client = Client(enforce_csrf_checks=True)
    client.force_login(reader)

    assert client.post(reverse("chat:delete", args=[conversation.pk])).status_code == 403
    assert Conversation.objects.filter(pk=conversation.pk).exists()


def test_documents_that_are_being_read_are_announced(browser, document):
    Document.objects.filter(pk=document.pk).update(state=Document.State.PROCESSING)

    assert "1 document is being processed" in browser.get("/").content.decode()


def test_a_chinese_name_begins_with_the_family_name():
    user = make_user(first_name="芳", last_name="王")

    assert '<span class="profile-name">王芳<' in signed_in(user).get("/").content.decode()
