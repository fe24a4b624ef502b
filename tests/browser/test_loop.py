"""The loop that makes answers better, walked through in a real browser.

Thumbs down → case → diagnosis → mark → remedy → test → golden case → run → comparison → gate → publication; then the
approved answer, the weekly report, the same pages on a telephone, and in the long form the same walk in Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import translation
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.selectors import scope_for
from chat.models import Conversation, Message
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.remedies.base import REMEDIES
from feedback.services import case_ensure, vote_record
from knowledge.models import Document, KnowledgeSet
from knowledge.services import document_upload
from ragsite.embedded.processes import wait_until
from tests.browser.conftest import INGEST_SECONDS
from tests.scripted_llm import Recorded, Reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("guarded"),  # before the browser, whose event loop keeps this thread from the database
]

DONE_MS = 120_000  # the first case loads the models
CASES = "/admin/feedback/badcase/"
NEW_RUN = "/admin/evaluation/evaluationrun/new/"
LANGUAGES = {"en-GB": "en", "zh-CN": "zh-hans"}  # of browsers -> of catalogues
QUESTION = "After how many seconds is a handover given up?"
ACCEPTED = "falls back to the source path"
RIGHT = f"After 2 s, when T_mod expires, the session function {ACCEPTED}."
OTHER_WORDS = (  # that keywords alone hardly find
    "Which clock guards a switch of the route?",
    "Who waits for an acknowledgement, and until when?",
    "Which warning follows a delay?",
)
TIMER = "Session management between control and user plane"
OTHER_CASES = (  # question, what opened the case
    ("Which alarm is raised when a handover is late?", "reword"),
    ("How many cells does one control unit serve?", "refusal"),
    ("Who acknowledges the switch of the route?", "vote"),
)
DECOY = "# Patience\n\nPatience with a handover depends on the operator. Reports say how many a cell has given up.\n"


def reader_of_sources(request: Recorded) -> Reply:
    """A model that says what its sources say, and no more."""
    prompt = " ".join(str(request.body.get("messages", [{}])[-1].get("content")).split())
    return Reply(texts=(f"{RIGHT} [1]" if ACCEPTED in prompt else "It depends on the operator [1].",))


@pytest.fixture(scope="module")
def guarded(live_site: Any, beside: Any) -> Iterator[int]:
    """A set whose golden set guards it, with a document that is found first and says nothing; returns the set's id."""

    def made() -> int:
        admin = User.objects.get(username=live_site.admin)
        home = KnowledgeSet.objects.get(code="3gpp")
        names = [f"#{pk}" for pk in Document.objects.filter(sets=home).order_by("pk").values_list("pk", flat=True)]
        rows = [
            GoldenRow(question=f"{start} T_mod?", relevant=tuple(names), key_points=("T_mod",))
            for start in ("How long does the session function wait for", "What starts", "What is the default of")
        ]
        rows += [GoldenRow(question=question, relevant=tuple(names), key_points=("T_mod",)) for question in OTHER_WORDS]
        golden = golden_import(tenant=admin.tenant, name="Sessions", rows=rows, actor=admin).golden_set
        golden.sets.set([home])
        document_upload(
            scope=scope_for(admin),
            actor=admin,
            sets=[home.pk],
            name="patience.md",
            content=DECOY.encode(),
            title="Patience in a handover",
        )
        assert wait_until(
            lambda: not Document.objects.exclude(state=Document.State.LIVE).exists(), seconds=INGEST_SECONDS
        )
        _complained_before(User.objects.get(username=live_site.reader))
        return home.pk

    home_id: int = beside(made)
    live_site.llm.respond = reader_of_sources
    yield home_id
    live_site.llm.respond = None


def _complained_before(reader: User) -> None:
    """Cases that stand in the list already."""
    for question, origin in OTHER_CASES:
        conversation = Conversation.objects.create(user=reader, tenant=reader.tenant)
        message = Message.objects.create(
            conversation=conversation, question=question, answer="It depends.", state="done", status="answered"
        )
        if origin == "vote":
            vote_record(scope=scope_for(reader), user=reader, message_id=message.pk, vote="down", rating=2)
        else:
            case_ensure(message=message, origin=origin)


def words_of(locale: str) -> Callable[..., str]:
    """What the product says in a language, out of its own catalogue."""

    def said(message: str, context: str = "") -> str:
        with translation.override(locale):
            return translation.pgettext(context, message) if context else translation.gettext(message)

    return said


def finished(page: Page, state: str) -> None:
    expect(page.locator(".run-state").first).to_have_text(state, timeout=DONE_MS)


