"""Options that cannot work together are refused where they are saved and where they are sent."""

from __future__ import annotations

import pytest

from accounts.selectors import scope_for
from knowledge.models import KnowledgeSet, OptionsChange, SiteOptions
from knowledge.services.options import options_restore, set_options_update, site_options_update
from ragcore.errors import InvalidOptionsError
from tests.api.world import client_of, error_of, set_make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def change_site(world):
    def change(options):
        return site_options_update(scope=scope_for(world.root), actor=world.root, options=options)

    return change


@pytest.fixture
def change_set(world):
    def change(kept, options):
        return set_options_update(scope=scope_for(world.alice), actor=world.alice, set_id=kept.pk, options=options)

    return change


def test_a_site_is_not_saved_with_a_contradiction_and_the_field_is_named(change_site):
    with pytest.raises(InvalidOptionsError) as error:
        change_site({"chunking": {"min_tokens": 700, "max_tokens": 600}})

    assert [fault["field"] for fault in error.value.data["fields"]] == ["chunking.min_tokens"]
    assert "600" in error.value.data["fields"][0]["message"]
    assert not SiteOptions.objects.exclude(options={}).exists()
    assert not OptionsChange.objects.exists()


def test_a_set_is_looked_at_together_with_its_site(world, change_site, change_set):
    kept = set_make(world.alice)
    change_site({"retrieval": {"fused_limit": 10}})

    with pytest.raises(InvalidOptionsError):
        change_set(kept, {"retrieval": {"top_k": 20}})
    change_set(kept, {"retrieval": {"top_k": 20, "fused_limit": 40}})

    kept.refresh_from_db()
    assert kept.options == {"retrieval": {"top_k": 20, "fused_limit": 40}}


def test_a_site_does_not_bring_its_sets_into_contradiction(world, change_site, change_set):
    kept = set_make(world.alice, code="radio")
    change_set(kept, {"retrieval": {"top_k": 20}})

    with pytest.raises(InvalidOptionsError) as error:
        change_site({"retrieval": {"fused_limit": 15}})

    assert error.value.data["fields"][0]["layer"] == "set radio"
    change_site({"retrieval": {"fused_limit": 25}})


def test_what_an_older_version_has_stored_does_not_stand_in_the_way(world, change_site):
    set_make(world.alice, options={"chunking": {"size": 3}, "cutting": {"a": 1}})

    change_site({"retrieval": {"top_k": 5}})


def test_a_change_that_would_be_a_contradiction_now_cannot_be_taken_back(world, change_site, change_set):
    kept = set_make(world.alice)
    change_set(kept, {"retrieval": {"top_k": 20}})
    change_set(kept, {"retrieval": {"top_k": 5}})
    change_site({"retrieval": {"fused_limit": 10}})
    last = OptionsChange.objects.filter(knowledge_set=kept).latest("pk")

    with pytest.raises(InvalidOptionsError):
        options_restore(scope=scope_for(world.alice), actor=world.alice, change_id=last.pk)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/v1/rag/retrieve", {"query": "q", "top_k": 11}, "top_k"),
        ("/api/v1/rag/generate", {"query": "q", "top_k": 11}, "top_k"),
        ("/api/v1/rag/generate/stream", {"query": "q", "max_chunks": 50}, "max_chunks"),
        ("/api/v1/rag/batch", {"queries": ["q"], "top_k": 50}, "top_k"),
        ("/api/v1/rag/query", {"query": "q", "top_k": 20}, "top_k"),
        ("/api/v1/rag/generate", {"query": "q", "mode": "agentic", "max_tokens": 4096}, "max_tokens"),
        ("/v1/chat/completions", {"model": "ragsite:agentic", "messages": [{"role": "user", "content": "q"}]}, None),
    ],
)
def test_a_request_that_cannot_work_with_what_the_site_says_is_422(world, change_site, path, body, field):
    change_site({"retrieval": {"fused_limit": 10}, "answer": {"context_tokens": 38_000}})

    answer = client_of(world.alice).post(path, body)

    if field is None:  # the default length fits into the loop
        assert answer.status_code == 200, answer.content
        return
    assert answer.status_code == 422, answer.content
    error = error_of(answer)
    assert (error["code"], error["details"][0]["field"]) == ("invalid", field)
    assert error["details"][0]["message"] in error["message"]


def test_a_request_that_fits_is_answered(world, change_site):
    change_site({"retrieval": {"fused_limit": 10}})

    answer = client_of(world.alice).post("/api/v1/rag/retrieve", {"query": "q", "top_k": 10})

    assert answer.status_code == 200, answer.content


@pytest.mark.parametrize(
    ("bounds", "is_empty"),
    [
        ({"gte": 2024, "lte": 2020}, True),
        ({"gt": 5, "lt": 5}, True),
        ({"gt": 5, "lte": 5}, True),
        ({"gte": 5, "lte": 5}, False),
        ({"gte": "2024-12-31", "lte": "2024-01-01"}, True),
        ({"gte": "2024-01-01", "lte": "2024-01-01"}, False),
        ({"gt": 9, "gte": 1, "lt": 8}, True),
        ({"gte": 2020}, False),
    ],
)
def test_a_range_in_which_nothing_lies_is_422(world, bounds, is_empty):
    set_make(world.alice)
    body = {"filters": {"metadata": {"year": bounds}}}

    answer = client_of(world.alice).post("/api/v1/rag/filters/count", body)

    assert (answer.status_code == 422) == is_empty, answer.content
    if is_empty:
        assert error_of(answer)["details"][0]["field"] == "filters.metadata"


def test_sets_of_another_tenant_do_not_hold_a_site_up(world, change_site):
    set_make(world.eve, options={"retrieval": {"top_k": 50}})

    change_site({"retrieval": {"fused_limit": 10}})

    assert KnowledgeSet.objects.filter(tenant=world.abroad).count() == 1
