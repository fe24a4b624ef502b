"""What owners see of passages that rules described, and the button that asks the model again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from knowledge.models import RepresentationRetry
from tests.admin.conftest import make_document, signed_in
from tests.factories import make_user

BY_RULES = "2 passages have summaries by rules, because the language model could not be reached."
BY_RULES_ZH = "有 2 个段落的摘要由规则生成，因为无法连接语言模型；系统会自动重新生成。"


def lack(document, **fields):
    version = document.live_version
    values = {"lacks_summary": True, "reason": "unavailable", **fields}
    return RepresentationRetry.objects.create(chunk=version.chunks.get(), version=version, **values)


def page_of(row) -> str:
    return reverse("admin:knowledge_knowledgeset_change", args=[row.pk])


def button_of(row) -> str:
    return reverse("admin:knowledge_knowledgeset_enrich", args=[row.pk])


@pytest.fixture
def lacking(own_set):
    """Two documents; the model was last asked about one of them five minutes ago."""
    found = [make_document(title, own_set) for title in ("a", "b")]
    now = timezone.now()
    pause = {"tried": now - timedelta(minutes=5), "not_before": now + timedelta(minutes=9), "faults": 3}
    for document in found:
        lack(document, **pause)
    return found


def test_the_page_of_a_set_says_what_rules_wrote_and_when_it_is_tried_again(owner, own_set, lacking):
    for address in (page_of(own_set), reverse("admin:knowledge_knowledgeset_options", args=[own_set.pk])):
        page = signed_in(owner).get(address).content.decode()

        assert BY_RULES in page
        assert "They are enriched again automatically." in page
        assert "5 minutes ago</time>" in page
        assert "Next attempt: " in page
        assert f'action="{button_of(own_set)}"' in page


def test_the_page_of_a_document_says_it_for_its_own_passages(owner, lacking):
    page = signed_in(owner).get(reverse("admin:knowledge_document_change", args=[lacking[0].pk])).content.decode()

    assert "1 passage has a summary by rules" in page
    assert "Last attempt:" in page


def test_it_is_said_in_chinese(owner, own_set, lacking):
    client = signed_in(owner)
    page = client.get(page_of(own_set), headers={"Accept-Language": "zh-hans"}).content.decode()

    assert BY_RULES_ZH in page
    assert "立即重新增强这些段落" in page
    assert "上次尝试：" in page


def test_what_was_given_up_is_said_and_has_no_next_attempt(owner, own_set):
    lack(make_document("a", own_set), lacks_questions=True, reason="refused", attempts=3, given_up=timezone.now())

    page = signed_in(owner).get(page_of(own_set)).content.decode()

    assert "1 passage keeps summaries or questions by rules: 3 answers of the language model were not usable." in page
    assert "Next attempt" not in page


def test_a_set_whose_passages_lack_nothing_says_nothing(owner, own_set):
    make_document("a", own_set)

    page = signed_in(owner).get(page_of(own_set)).content.decode()

    assert "by rules" not in page
    assert button_of(own_set) not in page


def test_the_button_asks_for_the_passages_of_the_set(owner, own_set, other_set, lacking):
    lack(make_document("c", other_set))
    client = signed_in(owner)

    assert client.get(button_of(own_set)).status_code == 405
    done = client.post(button_of(own_set), follow=True)

    assert "The language model is asked for these passages now" in done.content.decode()
    assert "Next attempt: within the next minutes" in done.content.decode()
    asked = RepresentationRetry.objects.filter(requested__isnull=False)
    assert set(asked.values_list("version__document", flat=True)) == {document.pk for document in lacking}


@pytest.mark.parametrize("who", ["stranger", "reviewer", "member"])
def test_nobody_else_may_press_it(request, own_set, lacking, who):
    user = make_user("member") if who == "member" else request.getfixturevalue(who)
    own_set.members.add(user)

    assert signed_in(user).post(button_of(own_set)).status_code in (302, 403, 404)

    assert not RepresentationRetry.objects.filter(requested__isnull=False).exists()