def remedy(page: Page, kind: str, *, say: Callable[..., str] = str, **choices: str) -> None:
    """Apply a remedy by its button, whether its form is folded or not; `choices`: labels by name of a field."""
    form = page.locator(".case-remedies form", has=page.locator(f"input[value={kind}]"))
    expect(form).to_be_visible()
    if form.locator("details:not([open])").count():
        form.locator("summary").click()
    for name, label in choices.items():
        form.locator(f"[name={name}]").select_option(label=label)
    form.locator("button:not([type=button])").click()
    applied = REMEDIES[kind]
    again = " Test the question again to see what it changes." if applied.changes_search else ""
    words = say(f"Applied: %(remedy)s.{again}") % {"remedy": say(str(applied.label))}
    expect(page.get_by_text(words)).to_be_visible()


def test_from_a_thumb_down_to_the_publication_of_settings(
    open_page: Any, live_site: Any, guarded: int, picture: Any
) -> None:
    _walked(open_page, live_site, guarded, picture, locale="en-GB", results=9)


def _walked(open_page: Any, live_site: Any, home: int, picture: Any, *, locale: str, results: int) -> None:
    say = words_of(LANGUAGES[locale])
    ending = "" if locale == "en-GB" else "-zh"

    def pictured(page: Page, name: str, part: str = "") -> None:
        """A picture for docs/reviewers.md, of the page from its first card on or of one part."""
        page.evaluate(
            "scrollBy(0, document.querySelector('.rs-desk .rs-card, .rs-desk').getBoundingClientRect().top - 80)"
        )
        picture(page.locator(part) if part else page, f"{name}{ending}.png", colours=64)

    _complained(open_page(live_site.reader, locale=locale), say)
    page = open_page(locale=locale, width=1280, height=1500, at=CASES)
    _mended(page, say, pictured)
    page.set_viewport_size({"width": 1280, "height": 640})
    page.goto(f"{live_site.url}{CASES}")
    pictured(page, "cases")
    page.set_viewport_size({"width": 1280, "height": 1500})
    _measured(page, live_site, say, pictured)
    _published(page, live_site, home, say, pictured, results=results)


def _complained(page: Page, say: Callable[..., str]) -> None:
    """A reader votes an answer of the chat down, with a reason and a comment."""
    page.locator("#question").fill(QUESTION)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done", timeout=DONE_MS)
    expect(page.locator(".report")).to_contain_text("depends on the operator")
    page.locator("[data-vote=down]").last.click()
    page.locator("#vote .pill", has_text=say("Something is missing")).click()
    page.locator("#vote-comment").fill("There is a timer for this.")
    with page.expect_response(lambda response: response.url.endswith("/feedback") and response.status == 201):
        page.locator("#vote [type=submit]").click()


def _mended(page: Page, say: Callable[..., str], pictured: Callable[..., None]) -> None:
    """A reviewer sees the case and its diagnosis, marks the passage, applies a remedy, tests, keeps a golden case."""
    page.locator("#result_list tbody a", has_text=QUESTION).first.click()
    expect(page.get_by_text("There is a timer for this.")).to_be_visible()

    page.locator("body").press("m")
    page.locator("[data-mark]").first.click()
    expect(page.locator("[name=passage]")).to_have_value(re.compile(r"#\d+:\d+"))
    search = page.get_by_role("combobox", name=say("Search documents and passages"))
    search.press_sequentially(TIMER)
    expect(page.locator(".pick-list [role=option]").first).to_contain_text(TIMER)
    search.press("ArrowDown")
    search.press("Enter")
    expect(page.locator(".pick-chosen li")).to_have_text(re.compile(TIMER))
    page.locator("[name=right_answer]").fill(RIGHT)
    page.locator("[name=accepted]").fill(ACCEPTED)
    page.get_by_role("button", name=say("Save and diagnose")).click()
    expect(page.locator("#cause")).to_contain_text(re.compile(r"\d+ ?%"))

    page.locator("body").press("t")
    expect(page.locator("#again-title")).to_have_text(say("Still not answered"))
    remedy(page, "add_question", say=say)
    page.locator("body").press("t")
    expect(page.locator("#again-title")).to_have_text(say("Answered now"))
    expect(page.locator("#again")).to_contain_text(RIGHT)

    remedy(page, "golden_case", say=say, golden_set="Sessions")
    expect(page.locator(".case-remedies li", has_text=say("Save as a golden case"))).to_be_visible()
    pictured(page, "case")
    pictured(page, "remedies", ".case-remedies")


def _measured(page: Page, live_site: Any, say: Callable[..., str], pictured: Callable[..., None]) -> None:
    """Two configurations, side by side, and both ways to one case."""
    page.goto(f"{live_site.url}{NEW_RUN}")
    page.select_option("[name=golden_set]", label="Sessions")
    page.select_option("[name=component]", "retrieval")
    page.check("[name=ready][value=bm25]")
    page.get_by_role("button", name=say("Start"), exact=True).click()
    finished(page, say("Finished", "state of an evaluation run"))
    expect(page.get_by_role("heading", name=say("Worst cases"))).to_be_visible()

    page.get_by_role("link", name=say("Compare"), exact=True).click()
    plot = re.compile(re.escape(say("Differences with their 95 %% intervals") % ()))
    expect(page.get_by_role("img", name=plot)).to_be_visible()
    pictured(page, "comparison")
    page.get_by_role("link", name=QUESTION).click()
    expect(page.locator(".run-sides > section")).to_have_count(2)
    expect(page.locator(".run-relevant").first).to_be_visible()


