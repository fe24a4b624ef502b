"""A source is tried before it runs: the step that fails says why, and long lists are counted by a job."""

from __future__ import annotations

import pytest

from knowledge.connector_errors import ConnectorError, ItemOfSourceError, SourceUnreachableError
from knowledge.errors import FolderNotAllowedError
from knowledge.models import Document
from knowledge.queue import COUNT_SOURCE
from knowledge.services.sources import source_counted, source_preview, source_test
from tests.factories import scope_of
from tests.knowledge.sources.building import folder_source
from tests.knowledge.sources.scripted import KIND, Place, scripted_place, scripted_source
from work.models import Job
from work.runner import slice_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def place(monkeypatch) -> Place:
    made = scripted_place(monkeypatch)
    for name in ("a", "b", "c"):
        made.put(name, f"Page {name}.")
    return made


def kind_of_place():
    from knowledge.connectors import connector_kinds

    return connector_kinds()[KIND]


def tried(owner, source):
    return {step.step: step.state for step in source_test(scope=scope_of(owner), source_id=source.pk)}


def test_a_source_that_works(owner, place):
    source = scripted_source(owner)

    steps = source_test(scope=scope_of(owner), source_id=source.pk)

    assert [(step.step, step.state) for step in steps] == [
        (name, "ok") for name in ("address", "connect", "sign_in", "list", "read")
    ]
    assert steps[-1].message == "a.txt: 7 B"
    assert not Document.objects.exists()


@pytest.mark.parametrize(
    ("fault", "failing"),
    [
        (SourceUnreachableError(), "connect"),
        (ConnectorError("credentials"), "sign_in"),
        (ConnectorError("branch", branch="x"), "list"),
    ],
)
@pytest.mark.parametrize("by", ["sign_in", "list"])
def test_the_step_that_fails_is_named(owner, place, monkeypatch, fault, failing, by):
    source = scripted_source(owner)
    if by == "list":
        place.fails = fault
    else:

        def refuses(self):
            raise fault

        monkeypatch.setattr(kind_of_place(), "sign_in", refuses)

    steps = source_test(scope=scope_of(owner), source_id=source.pk)

    states = {step.step: step.state for step in steps}
    names = list(states)
    at = names.index(failing)
    assert list(states.values()) == ["ok"] * at + ["failed"] + ["skipped"] * (len(names) - at - 1)
    assert steps[at].message == fault.message


def test_an_item_that_cannot_be_read_is_the_last_step(owner, place):
    source = scripted_source(owner)
    place.things["a"].fails = ItemOfSourceError("lfs")

    assert tried(owner, source) == {
        "address": "ok",
        "connect": "ok",
        "sign_in": "ok",
        "list": "ok",
        "read": "failed",
    }


def test_a_place_that_is_not_allowed_is_the_first_step(owner, shelf, settings):
    source = folder_source(owner, shelf)
    settings.SOURCE_FOLDERS = ()

    steps = source_test(scope=scope_of(owner), source_id=source.pk)

    assert [step.state for step in steps] == ["failed", "skipped", "skipped", "skipped", "skipped"]
    assert steps[0].message.startswith(FolderNotAllowedError.default_message[:20]) or "folder" in steps[0].message


def test_an_empty_place_is_no_fault(owner, place):
    place.things.clear()

    assert tried(owner, scripted_source(owner))["read"] == "skipped"


def test_a_short_list_is_shown_at_once(owner, place):
    source = scripted_source(owner)

    preview = source_preview(scope=scope_of(owner), source_id=source.pk)

    assert (preview.count, preview.is_complete, preview.goes_on) == (3, True, False)
    assert not Job.objects.filter(kind=COUNT_SOURCE).exists()


def test_a_long_list_is_counted_by_a_job(owner, place, monkeypatch):
    monkeypatch.setattr("knowledge.services.sources.trials.PREVIEW_SECONDS", -1)
    source = scripted_source(owner)
    assert source_counted(scope=scope_of(owner), source_id=source.pk) is None

    preview = source_preview(scope=scope_of(owner), source_id=source.pk)

    assert (preview.is_complete, preview.goes_on) == (False, True)
    assert not source_counted(scope=scope_of(owner), source_id=source.pk).is_over
    slice_run(job_id=Job.objects.get(kind=COUNT_SOURCE).pk)
    counted = source_counted(scope=scope_of(owner), source_id=source.pk)
    assert (counted.is_over, counted.fault) == (True, "")
    assert (counted.preview.count, counted.preview.examples) == (3, ("a", "b", "c"))
    assert counted.preview.is_complete


def test_a_source_that_is_slow_to_list_is_left_to_the_job_and_its_fault_is_said(owner, place, monkeypatch):
    monkeypatch.setattr(kind_of_place(), "is_slow_to_list", lambda self: True)
    source = scripted_source(owner)
    place.fails = SourceUnreachableError()

    assert source_preview(scope=scope_of(owner), source_id=source.pk).goes_on
    slice_run(job_id=Job.objects.get(kind=COUNT_SOURCE).pk)

    counted = source_counted(scope=scope_of(owner), source_id=source.pk)
    assert counted.fault == SourceUnreachableError.default_message
    assert tried(owner, source)["list"] == "skipped"
