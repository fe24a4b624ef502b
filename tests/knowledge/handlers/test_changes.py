"""Writing on documents what handlers say, taking it back, and keeping only the latest of a series."""

from __future__ import annotations

import pytest

from knowledge.errors import LeftOutError, SupersededError
from knowledge.models import Attribute, Document, HandlerRule, Source, SourceHandler
from knowledge.selectors import corpus_epoch
from knowledge.services.handlers import attributes_seed, handlers_apply, handlers_seed, series_settle
from tests.factories import make_tenant, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db


@pytest.fixture
def support(owner):
    handlers_seed(owner.tenant)
    return source_with(owner, "support")


def source_with(owner, code):
    handler = SourceHandler.objects.get(tenant=owner.tenant, code=code)
    return Source.objects.create(tenant=owner.tenant, name=code, handler=handler, owner=owner)


def arrived(owner, common, source, external_id, **more):
    name = external_id.rpartition("/")[2]
    return upload(owner, common, name=name, external_id=external_id, source=source.name, **more).document


def newest(document):
    return document.versions.order_by("-number").first()


def test_what_a_path_says_is_on_the_document_at_once(owner, common, support):
    document = arrived(owner, common, support, "LTE/alarm.md")

    assert document.metadata == {"directory": "LTE", "hierarchy": "LTE"}


def test_what_the_text_says_is_added_after_reading_and_replaced_when_it_changes(owner, common, support):
    version = newest(arrived(owner, common, support, "LTE/alarm.md", tags=["mine"]))

    handlers_apply(version, "gNodeB and eNodeB")
    assert version.document.tags == ["4G", "5G", "mine"]
    handlers_apply(version, "eNodeB only")
    assert version.document.tags == ["4G", "mine"]


def test_applying_twice_changes_nothing(owner, common, support):
    version = newest(arrived(owner, common, support, "LTE/alarm.md"))
    handlers_apply(version, "gNodeB")
    before = Document.objects.values().get(pk=version.document_id)

    handlers_apply(version, "gNodeB")

    after = Document.objects.values().get(pk=version.document_id)
    assert {**before, "updated": None} == {**after, "updated": None}


def test_without_its_handler_a_document_is_as_it_came(owner, common):
    handlers_seed(owner.tenant)
    source = source_with(owner, "cases")
    version = newest(arrived(owner, common, source, "7.md", title="Alarm", tags=["mine"], metadata={"a": 1}))
    handlers_apply(version, "Product: RRU")
    assert (version.document.title, version.document.is_whole) == ("RRU: Alarm", True)

    Source.objects.update(handler=None)
    handlers_apply(version, "Product: RRU")

    found = version.document
    assert (found.title, found.tags, found.metadata, found.is_whole) == ("Alarm", ["mine"], {"a": 1}, False)


def test_what_people_have_said_is_neither_overwritten_nor_taken_back(owner, common, support):
    version = newest(arrived(owner, common, support, "LTE/alarm.md", metadata={"directory": "by hand"}, tags=["5G"]))

    handlers_apply(version, "gNodeB")
    assert version.document.metadata["directory"] == "by hand"
    SourceHandler.objects.get(code="support").rules.all().delete()
    handlers_apply(version, "gNodeB")

    assert (version.document.tags, version.document.metadata) == (["5G"], {"directory": "by hand"})


def test_a_title_that_somebody_changed_stays(owner, common):
    handlers_seed(owner.tenant)
    version = newest(arrived(owner, common, source_with(owner, "3gpp"), "23501-g50.md"))
    assert version.document.title == "TS 23.501 Rel-16 V16.5.0"
    Document.objects.update(title="My own title")
    HandlerRule.objects.all().delete()

    handlers_apply(version, "")

    assert version.document.title == "My own title"


def test_a_document_that_a_rule_leaves_out_is_refused_at_the_door(owner, common, support):
    support.handler.rules.create(looks="path", match="contains", pattern="draft", action="skip")

    with pytest.raises(LeftOutError):
        arrived(owner, common, support, "draft/a.md")
    assert not Document.objects.exists()


# ── only the latest stays ───────────────────────────────────────────────────────────────────────


@pytest.fixture
def design(owner):
    handlers_seed(owner.tenant)
    return source_with(owner, "design")


def live(owner, common, source, external_id):
    done = upload(
        owner, common, name=external_id, external_id=external_id, source=source.name, content=external_id.encode()
    )
    run_job(done.job.pk)
    series_settle(document_ids=[done.document.pk])
    done.document.refresh_from_db()
    return done.document


def test_a_newer_version_replaces_the_older_one_once_it_is_live(owner, common, design):
    old = live(owner, common, design, "plan-v9.md")
    new = live(owner, common, design, "plan-v10.md")

    old.refresh_from_db()
    assert (old.state, old.error_code) == ("deleted", "superseded")
    assert new.title in old.error_message
    assert (new.state, new.deleted) == ("live", None)


def test_an_older_version_that_comes_late_does_not_win(owner, common, design):
    new = live(owner, common, design, "plan-v10.md")

    with pytest.raises(SupersededError, match=new.title):
        arrived(owner, common, design, "plan-v9.md")

    new.refresh_from_db()
    assert new.deleted is None


def test_other_series_are_left_alone(owner, common, design):
    plan, other = live(owner, common, design, "plan-v1.md"), live(owner, common, design, "other-v2.md")

    plan.refresh_from_db()
    assert plan.deleted is None
    assert other.deleted is None


def test_a_new_version_that_cannot_be_read_replaces_nothing(owner, common, design):
    old = live(owner, common, design, "plan-v1.md")
    broken = arrived(owner, common, design, "plan-v2.md", content=b"\x00\x01")
    Document.objects.filter(pk=broken.pk).update(state="failed")

    assert series_settle(document_ids=[broken.pk, old.pk]) == 0
    old.refresh_from_db()
    assert old.deleted is None


# ── seeds ───────────────────────────────────────────────────────────────────────────────────────


def test_a_tenant_gets_handlers_and_attributes_once(db):
    tenant = make_tenant("seeded")

    assert (handlers_seed(tenant), attributes_seed(tenant)) == (6, Attribute.objects.filter(tenant=tenant).count())
    assert (handlers_seed(tenant), attributes_seed(tenant)) == (0, 0)
    assert set(Attribute.objects.filter(tenant=tenant).values_list("group", flat=True)) == {
        "basic",
        "management",
        "knowledge",
        "recall",
    }
    assert not Attribute.objects.filter(tenant=tenant, name_zh="").exists()


def test_a_version_that_was_overtaken_says_nothing_about_the_document_any_more(owner, common, support):
    old = newest(arrived(owner, common, support, "LTE/alarm.md", content=b"First."))
    new = newest(arrived(owner, common, support, "LTE/alarm.md", content=b"Second."))
    handlers_apply(new, "gNodeB")

    handlers_apply(old, "eNodeB")

    assert Document.objects.get().tags == ["5G"]


def test_answers_from_before_are_stale_when_a_live_document_is_said_to_be_something_else(owner, common, support):
    done = upload(owner, common, name="a.md", external_id="LTE/a.md", source=support.name)
    run_job(done.job.pk)
    before = corpus_epoch(scope=scope_of(owner))

    handlers_apply(newest(done.document), "gNodeB")

    assert corpus_epoch(scope=scope_of(owner)) > before
