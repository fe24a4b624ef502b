"""What the question field offers, and what it remembers."""

import pytest

from accounts.selectors import scope_for
from chat.models import AskingPreferences, Conversation, Message
from chat.pages.depths import composer_fields
from chat.pages.suggestions import suggestions
from knowledge.models import Document
from knowledge.services.lexicon import lexicon_publish, term_save
from tests.factories import ingest, make_set, make_user
from tests.knowledge.lexicons import lexicon_build

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(redis_client):
    return make_user(clearance=0)


@pytest.fixture
def owner(db):
    return make_user()


def asked_before(user, *questions):
    talk = Conversation.objects.create(tenant=user.tenant, user=user, channel="web", title="t")
    for question in questions:
        Message.objects.create(conversation=talk, question=question, state="done")


def texts(user, typed):
    return [(one.kind, one.text) for one in suggestions(scope=scope_for(user), typed=typed)]


def test_own_questions_titles_and_terms_are_offered(reader, owner):
    ingest(owner, make_set("radio", owners=[owner]), handover="It hands over.", 切换指导书="切换的步骤。")
    asked_before(reader, "How is a handover prepared?", "Something else?")

    found = texts(reader, "handov")

    assert ("question", "How is a handover prepared?") in found
    assert ("document", "handover") in found
    assert ("document", "切换指导书") in texts(reader, "怎么做切换")


def test_a_title_continues_the_end_of_what_was_typed(reader, owner):
    ingest(owner, make_set("radio", owners=[owner]), handover_guide="It hands over.")
    Document.objects.update(title="Handover guide")

    (found,) = [
        one for one in suggestions(scope=scope_for(reader), typed="what says the handover gu") if one.kind == "document"
    ]

    assert found.text == "Handover guide"
    assert "what says the handover gu"[found.start :] == "handover gu"


@pytest.mark.parametrize("hide", [{"clearance": 3}, {"state": "processing"}])
def test_nothing_is_offered_that_the_asker_may_not_ask_about(reader, owner, hide):
    ingest(owner, make_set("radio", owners=[owner]), zebra="It hands over.")
    ingest(owner, make_set("closed", owners=[owner], visibility="members"), zebracrossing="Nobody knows it.")
    asked_before(make_user(), "What does the zebra do?")
    assert texts(reader, "zebra") == []  # the whole title was typed
    assert texts(reader, "zebr") == [("document", "zebra")]

    Document.objects.filter(title="zebra").update(**hide)

    assert texts(reader, "zebr") == []


@pytest.mark.parametrize(
    "typed", ["", "  ", "a", "x" * 100_000, "%_\\", "\u202e\u200babc", "<script>alert(1)</script>", "\x7fab"]
)
def test_whatever_is_typed_is_answered(browser, typed):
    response = browser.get("/suggestions", {"q": typed[:50_000]})

    assert response.status_code == 200
    assert response.json() == {"suggestions": []}


def test_a_percent_sign_is_a_percent_sign(reader, owner):
    ingest(owner, make_set("radio", owners=[owner]), handover="It hands over.")

    assert texts(reader, "h%r") == []


def test_style_and_depth_are_remembered_for_the_person(browser, reader):
    saved = browser.post("/preferences", {"style": "precise", "depth": "research"})
    page = browser.get("/").content.decode()

    assert saved.status_code == 204
    assert '<span id="asking-label">Precise · Research</span>' in page
    browser.post("/preferences", {"style": ""})
    kept = AskingPreferences.objects.get(user=reader)
    assert (kept.style, kept.depth) == ("", "research")


def test_unknown_styles_are_refused(browser):
    assert browser.post("/preferences", {"style": "rude"}).status_code == 422
    assert not AskingPreferences.objects.exists()


def test_automatic_leaves_everything_to_site_and_set():
    assert composer_fields(style="", depth="") == {}
    assert composer_fields(style="advanced", depth="parts") == {
        "mode": "enhanced", "rewrite_method": "decompose", "style": "advanced",
    }  # fmt: skip
    assert composer_fields(style="simple", depth="fast") == {"preset": "fast", "style": "simple"}


def test_the_hints_of_the_first_visit_are_shown_until_they_were_read(browser, owner):
    ingest(owner, make_set("radio", owners=[owner]), handover="It hands over.")
    first = browser.get("/").content.decode()

    browser.post("/preferences", {"hints": "on"})

    assert 'id="tips"' in first
    assert 'id="tips"' not in browser.get("/").content.decode()
    assert "Automatic" in first


def test_names_of_published_lexicons_are_offered_to_those_who_read_the_set(reader, owner):
    home = make_set("private", owners=[owner], visibility="members")
    values = {"text": "flux capacitor"}
    term_save(scope=scope_for(owner), actor=owner, set_id=home.pk, values=values)
    assert texts(owner, "what is a flux") == []

    version = lexicon_publish(scope=scope_for(owner), actor=owner, set_id=home.pk)
    lexicon_build(version_id=version.pk)

    assert ("term", "flux capacitor") in texts(owner, "what is a flux")
    assert texts(reader, "what is a flux") == []
