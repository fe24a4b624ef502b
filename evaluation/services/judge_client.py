"""The language model for judging, of runs and diagnoses: left alone for a while if it does not answer."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from knowledge import model_registry
from knowledge.services.model_slots import background_judge
from ragcore.llm.client import LlmClient, with_short_retries

REST_SECONDS = 60.0  # for which a judge that did not answer is left alone


@dataclass(slots=True)
class Rest:
    """Until when this process does not ask the judge: everything that waits for it would wait again."""

    until: float = 0.0


of_runs, of_diagnoses = Rest(), Rest()  # a diagnosis has less patience: its silence says nothing for a run


def is_resting(rest: Rest) -> bool:
    """Whether the judge did not answer a short time ago."""
    return monotonic() < rest.until


def run_judge() -> LlmClient | None:
    """The judge of evaluation runs; None where no language model for judging is configured, or it rests."""
    model = model_registry.judge_model()
    return None if model is None or is_resting(of_runs) else LlmClient(with_short_retries(model), is_patient=True)


def diagnosis_judge(*, seconds: float) -> LlmClient | None:
    """The judge of diagnoses, which waits for a slot as other background work does; None as above.

    `seconds`: of one request, with the time that it waits for a slot.
    """
    model = None if is_resting(of_diagnoses) else background_judge()
    return None if model is None else LlmClient(model, seconds=seconds)


def rest_if_silent(llm: LlmClient, rest: Rest) -> None:
    """Leave the judge alone for a while where its server could not be reached.

    In runs also where a request was late. One of a diagnosis may be late because other work held the slots, or because
    the time of the question was over.
    """
    if llm.counts["unavailable"] or (rest is of_runs and llm.counts["late"]):
        rest.until = monotonic() + REST_SECONDS
