"""Every kind of page of the administration: nothing scrolls sideways, axe finds nothing, a cold load stays small."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.utils import timezone
from playwright.sync_api import Page

from accounts.models import User
from accounts.services import audit_record
from chat.models import Conversation, Message
from evaluation.models import GoldenSet, ProposedCase
from feedback.models import BadCase
from knowledge.models import Document, KnowledgeSet, SearchModel, SetEmbedder, Source, SourceHandler
from knowledge.queue import FILL_SET_VECTORS, set_embedder_subject
from tests.browser.conftest import LiveSite
from tests.forms_plugin import is_full
from work.models import Job

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(600)]

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CHECK = """rules => axe.run(document, { runOnly: rules }).then(found => found.violations.map(
    fault => `${fault.id}: ${fault.nodes.slice(0, 2).map(node => node.html.slice(0, 160)).join(" | ")}`))"""
WIDTHS = (1280, 390)
STILL = "document.getAnimations().every((one) => one.effect.getComputedTiming().iterations === Infinity)"
MAX_BYTES = 500_000
SHARE = 8  # one page of so many in the short form


def set_models_make(home: KnowledgeSet) -> None:
    """One model of the set in use, and one whose vectors are made."""
    target = SearchModel.objects.create(
        task="embed", provider="server", name="bge-m3", url="http://models", vectors="bge-m3", test_code="ok"
    )
    given = {"tenant": home.tenant, "knowledge_set": home, "target": target, "model": "bge-m3"}
    scale = {"offset": 0.0, "slope": 1.0, "prefix_offset": 0.0, "prefix_slope": 1.0, "questions": 150, "passages": 900}
    comparison = {"questions": 150, "passages": 900, "site": 0.71, "alone": 0.86, "fused": 0.9}
    figures = {"scales": {"embedded-minilm-ngrams-1": scale}, "comparison": comparison}
    since = timezone.now()
    SetEmbedder.objects.create(**given, number=1, state="live", figures=figures, live_since=since)
    paused = SetEmbedder.objects.create(**given, number=2, state="paused", mode="alone")
    subject = set_embedder_subject(paused.pk)
    work = {"kind": FILL_SET_VECTORS, "tenant": home.tenant, "subject": subject, "state": "paused"}
    Job.objects.create(**work, done=400, total=1200)


def kinds_of_pages() -> list[str]:
    """One address for each kind of page, of rows that the site of these tests has."""
    admin = User.objects.get(username="lin")
    conversation = Conversation.objects.create(user=admin, tenant=admin.tenant)
    message = Message.objects.create(conversation=conversation, question="Why?", answer="So.", state="done")
    case = BadCase.objects.create(message=message)
    document, made, source = Document.objects.first(), KnowledgeSet.objects.first(), Source.objects.first()
    handler = SourceHandler.objects.first()
    assert document is not None
    assert made is not None
    assert source is not None
    golden = GoldenSet.objects.create(tenant=admin.tenant, name="pages", created_by=admin)
    ProposedCase.objects.create(
        golden_set=golden,
        document=document,
        ordinal=0,
        question="What is a slice?",
        key_points=["A slice is a logical network."],
        quotation="A slice is a logical network.",
        origin="definition",
        styles={"with_errors": "What is a silce?"},
    )
    set_models_make(made)
    event = audit_record(actor=admin, action="case.move", target="Why?", case=case.pk, before="open", after="closed")
    lists = {
        "knowledge": "knowledgeset document ingestitem ingestjob duplicatepair optionschange source attribute "
        "languagemodel",
        "accounts": "user usergroup apikey tenant auditevent",
        "chat": "message conversation strategystatistics",
        "feedback": "badcase",
        "evaluation": "goldenset goldencase evaluationrun",
    }
    return [
        "",
        *(f"{app}/{model}/" for app, models in lists.items() for model in models.split()),
        *(f"knowledge/document/{document.pk}/{page}/" for page in ("change", "edit", "delete", "history")),
        *(f"knowledge/document/{document.pk}/change/?view={view}" for view in ("about", "versions")),
        "knowledge/document/upload/",
        f"knowledge/document/transfer/copy/?ids={document.pk}",
        *(f"knowledge/knowledgeset/{page}/" for page in ("add", "setup", "site-options")),
        *(f"knowledge/knowledgeset/{made.pk}/{page}/" for page in ("change", "options", "chunking", "rebuild")),
        *(f"knowledge/source/{page}/" for page in ("add", f"{source.pk}/change", f"compose/{made.pk}")),
        *([f"knowledge/sourcehandler/{handler.pk}/change/"] if handler else []),
        *(
            f"accounts/user/{page}/"
            for page in ("add", "setup", f"{admin.pk}/change", f"{admin.pk}/password", f"{admin.pk}/rights")
        ),
        f"accounts/auditevent/{event.pk}/change/",
        f"chat/message/{message.pk}/change/",
        f"feedback/badcase/{case.pk}/change/",
        "evaluation/goldenset/add/",
        f"evaluation/goldenset/{golden.pk}/proposals/",
        "evaluation/goldencase/lab/",
        *(f"evaluation/goldencase/set-models/{page}" for page in ("", f"set/?set={made.pk}")),
        f"evaluation/goldencase/diagnosis/?message={message.pk}",
        *(
            f"knowledge/{page}/"
            for page in ("optionschange/import", "sourceplace", "sourceplace/add", "languagemodel/add")
        ),
    ]


@pytest.fixture(scope="module", autouse=True)
def addresses(live_site: LiveSite, beside: Any) -> list[str]:
    found: list[str] = beside(kinds_of_pages)
    return found


def faults_of(page: Page, address: str) -> list[str]:
    found = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
            found.append(f"{address} at {width}: {wide} px wide")
    page.wait_for_function(STILL)
    page.evaluate(AXE)
    return [*found, *(f"{address}: {fault}" for fault in page.evaluate(CHECK, RULES))]


@pytest.fixture
def a_page(open_page) -> Page:
    return open_page(bypass_csp=True)  # axe is brought in by the test


def test_no_kind_of_page_is_too_wide_or_has_a_fault_that_axe_finds(addresses, a_page, live_site):
    faults, seen = [], 0
    for address in addresses if is_full() else addresses[::SHARE]:
        answer = a_page.goto(f"{live_site.url}/admin/{address}", wait_until="load")
        assert answer is not None
        assert answer.status == 200, address
        faults += faults_of(a_page, f"/admin/{address}")
        seen += 1

    assert seen > (40 if is_full() else 40 // SHARE)
    assert faults == [], json.dumps(faults, indent=1)


def test_a_model_is_connected_and_its_test_says_what_is_missing(open_page):
    page = open_page(width=390, at="/admin/knowledge/languagemodel/add/")
    page.locator("#id_name").fill("small-model")
    page.locator("#id_servers-0-url").fill("http://127.0.0.1:9999/v1")
    page.locator("#id_servers-0-new_key").fill("sk-secret")
    page.locator("button[name=_continue]").first.click()

    page.get_by_role("button", name="Test", exact=True).click()

    page.get_by_text("127.0.0.1 has a private address").first.wait_for()
    assert "sk-secret" not in page.content()


def test_a_keyboard_skips_the_navigation(open_page):
    page = open_page(at="/admin/")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "content"


def test_a_cold_load_of_the_first_page_is_small(browser, open_page, live_site):
    page = open_page()
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    client.send("Network.setCacheDisabled", {"cacheDisabled": True})
    sizes: list[float] = []
    client.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))

    page.goto(f"{live_site.url}/admin/knowledge/document/", wait_until="networkidle")

    assert len(sizes) > 5
    assert sum(sizes) < 2 * MAX_BYTES  # without compressed files, which only a start of the product makes
