"""One run of a stage: timed, recorded, and skipped where it may be."""

from dataclasses import asdict, dataclass, field, replace

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.pipeline import Registry, StageInfo, StageRun


@dataclass(frozen=True)
class Items:
    count: int = 3
    note: dict = field(default_factory=dict)
    records: tuple = ()

    def item_count(self):
        return self.count

    def stage_note(self, stage):
        return {"of": stage, **self.note}

    def with_record(self, record):
        return replace(self, records=(*self.records, record))


def stage(*, optional):
    @dataclass(frozen=True)
    class Some:
        pass

    Registry().register(StageInfo(name="some.stage", label="some stage", optional=optional))(Some)
    return Some()


def test_a_run_is_recorded_with_its_note():
    with StageRun(stage(optional=False), Items()) as run:
        run.after = Items(count=2, note={"a": 1})

    (record,) = run.recorded().records

    assert (record.stage, record.before, record.after) == ("some.stage", 3, 2)
    assert dict(record.note) == {"of": "some.stage", "a": 1}
    assert record.error is None
    assert record.seconds >= 0


@pytest.mark.parametrize(
    ("problem", "code"), [(ModelUnavailableError(), "model_unavailable"), (ZeroDivisionError(), "ZeroDivisionError")]
)
def test_an_error_of_an_optional_stage_is_noted_and_its_note_is_not(problem, code):
    with StageRun(stage(optional=True), Items(note={"a": 1})) as run:
        raise problem

    after = run.recorded()

    (record,) = after.records
    assert (after.count, record.error, dict(record.note)) == (3, code, {})
    assert asdict(record)["note"] == {}  # it is stored with the answer


def test_an_error_of_another_stage_is_raised():
    with pytest.raises(ZeroDivisionError), StageRun(stage(optional=False), Items()):
        raise ZeroDivisionError


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_is_never_skipped(problem):
    with pytest.raises(problem), StageRun(stage(optional=True), Items()):
        raise problem
