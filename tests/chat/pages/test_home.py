"""The page before the first question: what it offers is there, and may be seen."""

import re

import pytest
from django.test import Client

from tests.factories import ingest, make_set, make_user

pytestmark = pytest.mark.django_db
OTHERS = {  # a search weighs words by how rare they are
    "alarm": "An alarm is cleared when its cause is gone. Operators acknowledge it before.",
    "mast": "The mast is forty metres high and stands on a concrete foundation.",
    "power": "The rectifier feeds the batteries and the radio units with direct current.",
    "cooling": "Fans cool the cabinet as soon as it is warmer than thirty degrees.",
}
TIMER = "The timer waits for two seconds. When the timer expires, the session falls back to the source path."
ANSWERED = "Where does the session fall back to when the timer expires?"
UNANSWERED = "Who won the football championship?"


@pytest.fixture
def reader(redis_client):
    return make_user()


@pytest.fixture
def owner(db):
    return make_user()


def examples_in(page):
    return re.findall(r'data-example="([^"]+)"', page.content.decode())


def test_only_questions_that_a_search_answers_are_offered(browser, owner):
    made = make_set("radio", owners=[owner], example_questions=[UNANSWERED, ANSWERED])
    ingest(owner, made, timer=TIMER, **OTHERS)

    first, fetched, second = browser.get("/"), browser.get("/examples"), browser.get("/")

    assert 'data-url="/examples"' in first.content.decode()
    assert examples_in(first) == []
    assert first.content.decode().count("example-wait") == 2  # a row for each that is being checked
    assert examples_in(fetched) == [ANSWERED]
    assert 'data-url="/examples"' not in second.content.decode()
    assert examples_in(second) == [ANSWERED]


def test_what_answers_for_one_reader_says_nothing_about_another(browser, owner):
    make_set("open", owners=[owner], example_questions=[ANSWERED])
    closed = make_set("closed", owners=[owner], visibility="members", example_questions=["How long is the beam?"])
    ingest(owner, closed, timer=f"{TIMER} The beam is nine metres long.")
    keeper = Client()
    keeper.force_login(owner)

    assert examples_in(keeper.get("/examples")) != []
    assert examples_in(browser.get("/examples")) == []


def test_examples_are_in_the_language_of_the_reader(browser, owner):
    questions = ["计时器等待多久？", ANSWERED]
    made = make_set("radio", owners=[owner], example_questions=questions)
    ingest(owner, made, timer=TIMER, **OTHERS, chinese="计时器等待两秒。计时器超时后，会话回到源路径。")

    english = browser.get("/examples", headers={"accept-language": "en"})
    chinese = browser.get("/examples", headers={"accept-language": "zh-CN"})

    assert examples_in(english) == [ANSWERED]
    assert examples_in(chinese) == questions[:1]


def test_examples_in_another_language_stand_in_where_there_is_none(browser, owner):
    made = make_set("radio", owners=[owner], example_questions=[UNANSWERED, "计时器等待多久？"])
    ingest(owner, made, timer=TIMER, **OTHERS, chinese="计时器等待两秒。计时器超时后，会话回到源路径。")

    page = browser.get("/examples", headers={"accept-language": "en"})

    assert examples_in(page) == ["计时器等待多久？"]


def test_a_new_document_leaves_the_examples_where_they_are_until_they_are_checked(browser, owner):
    made = make_set("radio", owners=[owner], example_questions=[ANSWERED])
    ingest(owner, made, timer=TIMER, **OTHERS)
    browser.get("/examples")
    ingest(owner, made, door="The door of the cabinet is locked with two keys.")

    page = browser.get("/")

    assert examples_in(page) == [ANSWERED]
    assert "example-wait" not in page.content.decode()
    assert 'id="examples-earlier" data-url="/examples"' in page.content.decode()
    browser.get("/examples")
    assert "examples-earlier" not in browser.get("/").content.decode()


def test_recent_documents_and_sets_are_those_that_the_reader_may_open(browser, owner):
    ingest(owner, make_set("radio", name="Radio", owners=[owner]), timer=TIMER)
    ingest(owner, make_set("hr", name="Salaries", owners=[owner], visibility="members"), hidden=f"{TIMER} Hidden.")
    ingest(owner, make_set("kept", name="Kept", owners=[owner], originals="keepers"), withheld=f"{TIMER} Withheld.")

    page = browser.get("/").content.decode()
    start = page[page.index('class="start"') : page.index('id="composer"')]

    assert re.findall(r"/documents/\d+\" dir=\"auto\">([^<]+)<", start) == ["timer"]
    assert re.findall(r'class="start-set".*?<span>([^<]+)</span>', start) == ["Kept", "Radio"]
    assert "Salaries" not in start
    assert "1 more on request" in start
