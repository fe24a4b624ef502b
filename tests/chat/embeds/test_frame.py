"""The frame and the script: who may show them, and that everything else stays closed."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from chat.models import Embed
from tests.chat.embeds.signing import HOST


def ancestors(response) -> str:
    policy = response["Content-Security-Policy"]
    return re.search(r"frame-ancestors ([^;]*)", policy)[1].strip()


def test_named_origins_alone_may_show_the_frame(portal):
    Embed.objects.update(origins=[HOST, "https://intra.example.com:8443"])

    response = Client().get(f"/embed/{portal.embed.code}")

    assert response.status_code == 200
    assert ancestors(response) == f"{HOST} https://intra.example.com:8443"
    assert "X-Frame-Options" not in response
    assert not response.cookies
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert "script-src 'self'" in response["Content-Security-Policy"]


def test_the_preview_is_shown_by_this_site_alone(portal):
    response = Client().get(f"/embed/{portal.embed.code}/preview")

    assert ancestors(response) == "'self'"
    assert HOST not in response.content.decode()


def test_all_other_pages_stay_out_of_frames(portal):
    bearer, missing = portal.bearer(), "messages/00000000-0000-0000-0000-000000000001"
    client = Client()
    client.force_login(portal.admin)
    responses = [client.get(address) for address in ("/", "/profile", "/admin/", "/embed/nothing", "/sign-in")]
    responses += [portal.get(missing, bearer), portal.enter()]

    for response in responses:
        assert ancestors(response) == "'none'"
        assert response["X-Frame-Options"] == "DENY"


def test_the_script_is_the_only_file_that_other_origins_load(db):
    response = Client().get("/embed.js")
    again = Client().get("/embed.js", headers={"If-None-Match": response["ETag"]})

    assert response["Content-Type"] == "text/javascript; charset=utf-8"
    assert response["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert not response.cookies
    assert again.status_code == 304
    assert Client().get("/embed/nothing")["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("lang", "words"), [("zh-CN", "打开"), ("zh", "打开"), ("de", "Ask"), ("", "Ask"), ("<x>", "Ask")]
)
def test_the_frame_speaks_the_language_of_the_page(portal, lang, words):
    html = Client().get(f"/embed/{portal.embed.code}", {"lang": lang}).content.decode()

    assert ('lang="zh-Hans"' in html) is (words == "打开")
    assert "<x>" not in html


def test_title_and_opening_text_are_in_the_language_of_the_frame(portal):
    Embed.objects.update(title="Help <b>", title_zh="帮助", greeting="Hello", language="zh-hans")
    chinese = Client().get(f"/embed/{portal.embed.code}").content.decode()
    Embed.objects.update(language="en")
    english = Client().get(f"/embed/{portal.embed.code}", {"lang": "zh"}).content.decode()

    assert "帮助" in chinese
    assert "Hello" in chinese  # there is none in Chinese
    assert "Help &lt;b&gt;" in english
