"""Sets composed of sources: who goes in, who comes out, and what people did by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.errors import NotAllowedError, NotFoundError
from knowledge.errors import MixedTenantsError
from knowledge.models import Document
from knowledge.services import composition
from knowledge.services.composition import memberships_plan, set_sources_put, source_settle
from knowledge.services.sources import set_ingest, source_update
from knowledge.services.transfers import documents_remove
from knowledge.types import SourceFilter, strictly
from tests.factories import make_admin, make_set, make_tenant, make_user, scope_of
from tests.knowledge.sources.building import folder_source, run, sync_run
from tests.knowledge.uploads import upload

ids = st.sets(st.integers(1, 6))


@given(present=ids, wanted=ids)
def test_taking_the_composition_back_leaves_what_was_there_before(present, wanted):
    first = memberships_plan(present=present, remembered={}, wanted_sets=wanted)
    then = (present | first.add) - first.remove
    second = memberships_plan(present=then, remembered=first.remembered, wanted_sets=set())

    assert present | wanted == then
    assert (then | second.add) - second.remove == present
    assert second.remembered == {}


@given(present=ids, wanted=ids, taken_out=ids)
def test_settling_again_changes_nothing_also_after_somebody_took_documents_out(present, wanted, taken_out):
    first = memberships_plan(present=present, remembered={}, wanted_sets=wanted)
    then = (present | first.add) - taken_out

    again = memberships_plan(present=then, remembered=first.remembered, wanted_sets=wanted)

    assert (again.add, again.remove, dict(again.remembered)) == (frozenset(), frozenset(), dict(first.remembered))


@pytest.fixture
def source(owner, shelf):
    (shelf / "radio").mkdir()
    (shelf / "core").mkdir()
    (shelf / "radio" / "a.md").write_text("a")
    (shelf / "core" / "b.md").write_text("b")
    made = folder_source(owner, shelf, options={"tags": ["shelf"]})
    run(owner, made)
    return made


def put(person, chosen, *rows):
    pairs = [(source.pk, strictly(SourceFilter, narrowed)) for source, narrowed in rows]
    return set_sources_put(scope=scope_of(person), actor=person, set_id=chosen.pk, sources=pairs)


def held(chosen):
    return sorted(Document.objects.filter(sets=chosen).values_list("external_id", flat=True))


@pytest.mark.django_db
class TestComposedSets:
    def test_a_set_gets_what_matches_at_once(self, owner, common, source):
        put(owner, common, (source, {"paths": ["radio/*"]}))

        assert held(common) == ["radio/a.md"]

    @pytest.mark.parametrize(
        ("narrowed", "expected"),
        [
            ({}, ["core/b.md", "radio/a.md"]),
            ({"tags": ["other", "shelf"]}, ["core/b.md", "radio/a.md"]),
            ({"tags": ["other"]}, []),
            ({"metadata": {"lang": "en"}}, ["core/b.md"]),
            ({"paths": ["RADIO/*", "core/*"], "metadata": {"lang": "en"}}, ["core/b.md"]),
        ],
    )
    def test_filters_narrow(self, owner, common, source, narrowed, expected):
        Document.objects.filter(external_id="core/b.md").update(metadata={"lang": "en"})

        put(owner, common, (source, narrowed))

        assert held(common) == expected

    def test_narrowing_takes_documents_out_again(self, owner, common, source):
        put(owner, common, (source, {}))
        put(owner, common, (source, {"paths": ["core/*"]}))

        assert held(common) == ["core/b.md"]

    def test_removing_the_source_leaves_what_was_put_in_by_hand(self, owner, common, source):
        Document.objects.get(external_id="core/b.md").sets.add(common)
        put(owner, common, (source, {}))
        put(owner, common)

        assert held(common) == ["core/b.md"]

    def test_what_somebody_takes_out_stays_out(self, owner, common, source):
        put(owner, common, (source, {}))
        document = Document.objects.get(external_id="core/b.md")
        documents_remove(scope=scope_of(owner), actor=owner, document_ids=[document.pk], from_set=common.pk)

        run(owner, source)
        put(owner, common, (source, {"tags": ["shelf"]}))

        assert held(common) == ["radio/a.md"]

    def test_a_new_document_of_a_source_goes_into_all_its_sets(self, owner, common, source, shelf):
        other = make_set("other", owners=[owner])
        put(owner, common, (source, {}))
        put(owner, other, (source, {"paths": ["*.txt"]}))
        (shelf / "new.txt").write_text("new")

        run(owner, source)

        assert held(common) == ["core/b.md", "new.txt", "radio/a.md"]
        assert held(other) == ["new.txt"]

    def test_ingesting_a_set_runs_its_sources_under_one_job(self, owner, common, source, shelf):
        put(owner, common, (source, {}))
        (shelf / "new.txt").write_text("new")

        job = sync_run(job_id=set_ingest(scope=scope_of(owner), actor=owner, set_id=common.pk).pk)

        assert (job.report["new"], job.report["unchanged"]) == (1, 2)
        assert "new.txt" in held(common)

    def test_a_large_source_is_settled_in_the_background(self, owner, common, source, monkeypatch):
        monkeypatch.setattr(composition, "AT_ONCE", 1)

        put(owner, common, (source, {}))
        assert held(common) == []
        assert source_settle(source_id=source.pk) == 2
        assert len(held(common)) == 2

    def test_settling_asks_a_bounded_number_of_questions(
        self, owner, common, source, shelf, django_assert_max_num_queries
    ):
        for n in range(30):
            (shelf / f"{n}.txt").write_text(str(n))
        run(owner, source)
        put(owner, common, (source, {}))

        with django_assert_max_num_queries(9):
            source_settle(source_id=source.pk)


@pytest.mark.django_db
class TestWhoMayCompose:
    def test_owners_of_sets_use_only_sources_that_are_shared(self, owner, source):
        keeper = make_user("keeper")
        own = make_set("own", owners=[keeper])
        with pytest.raises(NotFoundError):
            put(keeper, own, (source, {}))

        source_update(scope=scope_of(owner), actor=owner, source_id=source.pk, values={"options": {"shared": True}})
        put(keeper, own, (source, {}))

        assert len(held(own)) == 2

    def test_a_filter_on_a_source_that_is_no_longer_shared_may_be_changed(self, owner, source):
        keeper = make_user("keeper")
        own = make_set("own", owners=[keeper])
        put(owner, own, (source, {}))

        put(keeper, own, (source, {"paths": ["radio/*"]}))

        assert held(own) == ["radio/a.md"]

    def test_a_filter_on_a_source_that_is_no_longer_shared_is_not_widened(self, owner, source):
        keeper = make_user("keeper")
        own = make_set("own", owners=[keeper])
        put(owner, own, (source, {"paths": ["radio/*"]}))

        with pytest.raises(NotAllowedError):
            put(keeper, own, (source, {}))

    def test_sets_of_others_are_not_touched(self, owner, common, source):
        stranger = make_user("stranger")

        with pytest.raises(NotAllowedError):
            put(stranger, common, (source, {}))

    def test_sources_of_another_tenant_are_unknown(self, common, source):
        elsewhere = make_admin("elsewhere", tenant=make_tenant("elsewhere"))
        theirs = make_set("theirs", owners=[elsewhere])

        with pytest.raises(NotFoundError):
            put(elsewhere, theirs, (source, {}))

    def test_nobody_mixes_tenants(self, owner, source):
        elsewhere = make_admin("elsewhere", tenant=make_tenant("elsewhere"))
        theirs = make_set("theirs", owners=[elsewhere])

        with pytest.raises(MixedTenantsError):
            put(owner, theirs, (source, {}))


@pytest.mark.django_db
class TestArrivalsByHand:
    def test_nobody_gets_documents_into_sets_of_others_by_way_of_their_source(self, owner, common, source):
        put(owner, common, (source, {}))
        keeper = make_user("keeper")
        own = make_set("own", owners=[keeper])

        with pytest.raises(NotAllowedError):
            upload(keeper, own, external_id="radio/evil.md", source=source.name)

        assert "radio/evil.md" not in held(common)

    def test_an_upload_into_a_source_of_ones_own_goes_into_its_sets(self, owner, common, source):
        put(owner, common, (source, {"paths": ["radio/*"]}))

        upload(owner, external_id="radio/more.md", source=source.name)

        assert "radio/more.md" in held(common)

    def test_what_is_uploaded_again_into_a_set_stays_there_by_hand(self, owner, common, source):
        put(owner, common, (source, {}))
        upload(owner, common, external_id="core/b.md", source=source.name, content=b"b")

        put(owner, common)

        assert held(common) == ["core/b.md"]
