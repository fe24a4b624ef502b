"""Sets by axis with their health, and how they are configured."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from knowledge.models import Document, DuplicatePair, IngestItem, KnowledgeSet, SiteOptions
from tests.admin.conftest import make_document, signed_in
from tests.factories import ingest, make_set

SETS = "admin:knowledge_knowledgeset_changelist"


def axes(client) -> dict[str, list[tuple[str, str]]]:
    """Axis → (code of the set, health in words)."""
    found = client.get(reverse(SETS)).context["axes"]
    return {
        axis.value: [(row.code, ", ".join(one.words for one in healths)) for row, healths in rows]
        for axis, rows in found
    }


def options_page(row: KnowledgeSet) -> str:
    return reverse("admin:knowledge_knowledgeset_options", args=[row.pk])


def test_sets_stand_on_their_axis_with_their_state_in_words(administrator):
    live, failed = make_set("live"), make_set("failed", axis="X")
    working, nothing = make_set("working", axis="X"), make_set("nothing", axis="Y")
    make_set("bare", axis="Y")
    make_document("a", live)
    make_document("b", failed, working, state="processing")
    make_document("c", failed, state="failed")
    Document.objects.filter(pk=make_document("d", nothing).pk).update(state="deleted")

    assert axes(signed_in(administrator)) == {
        "1": [("live", "all searchable")],
        "X": [("failed", "1 failed, 1 processing"), ("working", "1 processing")],
        "Y": [("bare", "no documents yet"), ("nothing", "none searchable")],
    }


def test_every_axis_is_there_even_without_sets(owner, own_set):
    page = signed_in(owner).get(reverse(SETS))

    assert [axis.value for axis, _rows in page.context["axes"]] == ["1", "X", "Y"]
    assert page.content.decode().count("You do not manage a knowledge set in this category") == 2


def test_a_set_counts_its_pairs_and_knows_its_last_change(administrator):
    home = make_set("home")
    first, second = make_document("a", home), make_document("b", home)
    gone = make_document("c", home, deleted=timezone.now())
    for other in (second, gone):
        DuplicatePair.objects.create(tenant=home.tenant, first=first, second=other, kind="near", similarity=0.9)

    row = signed_in(administrator).get(reverse(SETS)).context["cl"].result_list[0]

    assert row.pair_count == 1
    assert row.changed == Document.objects.filter(deleted=None).order_by("-updated").first().updated


# ── options ─────────────────────────────────────────────────────────────────────────────────────


def test_each_option_says_where_its_value_comes_from(administrator):
    home = make_set("home", options={"chunking": {"max_tokens": 300}})
    SiteOptions.objects.create(tenant=home.tenant, options={"chunking": {"min_tokens": 60}})

    page = signed_in(administrator).get(options_page(home))
    lines = {group.code: lines for group, lines in page.context["form"].lines()}["chunking"]
    origins = {line.option.name: line.origin for line in lines}

    assert origins["max_tokens"] == "300 (set here)"
    assert origins["min_tokens"] == "60 (site default)"
    assert origins["section_tokens"] == "2000 (default)"


def test_an_owner_sets_a_value_and_an_empty_field_inherits_again(owner, own_set):
    client = signed_in(owner)

    client.post(options_page(own_set), {"chunking.max_tokens": "640", "representations.questions": "true"})
    own_set.refresh_from_db()
    assert own_set.options == {"chunking": {"max_tokens": 640}, "representations": {"questions": True}}

    client.post(options_page(own_set), {"chunking.max_tokens": "", "representations.questions": "true"})
    own_set.refresh_from_db()
    assert own_set.options == {"representations": {"questions": True}}


def test_the_reset_button_takes_back_one_value_only(owner, own_set):
    values = {"chunking.max_tokens": "640", "chunking.min_tokens": "64"}

    signed_in(owner).post(options_page(own_set), {**values, "reset": "chunking.max_tokens"})

    own_set.refresh_from_db()
    assert own_set.options == {"chunking": {"min_tokens": 64}}


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"chunking.max_tokens": "9"}, "chunking.max_tokens"),
        ({"chunking.overlap": "much"}, "chunking.overlap"),
    ],
)
def test_what_is_out_of_range_is_refused_beside_its_field(owner, own_set, values, where):
    page = signed_in(owner).post(options_page(own_set), values)

    assert where in page.context["form"].errors
    own_set.refresh_from_db()
    assert own_set.options == {}


def test_the_options_of_other_sets_do_not_exist(owner, own_set, other_set):
    assert signed_in(owner).get(options_page(other_set)).status_code == 404


def test_administrators_set_what_all_sets_inherit(administrator, owner, own_set):
    page = reverse("admin:knowledge_knowledgeset_site")

    signed_in(administrator).post(page, {"chunking.max_tokens": "700"})

    assert SiteOptions.objects.get().options == {"chunking": {"max_tokens": 700}}
    assert signed_in(owner).get(page).status_code == 403


# ── what would change ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def long_document(administrator, redis_client) -> KnowledgeSet:
    home = make_set("home", owners=[administrator])
    ingest(administrator, home, long=" ".join(f"Sentence number {n} speaks of antennas." for n in range(200)))
    return home


def test_another_cutting_is_compared_on_a_sample_and_nothing_is_stored(administrator, long_document):
    page = reverse("admin:knowledge_knowledgeset_chunking", args=[long_document.pk])

    values = {"chunking.max_tokens": "100", "chunking.min_tokens": "64", "chunking.section_tokens": "100"}
    preview = signed_in(administrator).get(page, values).context["preview"]

    assert preview.documents_total == 1
    assert preview.passages_after > preview.passages_before
    assert preview.documents[0].after.mean_tokens <= 100
    long_document.refresh_from_db()
    assert long_document.options == {}


def test_taking_it_over_saves_the_options_and_rebuilds_the_documents(administrator, long_document):
    page = reverse("admin:knowledge_knowledgeset_chunking", args=[long_document.pk])

    signed_in(administrator).post(page, {"chunking.max_tokens": "100", "chunking.min_tokens": "64"})

    long_document.refresh_from_db()
    assert long_document.options == {"chunking": {"max_tokens": 100, "min_tokens": 64}}
    assert IngestItem.objects.filter(job__kind="rebuild", finished=None).count() == 1


def test_rebuilding_a_set_asks_first_and_counts_only_what_it_will_do(owner, own_set, other_set):
    make_document("mine", own_set)
    make_document("shared", own_set, other_set)
    client, address = signed_in(owner), reverse("admin:knowledge_knowledgeset_rebuild", args=[own_set.pk])

    asked = client.get(address)

    assert "Re-process 1 document" in asked.content.decode()
    assert not IngestItem.objects.exists()
    client.post(address)
    assert IngestItem.objects.filter(job__kind="rebuild").count() == 1
