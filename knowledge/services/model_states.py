"""State of a chat model from its latest test and its latest calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from django.utils.timezone import get_current_timezone
from django.utils.translation import gettext as _

from accounts.error_messages import error_message
from knowledge.model_circuits import CallFigures
from knowledge.model_setup import ModelSpec, circuit, environment_models, setup_now
from knowledge.model_test_words import tested_sentence
from knowledge.models import EnvironmentModelTest, LanguageModel
from knowledge.services.model_tests import place_of_model, place_of_purpose, seconds_tested
from ragcore.model_file.state import ServedModel

StateKind = Literal["off", "loading", "not_loaded", "testing", "untested", "works", "failed", "failing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """One model: how it is, why, since when; `is_used`: whether it may answer."""

    kind: StateKind
    is_used: bool = False
    reason: str = ""  # of a failure, in words
    time: datetime | None = None  # of the test or the failure
    seconds: float = 0.0  # for which a test has been running
    calls: CallFigures = CallFigures()

    @property
    def words(self) -> str:
        """The state in the language of the reader."""
        return {
            "off": _("Switched off"),
            "loading": _("Being loaded; answers are quoted meanwhile"),
            "not_loaded": _("Not loaded, not used"),
            "testing": _("Being tested"),
            "untested": _("Not tested, not used"),
            "works": _("Works"),
            "failed": _("Test failed") if self.is_used else _("Test failed, not used"),
            "failing": _("Does not answer at the moment"),
        }[self.kind]

    @property
    def share_failed(self) -> str:
        """How many of the latest calls failed, in words; "" without a call."""
        if not self.calls.calls:
            return ""
        words = _("%(failed)s of the last %(calls)s calls failed.")
        return words % {"failed": self.calls.failed, "calls": self.calls.calls}

    @property
    def last_failure(self) -> str:
        """Why the latest failed call failed, in the language of the reader."""
        return error_message(self.calls.error) if self.calls.error is not None else ""


def model_state(model: LanguageModel) -> ModelState:
    """Of a registered model; its servers may be prefetched."""
    servers = [server for server in model.servers.all() if server.enabled]
    if model.servers.all() and not servers:
        return ModelState(kind="off")
    is_used = any(server.passed for server in servers)
    running = seconds_tested(place_of_model(model.pk))
    if running is not None:
        return ModelState(kind="testing", seconds=running, is_used=is_used)
    spec = next((item for item in setup_now().models.values() if item.name == model.name and not item.is_locked), None)
    latest = [(server.test_code, server.test_data, server.tested) for server in servers if server.tested]
    return _state(latest, spec, is_used=is_used)


def environment_state(purpose: str) -> ModelState:
    """Of a model that the environment sets: it answers before it is tested, too, but not before it is loaded."""
    spec = environment_models()[purpose]
    if spec.file_state is not None and not spec.is_ready:
        return _of_file(spec.file_state)
    running = seconds_tested(place_of_purpose(purpose))
    if running is not None:
        return ModelState(kind="testing", seconds=running, is_used=True)
    rows = EnvironmentModelTest.objects.filter(purpose=purpose, fingerprint=spec.fingerprint)
    return _state([(row.test_code, row.test_data, row.tested) for row in rows], spec, is_used=True)


def _of_file(state: ServedModel) -> ModelState:
    """Of the model of LLM_FILE before it can be asked."""
    time = datetime.fromtimestamp(state.since, tz=get_current_timezone()) if state.since else None
    if state.error is None:
        return ModelState(kind="loading", time=time)
    return ModelState(kind="not_loaded", reason=error_message(state.error), time=time)


def _state(
    latest: Sequence[tuple[str, dict[str, object], datetime | None]], spec: ModelSpec | None, *, is_used: bool
) -> ModelState:
    """`latest`: code, data and time of the test at each server that was tested."""
    calls = circuit(spec).figures if spec is not None else CallFigures()
    if calls.is_open and calls.error is not None:
        return ModelState(
            kind="failing", is_used=is_used, reason=error_message(calls.error), time=calls.last_failure, calls=calls
        )
    if not latest:
        return ModelState(kind="untested", is_used=is_used, calls=calls)
    passed = [test for test in latest if test[0] == "ok"]
    code, data, time = (passed or latest)[0]
    is_alive_since = calls.last_success is not None and time is not None and calls.last_success > time
    kind: StateKind = "works" if passed or is_alive_since else "failed"
    reason = tested_sentence(code, data) if kind == "failed" else ""
    return ModelState(kind=kind, is_used=is_used, reason=reason, time=time, calls=calls)
