"""Which chat models there are and who does what: those of the environment, and below them the registry.

A process holds one `ModelSetup` and reads the registry again where its version has changed, at most once a second:
`setup_refresh` is called at the beginning of every answer, task and check of health, so a change is in effect
everywhere a second later. Where it is used, `setup_now` touches no database.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.compiled_queries import CompiledQuery
from knowledge.errors import CredentialsUnreadableError
from knowledge.model_circuits import ModelCircuit, circuit_key, circuit_of, circuits_refresh
from knowledge.model_servers import Endpoint, probed_at
from knowledge.models import LanguageModel, ModelExam, ModelPurpose, ModelServer, ModelsVersion, SourcePlace
from knowledge.queue import EXAMINE_MODEL
from knowledge.sealed_text import text_open
from knowledge.search_model_setup import (
    NOTHING,
    RegisteredSearch,
    SearchModelSpec,
    environment_embedder,
    environment_reranker,
    is_embedder_locked,
    registered_search,
)
from ragcore.llm.model_profile import UNTESTED, ModelProfile, parse_profile
from ragcore.llm.tiers import Price, parse_prices
from ragcore.model_file.state import ServedModel, read_state
from ragcore.model_limits import DEFAULT_LIMITS, ModelLimits, parse_limits
from work.models import OPEN, Job, State

logger = logging.getLogger(__name__)

QUOTING = ModelProfile(way="quote", believes_refusals=False, json="none", judges=False)
KEY_PURPOSE = b"ragsite: keys of model servers"
REFRESH_SECONDS = 1.0
LONG_PROMPT_TOKENS = 6_000  # of an answer; a model gets the time to read as many
MAX_PATIENCE_SECONDS = 600.0
Purpose = ModelPurpose.Purpose
SETTINGS: Mapping[str, str] = {  # purpose -> what its variables begin with
    Purpose.STANDARD: "LLM_",
    Purpose.FAST: "LLM_FAST_",
    Purpose.ADVANCED: "LLM_ADVANCED_",
    Purpose.JUDGE: "LLM_JUDGE_",
}

_VERSION = CompiledQuery(lambda: ModelsVersion.objects.values_list("value", flat=True)[:1])
_lock = threading.Lock()
_looked = float("-inf")  # when (monotonic) the version was read


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A chat model as it is to be asked. Equal ones share their clients."""

    name: str
    endpoints: tuple[Endpoint, ...] = ()
    price: Price | None = None
    context_tokens: int | None = None
    limits: ModelLimits = DEFAULT_LIMITS
    tokenizer: str = ""  # that counts what is sent to it, on whatever server; "": the site's
    profile: ModelProfile = field(default=UNTESTED, hash=False)  # what its exam found
    is_locked: bool = False  # the environment says so
    is_local: bool = False  # in this process
    file_state: ServedModel | None = field(default=None, hash=False, compare=False)  # of the model of LLM_FILE

    @property
    def is_ready(self) -> bool:
        """Whether it may be asked: the model of a file is loaded first."""
        return self.file_state is None or self.file_state.phase == "ready"

    @property
    def fingerprint(self) -> str:
        """Another one where the model, a server, its key or the hosts that are allowed are other ones."""
        return circuit_key(self.name, *(part for endpoint in self.endpoints for part in endpoint.known_by))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadyModel:
    """A model with a purpose that answers nobody: none of its servers has passed a test, or its file is not loaded."""

    name: str
    test_code: str = ""  # of the latest test, see ragcore.llm.probe; "": not tested since its last change
    file_state: ServedModel | None = None  # of the model of LLM_FILE, which is not tested before it is loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSetup:
    """Who does what, as of one moment."""

    models: Mapping[str, ModelSpec]  # purpose -> model
    unready: Mapping[str, UnreadyModel] = field(default_factory=dict)  # purpose -> model that is not asked
    local: ModelSpec | None = None
    version: uuid.UUID | None = None  # of the registry; None: nothing is registered
    search: RegisteredSearch = NOTHING

    @property
    def embedder(self) -> SearchModelSpec:
        """The embedding model in use."""
        by_registry = None if is_embedder_locked() else self.search.embedder
        return by_registry or environment_embedder()

    def floor(self, *, tenant_id: int) -> float | None:
        """The default of `min_cosine` that was calibrated on a tenant's passages; None: that of the model holds."""
        return None if is_embedder_locked() else self.search.floors.get(str(tenant_id))

    @property
    def reranker(self) -> SearchModelSpec:
        """The reranker in use."""
        by_environment = environment_reranker()
        return by_environment if by_environment.is_locked else self.search.reranker or by_environment


