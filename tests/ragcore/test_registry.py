"""One run of a stage: timed, recorded, and skipped where it may be."""

from dataclasses import asdict, dataclass

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.registry import Attempt, Registry, StageInfo


def stage(*, optional):
    @dataclass(frozen=True)
    class Some:
        pass

    Registry().register(StageInfo(name="some.stage", label="some stage", optional=optional))(Some)
    return Some()


def test_a_run_is_recorded_with_its_note():
    with Attempt(stage(optional=False)) as attempt:
        pass

    record = attempt.record(before=3, after=2, note={"a": 1})

    assert (record.stage, record.before, record.after, dict(record.note)) == ("some.stage", 3, 2, {"a": 1})
    assert record.error is None
    assert record.seconds >= 0


@pytest.mark.parametrize(
    ("problem", "code"), [(ModelUnavailableError(), "model_unavailable"), (ZeroDivisionError(), "ZeroDivisionError")]
)
def test_an_error_of_an_optional_stage_is_noted_and_its_note_is_not(problem, code):
    with Attempt(stage(optional=True)) as attempt:
        raise problem

    record = attempt.record(before=0, after=0, note={"a": 1})

    assert (record.error, dict(record.note)) == (code, {})
    assert asdict(record)["note"] == {}  # it is stored with the answer


def test_an_error_of_another_stage_is_raised():
    with pytest.raises(ZeroDivisionError), Attempt(stage(optional=False)):
        raise ZeroDivisionError


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_is_never_skipped(problem):
    with pytest.raises(problem), Attempt(stage(optional=True)):
        raise problem
