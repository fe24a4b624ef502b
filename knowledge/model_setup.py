"""Which chat models there are and who does what: those of the environment, and below them the registry (D42).

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
from dataclasses import dataclass, field
from functools import cache

from django.conf import settings
from django.db import transaction

from accounts.compiled_queries import CompiledQuery
from knowledge.errors import CredentialsUnreadableError
from knowledge.models import LanguageModel, ModelPurpose, ModelServer, ModelsVersion, SourcePlace
from knowledge.sealed_text import text_open
from knowledge.search_model_setup import (
    NOTHING,
    RegisteredSearch,
    SearchModelSpec,
    environment_embedder,
    environment_reranker,
    registered_search,
)
from ragcore.llm.tiers import Price, parse_prices

logger = logging.getLogger(__name__)

KEY_PURPOSE = b"ragsite: keys of model servers"
REFRESH_SECONDS = 1.0
Purpose = ModelPurpose.Purpose
SETTINGS: Mapping[str, str] = {  # purpose -> what its variables begin with
    Purpose.STANDARD: "LLM_",
    Purpose.FAST: "LLM_FAST_",
    Purpose.ADVANCED: "LLM_ADVANCED_",
    Purpose.JUDGE: "LLM_JUDGE_",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One server of a model."""

    url: str
    key: str = field(default="", repr=False)
    hosts: tuple[str, ...] | None = None  # private hosts that may be connected to; None: any, the operator named it


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A chat model as it is to be asked. Equal ones share their clients."""

    name: str
    endpoints: tuple[Endpoint, ...] = ()
    price: Price | None = None
    context_tokens: int | None = None
    is_locked: bool = False  # the environment says so
    is_local: bool = False  # in this process


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSetup:
    """Who does what, as of one moment."""

    models: Mapping[str, ModelSpec]  # purpose -> model
    local: ModelSpec | None = None
    version: uuid.UUID | None = None  # of the registry; None: nothing is registered
    search: RegisteredSearch = NOTHING

    @property
    def embedder(self) -> SearchModelSpec:
        """The embedding model in use."""
        by_environment = environment_embedder()
        return by_environment if by_environment.is_locked else self.search.embedder or by_environment

    def floor(self, *, tenant_id: int) -> float | None:
        """The default of `min_cosine` that was calibrated on a tenant's passages; None: that of the model holds."""
        is_registered = not environment_embedder().is_locked
        return self.search.floors.get(str(tenant_id)) if is_registered else None

    @property
    def reranker(self) -> SearchModelSpec:
        """The reranker in use."""
        by_environment = environment_reranker()
        return by_environment if by_environment.is_locked else self.search.reranker or by_environment


_VERSION = CompiledQuery(lambda: ModelsVersion.objects.values_list("value", flat=True)[:1])
_lock = threading.Lock()
_registered: tuple[uuid.UUID | None, Mapping[str, ModelSpec], RegisteredSearch] = (None, {}, NOTHING)
_looked = float("-inf")  # when (monotonic) the version was read


def setup_now() -> ModelSetup:
    """What this process knows. Settings are read anew each time."""
    version, registered, search = _registered
    models = {**registered, **environment_models()}
    return ModelSetup(models=models, local=_local(), version=version, search=search)


def setup_refresh(*, now: bool = False) -> None:
    """Read the registry again where it has changed; looks at most once a second, or `now`. Uses the ORM."""
    global _registered, _looked
    if not now and time.monotonic() - _looked < REFRESH_SECONDS:
        return
    with _lock:
        version = _VERSION.first()
        if version != _registered[0]:
            _registered = (version, _read(), registered_search(hosts_allowed())) if version else (None, {}, NOTHING)
        _looked = time.monotonic()


def registry_changed() -> None:
    """Every process reads the registry again, this one as soon as the change is stored. Call in a transaction."""
    ModelsVersion.objects.update_or_create(number=ModelsVersion.ONE, defaults={"value": uuid.uuid4()})
    transaction.on_commit(lambda: setup_refresh(now=True))


def setup_forget() -> None:
    """As if this process had read nothing yet."""
    global _registered, _looked
    with _lock:
        _registered, _looked = (None, {}, NOTHING), float("-inf")


# ── the environment ───────────────────────────────────────────────────────────────────────────────


def environment_models() -> dict[str, ModelSpec]:
    """Purpose -> model, for those that the environment sets: they cannot be changed in the registry.

    A tier without a server of its own is at that of LLM_BASE_URL, with its key; the key of one server is never sent
    to another.
    """
    prices = environment_prices(settings.LLM_PRICES or "")
    found = {}
    for purpose, prefix in SETTINGS.items():
        url, key = getattr(settings, f"{prefix}BASE_URL"), getattr(settings, f"{prefix}API_KEY")
        name = getattr(settings, f"{prefix}MODEL")
        if not url and (not name or prefix == "LLM_"):
            continue
        if not url:
            url, key = settings.LLM_BASE_URL, key or settings.LLM_API_KEY
        name = name or "default"
        endpoints = (Endpoint(url=url or "", key=key or ""),)
        found[str(purpose)] = ModelSpec(name=name, endpoints=endpoints, price=prices.get(name), is_locked=True)
    return found


@cache
def environment_prices(table: str) -> Mapping[str, Price]:
    """Prices by model of LLM_PRICES."""
    return parse_prices(table) if table else {}


def _local() -> ModelSpec | None:
    name = settings.LLM_LOCAL_MODEL
    return ModelSpec(name=name, is_locked=True, is_local=True) if name else None


# ── the registry ──────────────────────────────────────────────────────────────────────────────────


def _read() -> dict[str, ModelSpec]:
    """Purpose -> model. Models without a server that can be used are left out."""
    hosts = hosts_allowed()
    specs: dict[str, ModelSpec] = {}
    rows = ModelPurpose.objects.select_related("model").prefetch_related("model__servers")
    for row in rows:
        servers = [server for server in row.model.servers.all() if server.enabled]
        endpoints = [one for server in servers if (one := endpoint_of(server, hosts)) is not None]
        if endpoints:
            specs[row.purpose] = spec_of(row.model, endpoints)
    return specs


def spec_of(model: LanguageModel, endpoints: Sequence[Endpoint]) -> ModelSpec:
    """A row as it is to be asked."""
    has_price = model.price_in is not None and model.price_out is not None
    price = Price(prompt=model.price_in, completion=model.price_out) if has_price else None  # type: ignore[arg-type]
    return ModelSpec(
        name=model.name, endpoints=tuple(endpoints), price=price, context_tokens=model.context_tokens or None
    )


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
    given = SourcePlace.objects.filter(tenant__is_default=True, kind=SourcePlace.Kind.HOST)
    return (*settings.FETCH_ALLOWED_HOSTS, *given.order_by("location").values_list("location", flat=True))
