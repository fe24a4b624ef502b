"""How fitted query vectors treat questions about other subjects."""

from __future__ import annotations

import numpy as np
import pytest
from django.urls import reverse
from django.utils import translation

from evaluation.services.adapter_general import general_recall
from knowledge.models import QueryAdapter
from ragcore.embedding import query_adapter
from ragcore.text.scripts import cjk_share
from ragcore.training.general_pairs import MOST_TEXTS, general_pairs, recall_of
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_set, scope_of

pytestmark = pytest.mark.django_db


def adapter(shift: float) -> query_adapter.QueryAdapter:
    """Moves every question so far in one direction."""
    return query_adapter.QueryAdapter(
        down=np.zeros((768, 2), np.float32),
        up=np.zeros((2, 768), np.float32),
        shift=np.full(768, shift, np.float32),
    )


def test_general_texts_are_of_both_languages_and_the_same_ones_each_time():
    pairs = general_pairs()

    assert pairs == general_pairs.__wrapped__()
    english, chinese = pairs[:MOST_TEXTS], pairs[MOST_TEXTS:]
    assert not any(cjk_share(question) for question, _rest in english)
    assert all(cjk_share(question) for question, _rest in chinese)
    assert MOST_TEXTS // 2 <= len(chinese) <= MOST_TEXTS
    assert len({question for question, _rest in pairs}) == len(pairs)
    assert all(len(question) <= 200 and len(rest) <= 400 for question, rest in pairs)


def test_what_is_found_is_among_the_first_ten():
    told = np.eye(30, dtype=np.float32)
    asked = told.copy()
    asked[0] = np.linspace(0.1, 1.0, 30)  # its own comes last

    assert recall_of(asked, told).tolist() == [0.0, *[1.0] * 29]


@pytest.mark.full
def test_an_adapter_that_forgets_is_told_from_one_that_changes_nothing():
    judged = [general_recall(adapter(shift), scope=scope_of(make_admin())) for shift in (0.0, 0.5)]

    kept, lost = judged
    assert (kept["difference"], kept["low"], kept["high"]) == (0.0, 0.0, 0.0)
    assert 0.4 < kept["before"] < 0.95  # neither too hard nor too easy to show a difference
    assert lost["high"] < -0.01
    assert kept["cases"] == len(general_pairs())


@pytest.mark.parametrize(("high", "is_said"), [(-0.02, True), (-0.005, False)])
def test_the_page_shows_the_figure_and_warns_of_a_loss_beyond_chance(high, is_said):
    owner = make_admin()
    home = make_set("radio", owners=[owner])
    general = {"before": 0.7, "after": 0.66, "difference": -0.04, "low": -0.06, "high": high, "cases": 187}
    overall = {"recall@10": {"before": 0.5, "after": 0.6, "difference": 0.1, "low": 0.05, "high": 0.2}}
    figures = {"general": general, "overall": overall, "held_out": 40, "discrimination": {"before": 0.1, "after": 0.2}}
    QueryAdapter.objects.create(
        tenant_id=home.tenant_id, knowledge_set=home, number=1, model="other", state="ready", figures=figures
    )
    client = signed_in(owner)
    shown = lambda: client.get(f"{reverse('admin:evaluation_adapters_set')}?set={home.pk}").content.decode()  # noqa: E731

    page = shown()
    client.cookies["django_language"] = "zh-hans"
    with translation.override("zh-hans"):
        chinese = shown()

    assert "texts about other subjects" in page
    assert "(187)" in page
    assert "其他主题的文本" in chinese
    assert ("Questions about other subjects find less" in page) is is_said
    assert ("其他主题的提问" in chinese) is is_said