@dataclass(frozen=True, slots=True, kw_only=True)
class _Registry:
    """What was read of the registry."""

    version: uuid.UUID | None = None
    models: Mapping[str, ModelSpec] = field(default_factory=dict)
    unready: Mapping[str, UnreadyModel] = field(default_factory=dict)
    search: RegisteredSearch = NOTHING
    profiles: Mapping[str, ModelProfile] = field(default_factory=dict)  # by fingerprint
    in_exam: frozenset[str] = frozenset()  # fingerprints of models whose exam has begun and goes on


_registry = _Registry()


def setup_now() -> ModelSetup:
    """What this process knows. Settings are read anew each time."""
    registry, environment = _registry, environment_models()
    models, unready = dict(registry.models), dict(registry.unready)
    for purpose, spec in environment.items():
        models.pop(purpose, None)  # nobody stands in whom the operator has replaced
        unready.pop(purpose, None)
        if spec.is_ready:
            models[purpose] = _examined(spec, registry)
        else:
            unready[purpose] = UnreadyModel(name=spec.name, file_state=spec.file_state)
    return ModelSetup(models=models, unready=unready, local=_local(), version=registry.version, search=registry.search)


def _examined(spec: ModelSpec, registry: _Registry) -> ModelSpec:
    """The model with what its exam found, where nobody has set it; without an exam it is as it was.

    During its first exam documents are quoted: a server may answer one request at a time. So they are where a file that
    is served on this machine has had none.
    """
    profile = registry.profiles.get(spec.fingerprint)
    if profile is None:
        is_quoting = (spec.file_state is not None and settings.LLM_EXAM) or spec.fingerprint in registry.in_exam
        return replace(spec, profile=QUOTING) if is_quoting else spec
    context_tokens, limits = spec.context_tokens, spec.limits
    if (context_tokens is None or spec.file_state) and profile.scores.get("context", 1.0) < 1:
        context_tokens = profile.context_tokens or context_tokens
    patience = profile.patience_seconds(LONG_PROMPT_TOKENS)
    if limits.first_token_seconds is None and patience is not None and patience > limits.first_token:
        limits = replace(limits, first_token_seconds=min(patience, MAX_PATIENCE_SECONDS))
    return replace(spec, profile=profile, context_tokens=context_tokens, limits=limits)


def setup_refresh(*, now: bool = False) -> None:
    """Read the registry again where it has changed; looks at most once a second, or `now`. Uses the ORM."""
    global _registry, _looked
    if not now and time.monotonic() - _looked < REFRESH_SECONDS:
        return
    with _lock:
        version = _VERSION.first()
        if version != _registry.version:
            _registry = _read(version) if version else _Registry()
        _looked = time.monotonic()
    circuits_refresh()


def registry_changed() -> None:
    """Every process reads the registry again, this one as soon as the change is stored. Call in a transaction."""
    ModelsVersion.objects.update_or_create(number=ModelsVersion.ONE, defaults={"value": uuid.uuid4()})
    transaction.on_commit(lambda: setup_refresh(now=True))


def setup_forget() -> None:
    """As if this process had read nothing yet."""
    global _registry, _looked
    with _lock:
        _registry, _looked = _Registry(), float("-inf")


# ── the environment ───────────────────────────────────────────────────────────────────────────────


def environment_models() -> dict[str, ModelSpec]:
    """Purpose -> model, for those that the environment sets: they cannot be changed in the registry.

    A tier without a server of its own is at that of LLM_BASE_URL, with its key; the key of one server is never sent
    to another.
    """
    prices, limits = environment_prices(settings.LLM_PRICES or ""), environment_limits(settings.LLM_LIMITS or "")
    specs = {}
    for purpose, prefix in SETTINGS.items():
        url, key = getattr(settings, f"{prefix}BASE_URL"), getattr(settings, f"{prefix}API_KEY")
        name = getattr(settings, f"{prefix}MODEL")
        if not url and (not name or prefix == "LLM_"):
            continue
        if not url:
            url, key = settings.LLM_BASE_URL, key or settings.LLM_API_KEY
        name = name or "default"
        endpoints = (Endpoint(url=url or "", key=key or ""),)
        specs[str(purpose)] = ModelSpec(
            name=name,
            endpoints=endpoints,
            price=prices.get(name),
            limits=limits.get(name, DEFAULT_LIMITS),
            is_locked=True,
        )
    if Purpose.STANDARD not in specs and (state := served_model()) is not None:
        specs[str(Purpose.STANDARD)] = _of_file(state, prices, limits)
    return specs


def _of_file(state: ServedModel, prices: Mapping[str, Price], limits: Mapping[str, ModelLimits]) -> ModelSpec:
    """The model of LLM_FILE, as if LLM_BASE_URL named its server."""
    return ModelSpec(
        name=state.name,
        endpoints=(Endpoint(url=state.url, key=state.key, identity=state.identity),),
        price=prices.get(state.name),
        context_tokens=state.context_tokens or None,
        limits=limits.get(state.name, DEFAULT_LIMITS),
        is_locked=True,
        file_state=state,
    )


