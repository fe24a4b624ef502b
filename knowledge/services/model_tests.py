"""Testing a model at its servers; only models that have passed a test answer.

A test runs beside the request that wants it: whoever waits is told the result, or after a moment that it goes on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunningError
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from django.core.cache import cache as shared_cache
from django.db import connections, transaction
from django.utils import timezone

from accounts.errors import MissingRightError
from accounts.models import User
from accounts.roles import administers
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.model_errors import ModelInvalidError
from knowledge.model_servers import Endpoint, probed_at
from knowledge.model_setup import (
    ModelSpec,
    circuit,
    endpoint_of,
    environment_models,
    hosts_allowed,
    limits_of_row,
    registry_changed,
    setup_now,
    setup_refresh,
)
from knowledge.model_test_words import KEY_UNREADABLE, REASONS, Tested, tested_at
from knowledge.models import EnvironmentModelTest, LanguageModel, ModelServer
from knowledge.rights import MODELS_MANAGE
from knowledge.services.language_models import OF_TEST
from knowledge.services.model_exams import exams_start_missing
from ragcore.errors import ModelUnavailableError
from ragcore.llm.probe import MAX_SECONDS
from ragcore.model_limits import ModelLimits

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 8
PAGE_SECONDS = 2.0  # that a page waits for a test; then it shows its progress
LONGEST_TEST_SECONDS = int(2 * MAX_SECONDS)  # of one test of the slowest model
RUNNING_SECONDS = LONGEST_TEST_SECONDS + 30  # after which a test that was not finished counts as lost

Finding = tuple[str, Mapping[str, Any]]  # code and data of a test at one server


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """What is asked, and where the findings go."""

    place: str  # by which a running test is known
    name: str
    limits: ModelLimits
    urls: Sequence[str]
    endpoints: Sequence[Endpoint | None]  # None: a server whose key cannot be read
    store: Callable[[Sequence[Finding]], None]

    def ask(self) -> list[Finding]:
        """What each server says, all at once. Uses no database."""
        with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as threads:
            return list(threads.map(self._ask_one, self.endpoints))

    def keep(self, findings: Sequence[Finding]) -> list[Tested]:
        """Store them, and what they say."""
        self.store(findings)
        shared_cache.delete(_key(self.place))
        if any(code == "ok" for code, _data in findings):
            exams_start_missing()
        return [tested_at(url, *finding) for url, finding in zip(self.urls, findings, strict=True)]

    def _ask_one(self, endpoint: Endpoint | None) -> Finding:
        if endpoint is None:
            return KEY_UNREADABLE, {}
        result = probed_at(endpoint, self.name, self.limits)
        return result.code, dict(result.data)


def model_test(*, scope: Scope, actor: User, model: LanguageModel) -> list[Tested]:
    """Ask all servers of a model that are in use, at once, and keep what came of it: one that passes is used.

    Call outside of transactions. Raises MissingRightError, or ModelInvalidError where there is no server.
    """
    _check_right(scope)
    trial = _of_model(model, actor)
    return trial.keep(trial.ask())


def model_test_start(*, scope: Scope, actor: User, model: LanguageModel) -> list[Tested] | None:
    """The same for a page: None where it takes longer than PAGE_SECONDS and goes on by itself."""
    _check_right(scope)
    return _start(_of_model(model, actor))


def environment_model_test(*, scope: Scope, actor: User, purpose: str) -> list[Tested]:
    """Ask the server of a model that the environment sets, and keep what came of it.

    Raises MissingRightError, or ModelInvalidError where the environment sets none for the purpose.
    """
    _check_right(scope)
    trial = _of_environment(purpose, actor)
    return trial.keep(trial.ask())


def environment_model_test_start(*, scope: Scope, actor: User, purpose: str) -> list[Tested] | None:
    """The same for a page: None where it takes longer than PAGE_SECONDS and goes on by itself."""
    _check_right(scope)
    return _start(_of_environment(purpose, actor))


def models_test_untested() -> None:
    """Test what the environment sets and has not passed, and registered servers in use that have not passed either.

    For the start of a process, and again when the model of LLM_FILE is loaded: the models of the environment answer
    meanwhile, registered ones do not. One process at a time tests a model.
    """
    passed = dict(EnvironmentModelTest.objects.filter(test_code="ok").values_list("purpose", "fingerprint"))
    trials = [
        _of_environment(purpose, None)
        for purpose, spec in environment_models().items()
        if spec.is_ready and passed.get(purpose) != spec.fingerprint
    ]
    untested = LanguageModel.objects.filter(servers__enabled=True, servers__passed=None, purposes__isnull=False)
    trials += [_of_model(model, None) for model in untested.distinct()]
    for trial in trials:
        if shared_cache.add(_key(trial.place), time.time(), RUNNING_SECONDS):
            trial.keep(trial.ask())
    exams_start_missing()  # also of models that have passed a test before


# ── tests that are running ────────────────────────────────────────────────────────────────────────


def seconds_tested(place: str) -> float | None:
    """For how long a test has been running at `place_of_model` or `place_of_purpose`; None: there is none."""
    begun = shared_cache.get(_key(place))
    return None if begun is None else max(0.0, time.time() - float(begun))


def place_of_model(model_id: int) -> str:
    """Key of the tests of a registered model."""
    return f"model:{model_id}"


def place_of_purpose(purpose: str) -> str:
    """Key of the tests of a model that the environment sets."""
    return f"purpose:{purpose}"


def _start(trial: _Trial) -> list[Tested] | None:
    """What was found, where that is soon; else None, and it is kept when it is."""
    shared_cache.set(_key(trial.place), time.time(), RUNNING_SECONDS)
    probes: Future[list[Finding]] = _threads().submit(trial.ask)
    try:
        findings = probes.result(PAGE_SECONDS)
    except StillRunningError:
        _threads().submit(_keep_later, trial, probes)
        return None
    return trial.keep(findings)


def _keep_later(trial: _Trial, probes: Future[list[Finding]]) -> None:
    """In a thread of its own: store what was found, whenever that is."""
    try:
        trial.keep(probes.result())
    except Exception:
        logger.exception("the test of the model %s could not be stored", trial.name)
    finally:
        connections.close_all()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2 * MOST_AT_ONCE, thread_name_prefix="model-test")


def _key(place: str) -> str:
    return f"model-test:{place}"


# ── what is tested ────────────────────────────────────────────────────────────────────────────────


def _of_model(model: LanguageModel, actor: User | None) -> _Trial:
    """Raises ModelInvalidError where there is no server."""
    servers = list(model.servers.filter(enabled=True))
    if not servers:
        raise ModelInvalidError("no_server")
    hosts = hosts_allowed()
    return _Trial(
        place=place_of_model(model.pk),
        name=model.name,
        limits=limits_of_row(model),
        urls=[server.url for server in servers],
        endpoints=[endpoint_of(server, hosts) for server in servers],
        store=partial(_store_of_model, model, servers, actor),
    )


def _store_of_model(
    model: LanguageModel, servers: Sequence[ModelServer], actor: User | None, findings: Sequence[Finding]
) -> None:
    """What was asked is kept only where nobody has changed it meanwhile."""
    is_same = {f"model__{name}": getattr(model, name) for name in OF_TEST}
    with transaction.atomic():
        for server, (code, data) in zip(servers, findings, strict=True):
            values: dict[str, Any] = {"tested": timezone.now(), "test_code": code, "test_data": dict(data)}
            if code == "ok":
                values["passed"] = values["tested"]
            rows = ModelServer.objects.filter(pk=server.pk, url=server.url, key=server.key, **is_same)
            rows.update(**values)
        registry_changed()
    _audit(actor, model.name, [server.url for server in servers], findings)
    setup_refresh(now=True)
    specs = {spec.fingerprint: spec for spec in setup_now().models.values() if not spec.is_locked}
    _tell_circuits([spec for spec in specs.values() if spec.name == model.name], findings)


def _of_environment(purpose: str, actor: User | None) -> _Trial:
    """Raises ModelInvalidError where the environment sets none for the purpose, or one that is not loaded."""
    spec = environment_models().get(purpose)
    if spec is None:
        raise ModelInvalidError("no_server")
    if not spec.is_ready:
        raise ModelInvalidError("not_loaded")
    return _Trial(
        place=place_of_purpose(purpose),
        name=spec.name,
        limits=spec.limits,
        urls=[endpoint.url for endpoint in spec.endpoints],
        endpoints=spec.endpoints,
        store=partial(_store_of_environment, purpose, spec, actor),
    )


def _store_of_environment(purpose: str, spec: ModelSpec, actor: User | None, findings: Sequence[Finding]) -> None:
    code, data = findings[0]
    values = {"fingerprint": spec.fingerprint, "tested": timezone.now(), "test_code": code, "test_data": dict(data)}
    EnvironmentModelTest.objects.update_or_create(purpose=purpose, defaults=values)
    _audit(actor, spec.name, [endpoint.url for endpoint in spec.endpoints], findings)
    _tell_circuits([spec], findings)


def _audit(actor: User | None, name: str, urls: Sequence[str], findings: Sequence[Finding]) -> None:
    """Tests that nobody wanted, at the start of a process, are no acts."""
    if actor is not None:
        codes = {url: code for url, (code, _data) in zip(urls, findings, strict=True)}
        audit_record(actor=actor, action="model.test", target=name, codes=codes)


def _tell_circuits(specs: Sequence[ModelSpec], findings: Sequence[Finding]) -> None:
    """A test counts for answers, too: they wait for no model of which no server answers."""
    codes = [code for code, _data in findings]
    for spec in specs:
        if "ok" in codes:
            circuit(spec).note_success(is_call=False)
        elif "busy" not in codes:
            code, data = findings[0]
            reason = REASONS.get(code, "unreachable")
            if reason == "rejected" and data.get("said"):
                reason = "rejected_said"
            circuit(spec).note_failure(ModelUnavailableError(reason, **data), is_call=False)


def _check_right(scope: Scope) -> None:
    if not administers(scope=scope, doing=MODELS_MANAGE):
        raise MissingRightError
