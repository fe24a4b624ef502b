"""An administrator connects a language model: wrong addresses are told in words, and only one that works is used."""

from __future__ import annotations

import re
import socket

import pytest
from playwright.sync_api import Page, expect

from accounts.models import Tenant
from knowledge.models import SourcePlace
from tests.scripted_llm import Reply, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(600)]
PAGE = b"<!DOCTYPE HTML><html><head><title>Error response</title></head><body><p>Unsupported method</p></body></html>"
WAYS = {
    "en": (
        {"width": 1280},
        ["nothing listens there", "not know this address (HTTP 404)", "Not an OpenAI-compatible server (HTTP 501)."],
        ("Test failed, not used", "Being tested", "Works", "This model is already registered."),
    ),
    "zh": (
        {"width": 390, "locale": "zh-CN"},
        ["没有", "没有此地址（HTTP 404）", "不是兼容 OpenAI 的服务器（HTTP 501）。"],
        ("测试未通过，未启用", "测试中", "正常", "此模型已登记。"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def local_hosts(live_site, beside):
    """Models may be on this machine."""
    beside(
        lambda: SourcePlace.objects.create(
            tenant=Tenant.objects.get(is_default=True), kind="host", location="127.0.0.1"
        )
    )


def closed_port() -> int:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return int(closed.getsockname()[1])


def save(page: Page) -> None:
    page.locator("[name=_continue]").click()


@pytest.mark.parametrize("language", [pytest.param("en", marks=pytest.mark.full), "zh"])
def test_a_model_is_connected(open_page, live_site, local_hosts, fresh_script, language):
    options, sentences, (failed, testing, works, twice) = WAYS[language]
    page = open_page(live_site.admin, **options)
    name = f"small-{language}"
    with serving() as server:
        page.goto(f"{live_site.url}/admin/knowledge/languagemodel/add/")
        page.locator("#id_name").fill(name)
        page.locator("[name=used_for][value=judge]").check()
        page.locator("#id_servers-0-url").fill(f"http://127.0.0.1:{closed_port()}/v1")
        save(page)
        state = page.locator("#model-live")
        replies = [None, Reply(status=404, failure=PAGE), Reply(status=501, failure=PAGE)]
        for reply, sentence in zip(replies, sentences, strict=True):
            if reply is not None:
                server.default = reply
                page.locator("#id_servers-0-url").fill(server.url)
                save(page)
            expect(state).to_contain_text(failed)
            expect(state).to_contain_text(sentence)
            expect(page.locator("body")).not_to_contain_text("DOCTYPE")
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")

        server.default = Reply(hold_before=0)  # it is slow: the page does not wait, and follows
        save(page)
        expect(state).to_contain_text(testing)
        expect(state.locator("progress")).to_be_visible()
        server.default = Reply()
        server.release.set()
        expect(state).to_contain_text(works, timeout=30_000)

        page.goto(f"{live_site.url}/admin/knowledge/languagemodel/")
        row = page.locator("#purposes-live tr", has_text=name)
        expect(row).to_contain_text(works)
        page.goto(f"{live_site.url}/admin/knowledge/languagemodel/add/")
        page.locator("#id_name").fill(name)
        save(page)
        expect(page.locator("main, body").first).to_contain_text(twice)
        page.goto(f"{live_site.url}/admin/")
        expect(page.locator("[data-health]")).to_contain_text(re.compile(name))