def _published(
    page: Page, live_site: Any, home: int, say: Callable[..., str], pictured: Callable[..., None], *, results: int
) -> None:
    """Settings that a golden set guards are measured, and published when they pass."""
    page.goto(f"{live_site.url}/admin/knowledge/knowledgeset/{home}/options/")
    expect(page.locator("#options-gate")).to_contain_text("Sessions")
    page.locator("[name='retrieval.top_k']").fill(str(results))
    page.locator(".rs-sticky").get_by_role("button", name=say("Save")).click()
    finished(page, say("Passed", "state of a change"))
    pictured(page, "gate")
    page.get_by_role("button", name=say("Publish"), exact=True).click()
    finished(page, say("Published", "state of a change"))
    page.get_by_role("link", name=say("Settings of the set")).click()
    expect(page.locator("[name='retrieval.top_k']")).to_have_value(str(results))


def test_an_approved_answer_reaches_readers_until_it_is_taken_back(open_page: Any, live_site: Any) -> None:
    page = open_page(locale="en-GB", at=CASES)
    page.locator("#result_list tbody a", has_text=QUESTION).click()
    remedy(page, "approve")

    reader = open_page(live_site.reader, locale="en-GB")
    reader.locator("#question").fill(QUESTION.lower())
    reader.locator("#question").press("Enter")
    expect(reader.locator(".turn-approved")).to_contain_text("Lin")
    expect(reader.locator(".report")).to_contain_text(RIGHT)

    page.locator("body").press("z")
    expect(page.locator(".case-remedies")).to_contain_text("Undone")


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.full), 390])
def test_the_pages_are_chinese_and_fit_a_telephone(open_page: Any, live_site: Any, width: int) -> None:
    page = open_page(locale="zh-CN", width=width, height=1500, color_scheme="light" if width == 1280 else "dark")

    def holds(words: str) -> None:
        expect(page.locator("body")).to_contain_text(words)
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.goto(f"{live_site.url}{CASES}")
    page.locator("#result_list tbody a", has_text=QUESTION).click()
    holds("正确的回答应该是什么")
    _walked_in_chinese(page)
    page.goto(f"{live_site.url}{CASES}report/")
    holds("预期收益")
    page.goto(f"{live_site.url}{NEW_RUN}")
    holds("以您的权限提问")
    page.goto(f"{live_site.url}/admin/evaluation/gatedchange/")
    page.locator("a[href*='/gatedchange/'][href$='/change/']").first.click()
    holds("已发布")
    page.locator("h2 a[href*='/evaluationrun/']").click()
    holds("95% 置信区间")
    page.goto(f"{live_site.url}/admin/evaluation/evaluationrun/")
    page.locator("#result_list a[href*='/change/']").last.click()
    page.locator("a[href$='/compare/']").click()
    holds("配对置换检验")


def _walked_in_chinese(page: Page) -> None:
    """The same steps with Chinese words: mark and diagnose, test again, a remedy and its way back."""
    page.locator("body").press("d")
    expect(page.locator("#cause")).to_contain_text(re.compile("可能原因|没有发现问题|未发现"))
    page.locator("body").press("t")
    expect(page.locator("#again-title")).to_have_text("现已能回答")
    form = page.locator(".case-remedies form", has=page.locator("input[value=ask_owner]"))
    if form.locator("details:not([open])").count():
        form.locator("summary").click()
    form.get_by_role("button").click()
    expect(page.locator(".case-remedies li", has_text="请负责人补充文档").first).to_be_visible()
    page.locator("body").press("z")
    expect(page.locator(".case-remedies")).to_contain_text("撤销")


@pytest.mark.full
def test_the_same_walk_in_chinese_after_the_remedies_were_taken_back(
    open_page: Any, live_site: Any, guarded: int, picture: Any
) -> None:
    page = open_page(locale="zh-CN", width=1280, at=CASES)
    page.locator("#result_list tbody a", has_text=QUESTION).click()
    undo = page.locator(".case-remedies input[name=act][value=undo]")
    expect(undo.first).to_be_attached()
    for left in range(undo.count() - 1, -1, -1):  # the key takes back the latest one that is in force
        page.locator("body").press("z")
        expect(undo).to_have_count(left)

    _walked(open_page, live_site, guarded, picture, locale="zh-CN", results=8)
