"""The page of strategies: figures for a period, within the viewer's tenant."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.models import StrategyStatistics
from tests.admin.conftest import signed_in
from tests.factories import make_user


def row(tenant, strategy="hyde", *, days=0, **values):
    day = timezone.now().date() - timedelta(days=days)
    values = {"answers": 4, "total_seconds": 10.0, "confidence_sum": 3.0, "refused": 1, "degraded": 2, **values}
    return StrategyStatistics.objects.create(tenant=tenant, strategy=strategy, day=day, **values)


def page(user, query=""):
    return signed_in(user).get(reverse("admin:chat_strategystatistics_changelist") + query)


def test_figures_are_shown_by_strategy(reviewer):
    row(reviewer.tenant)

    text = page(reviewer).content.decode()

    assert "Hypothetical answer (HyDE)" in text
    assert "2.5 s" in text
    assert "0.75" in text
    assert "25 %" in text
    assert "50 %" in text
    assert "4 answers" in text


@pytest.mark.parametrize(
    ("query", "total"), [("?days=1", 4), ("", 8), ("?days=7", 8), ("?days=30", 12), ("?days=x", 8)]
)
def test_the_period_is_chosen_in_the_address(reviewer, query, total):
    for days in (0, 3, 20, 90):
        row(reviewer.tenant, days=days)

    answer = page(reviewer, query)

    assert answer.context["total"] == total
    assert sum(is_current for _days, _words, is_current in answer.context["periods"]) == 1


def test_an_unknown_strategy_is_shown_by_its_name_and_escaped(reviewer):
    row(reviewer.tenant, "<b>own</b>")

    assert "&lt;b&gt;own&lt;/b&gt;" in page(reviewer).content.decode()


def test_another_tenants_figures_are_not_shown(reviewer, stranger):
    row(stranger.tenant)

    assert page(reviewer).context["rows"] == []
    assert "No question has been answered" in page(reviewer).content.decode()
    assert page(stranger).context["total"] == 4


def test_only_reviewers_open_the_page_and_nobody_writes(owner, own_set, administrator, reviewer):
    kept = row(reviewer.tenant)

    assert page(administrator).status_code == 200
    assert page(owner).status_code == 403
    assert page(make_user()).status_code == 302
    assert signed_in(administrator).get(reverse("admin:chat_strategystatistics_add")).status_code == 403
    delete = reverse("admin:chat_strategystatistics_delete", args=[kept.pk])
    assert signed_in(administrator).post(delete, {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("which", ["own", "foreign", "0", "1' OR '1'='1"])
def test_a_row_that_is_not_there_has_no_page(reviewer, stranger, which):
    rows = {"own": row(reviewer.tenant).pk, "foreign": row(stranger.tenant).pk}
    address = reverse("admin:chat_strategystatistics_change", args=[rows.get(which, which)])

    assert signed_in(reviewer).get(address).status_code == (200 if which == "own" else 404)
