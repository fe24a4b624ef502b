"""Access that is asked for and granted, signing in by OpenID and in two steps, sessions, and the audit page."""

from __future__ import annotations

import base64
import re
import time

import pytest
from django_otp.oath import TOTP
from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD
from tests.browser.content import English

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(600)]
SIGN_OUT_MS = 5_000
CHINESE = {"locale": "zh-CN"}


def is_as_wide_as_the_window(page: Page) -> bool:
    page.wait_for_load_state()  # between two pages there is no document
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize(
    ("user", "options", "ask", "granted"),
    [
        pytest.param(
            "chen",
            {"width": 1280},
            "Request access",
            "You now have access to the knowledge set",
            marks=pytest.mark.full,
        ),
        ("wang", {"width": 390, **CHINESE}, "申请访问", "您现在可以访问知识集"),
    ],
    ids=["en", "zh"],
)
def test_access_is_asked_for_granted_and_told(open_page, live_site, user, options, ask, granted):
    employee = open_page(user, **options, at="/sets")
    entry = employee.locator("main li", has_text="微波产品内部资料")
    entry.locator("summary", has_text=ask).click()
    entry.locator("[name=reason]").fill("差旅 and travel")
    entry.locator("button[type=submit]").click()
    expect(employee.get_by_role("status")).to_be_visible()

    owner = open_page(live_site.admin, **options, at="/admin/")
    bell = owner.locator(".rs-bell")
    expect(bell.locator(".rs-bell-count")).to_have_text("1")
    bell.click()
    owner.locator(".line-open button").first.click()
    expect(owner.locator("main")).to_contain_text("差旅 and travel")
    owner.locator("button[name=approve]").click()

    employee.goto(f"{live_site.url}/inbox")
    expect(employee.locator("main")).to_contain_text(granted)
    assert is_as_wide_as_the_window(employee)
    assert is_as_wide_as_the_window(owner)


def test_a_person_of_the_provider_comes_in(open_page, live_site):
    page = open_page(None)
    page.goto(f"{live_site.url}/sign-in?next=/profile")

    page.locator("a[href*='sign-in/oidc']").click()

    page.wait_for_url(f"{live_site.url}/profile")
    expect(page.locator(".page-lead")).to_contain_text("mei")


def code_of(secret: str) -> str:
    plain = secret.replace(" ", "")
    totp = TOTP(base64.b32decode(plain + "=" * (-len(plain) % 8)))
    totp.time = time.time()
    return f"{totp.token():06}"


@pytest.mark.parametrize(
    ("user", "options"),
    [("maya", {}), pytest.param("wang", {"width": 390, **CHINESE}, marks=pytest.mark.full)],
    ids=["en", "zh"],
)
def test_two_steps_and_an_ended_session(open_page, live_site, user, options):
    here = open_page(user, **options, at="/profile/second-factor")
    here.locator("#id_code").fill(code_of(here.locator("#secret").inner_text()))
    here.locator("#id_code").press("Enter")
    expect(here.locator("h1")).to_have_text(re.compile("Recovery codes|恢复码"))
    recovery = [word for word in here.locator("main li").all_inner_texts() if "-" in word]

    there = open_page(None, **options)
    there.goto(f"{live_site.url}/sign-in")
    there.locator("#id_username").fill(user)
    there.locator("#id_password").fill(PASSWORD)
    there.locator("#id_password").press("Enter")
    there.wait_for_url("**/sign-in/code")
    there.locator("#id_code").fill(recovery[0])
    there.locator("#id_code").press("Enter")
    there.wait_for_url(f"{live_site.url}/")
    there.locator("#question").fill(English.question)  # the first question opens the page's socket
    there.locator("#question").press("Enter")
    expect(there.locator(".turn").last).to_have_attribute("data-state", "done")

    here.goto(f"{live_site.url}/profile")
    here.locator("#id_name").fill("script")
    here.locator("form#new-key button").click()
    expect(here.locator("#new-key")).to_be_focused()
    expect(here.locator("#secret")).to_be_in_viewport()
    here.goto(f"{live_site.url}/profile")
    here.locator("form[action*='/sessions/'][action$='/end'] button").click()
    there.wait_for_url("**/sign-in**", timeout=SIGN_OUT_MS)  # its socket is closed, nobody has touched the page
    assert is_as_wide_as_the_window(here)


@pytest.mark.parametrize(
    ("options", "words"),
    [pytest.param({}, "Signed in", marks=pytest.mark.full), ({"width": 390, **CHINESE}, "登录")],
    ids=["en", "zh"],
)
def test_an_administrator_reads_the_audit_log(open_page, live_site, options, words):
    page = open_page(live_site.admin, by_page=True, **options)

    page.goto(f"{live_site.url}/admin/accounts/auditevent/?action=sign_in.done")
    page.locator("#result_list tbody a").first.click()

    expect(page.locator("#header-inner")).to_contain_text(words)
    expect(page.locator("#header-inner")).not_to_contain_text(re.compile("sign_in", re.IGNORECASE))
    assert is_as_wide_as_the_window(page)