def served_model() -> ServedModel | None:
    """The model of LLM_FILE and what its server is doing now; None where `make run` serves none."""
    return read_state(settings.LLM_FILE_STATE) if settings.LLM_FILE_STATE else None


@cache
def environment_prices(table: str) -> Mapping[str, Price]:
    """Prices by model of LLM_PRICES."""
    return parse_prices(table) if table else {}


@cache
def environment_limits(table: str) -> Mapping[str, ModelLimits]:
    """Limits by model of LLM_LIMITS."""
    return parse_limits(table) if table else {}


def _local() -> ModelSpec | None:
    name = settings.LLM_LOCAL_MODEL
    if not name:
        return None
    limits = environment_limits(settings.LLM_LIMITS or "").get(name, DEFAULT_LIMITS)
    return ModelSpec(name=name, limits=limits, is_locked=True, is_local=True)


def is_file_loading() -> bool:
    """Whether the model of LLM_FILE can be asked soon, and not yet."""
    state = served_model()
    return state is not None and state.phase == "loading"


# ── the registry ──────────────────────────────────────────────────────────────────────────────────


def _read(version: uuid.UUID) -> _Registry:
    """Models by purpose. Those without a server that has passed its test are not ready."""
    hosts = hosts_allowed()
    profiles = {exam.fingerprint: parse_profile({**exam.profile, **exam.overrides}) for exam in ModelExam.objects.all()}
    begun = Job.objects.filter(Q(state=State.RUNNING) | Q(done__gt=0), kind=EXAMINE_MODEL, state__in=OPEN)
    in_exam = frozenset(begun.values_list("subject", flat=True))
    search = registered_search(hosts)
    registry = _Registry(version=version, search=search, profiles=profiles, in_exam=in_exam)
    specs: dict[str, ModelSpec] = {}
    unready: dict[str, UnreadyModel] = {}
    for row in ModelPurpose.objects.select_related("model").prefetch_related("model__servers"):
        servers = [server for server in row.model.servers.all() if server.enabled]
        passed = [server for server in servers if server.passed is not None]
        endpoints = [endpoint for server in passed if (endpoint := endpoint_of(server, hosts)) is not None]
        if endpoints:
            specs[row.purpose] = _examined(spec_of(row.model, endpoints), registry)
        else:
            codes = [server.test_code for server in servers if server.test_code]
            unready[row.purpose] = UnreadyModel(name=row.model.name, test_code=codes[0] if codes else "")
    return replace(registry, models=specs, unready=unready)


def spec_of(model: LanguageModel, endpoints: Sequence[Endpoint]) -> ModelSpec:
    """A row as it is to be asked."""
    has_price = model.price_in is not None and model.price_out is not None
    price = Price(prompt=model.price_in, completion=model.price_out) if has_price else None  # type: ignore[arg-type]
    return ModelSpec(
        name=model.name,
        endpoints=tuple(endpoints),
        price=price,
        context_tokens=model.context_tokens or None,
        limits=limits_of_row(model),
        tokenizer=model.tokenizer,
    )


def limits_of_row(model: LanguageModel) -> ModelLimits:
    """The limits of a row."""
    return ModelLimits(
        first_token_seconds=model.first_token_seconds,
        between_tokens_seconds=model.between_tokens_seconds,
        total_seconds=model.total_seconds,
    )


# ── servers ───────────────────────────────────────────────────────────────────────────────────────


def circuit(spec: ModelSpec) -> ModelCircuit:
    """What became of the latest calls of a model."""
    return circuit_of(spec.fingerprint, lambda: _answers(spec))


def _answers(spec: ModelSpec) -> bool:
    return any(probed_at(endpoint, spec.name, spec.limits).is_ok for endpoint in spec.endpoints)


def endpoint_of(server: ModelServer, hosts: tuple[str, ...]) -> Endpoint | None:
    """A row with its key; None where the key cannot be read any more: nothing is sent without it."""
    try:
        key = text_open(server.key, purpose=KEY_PURPOSE) if server.key else ""
    except CredentialsUnreadableError:
        logger.warning("the key of the model server %d cannot be read: enter it again", server.pk)
        return None
    return Endpoint(url=server.url, key=key, hosts=hosts)


def hosts_allowed() -> tuple[str, ...]:
    """Hosts and networks with private addresses at which model servers may be: those of the default tenant.

    What FETCH_ALLOWED_HOSTS names, and what platform administrators have given to it under "Folders and hosts".
    """
    places = SourcePlace.objects.filter(tenant__is_default=True, kind=SourcePlace.Kind.HOST)
    return (*settings.FETCH_ALLOWED_HOSTS, *places.order_by("location").values_list("location", flat=True))
