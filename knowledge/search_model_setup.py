"""Which embedding model and reranker are in use: what the environment sets, else what the registry says.

The registry is read with that of chat models (`knowledge.model_setup`), so every process follows a switch within a
second. A process that does not know of it yet searches the former vectors, which are kept complete.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.conf import settings

from knowledge.errors import CredentialsUnreadableError
from knowledge.models import EmbedderSwitch, RerankerFit, SearchModel
from knowledge.packaged_models import ENGLISH, PACKAGED, packaged_default
from knowledge.sealed_text import text_open
from ragcore.errors import WeightsRefusedError
from ragcore.reranking.linear import LinearReranker

logger = logging.getLogger(__name__)

KEY_PURPOSE = b"ragsite: keys of search models"
PACKAGED_RERANKER = "linear"
Task, Provider = SearchModel.Task, SearchModel.Provider
CLIENTS = {  # of a row -> what the registries of clients call it
    (Task.EMBED, Provider.PACKAGED): "{}",
    (Task.EMBED, Provider.SERVER): "openai:{}",
    (Task.EMBED, Provider.FOLDER): "sentence_transformers:{}",
    (Task.RERANK, Provider.PACKAGED): PACKAGED_RERANKER,
    (Task.RERANK, Provider.SERVER): "http:{}",
    (Task.RERANK, Provider.FOLDER): "cross_encoder:{}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchModelSpec:
    """An embedding model or a reranker as its client is made. Equal ones share a client."""

    client: str  # as the settings EMBEDDER and RERANKER name it
    url: str = ""
    key: str = field(default="", repr=False)
    is_key_lost: bool = False  # it is stored, and cannot be read any more
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = ""
    max_tokens: int = 0
    trust_remote_code: bool = False
    hosts: tuple[str, ...] | None = None  # private hosts that may be connected to; None: any, the operator named it
    is_locked: bool = field(default=False, compare=False)  # the environment says so

    @property
    def is_remote(self) -> bool:
        """Whether requests leave this process."""
        return self.client.partition(":")[0] in ("openai", "http")

    @property
    def is_linear(self) -> bool:
        """Whether it is the reranker that fitted weights take part in."""
        return self.client == PACKAGED_RERANKER


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSearch:
    """What the registry has in use; None: nothing."""

    embedder: SearchModelSpec | None = None
    reranker: SearchModelSpec | None = None
    floors: Mapping[str, float] = field(default_factory=dict)  # tenant -> default of `min_cosine`, calibrated
    fitted: Mapping[int, LinearReranker] = field(default_factory=dict)  # tenant -> with its fitted weights


NOTHING = RegisteredSearch()


def is_embedder_locked() -> bool:
    """Whether the environment decides, whatever the registry says. EMBEDDER=embedded does not: sites have always had it
    in their files beside models of the registry.
    """
    return settings.EMBEDDER not in ("", ENGLISH)


def first_packaged() -> str:
    """The packaged embedding model where nothing else is said: of the environment, else the default of this machine."""
    return settings.EMBEDDER if settings.EMBEDDER in PACKAGED else packaged_default()


def environment_embedder() -> SearchModelSpec:
    """The embedder of the settings, else the packaged one of this machine."""
    return SearchModelSpec(
        client=settings.EMBEDDER or packaged_default(),
        url=settings.EMBEDDING_BASE_URL or "",
        key=settings.EMBEDDING_API_KEY or "",
        query_prefix=settings.EMBEDDER_QUERY_PREFIX,
        document_prefix=settings.EMBEDDER_DOCUMENT_PREFIX,
        pooling=settings.EMBEDDER_POOLING,
        max_tokens=settings.EMBEDDER_MAX_TOKENS,
        trust_remote_code=settings.EMBEDDER_TRUST_REMOTE_CODE,
        is_locked=is_embedder_locked(),
    )


def environment_reranker() -> SearchModelSpec:
    """The same of the reranker; its client is "none" where there is to be none."""
    return SearchModelSpec(
        client=settings.RERANKER,
        url=settings.RERANKER_URL or "",
        key=settings.RERANKER_API_KEY or "",
        trust_remote_code=settings.RERANKER_TRUST_REMOTE_CODE,
        is_locked=settings.RERANKER != PACKAGED_RERANKER,
    )


def spec_of(row: SearchModel | None, hosts: tuple[str, ...]) -> SearchModelSpec:
    """A row as its client is made; None is the embedder of the environment."""
    if row is None:
        return environment_embedder()
    key = _key(row)
    return SearchModelSpec(
        client=_client(row),
        url=row.url,
        key=key or "",
        is_key_lost=key is None,
        query_prefix=row.query_prefix,
        document_prefix=row.document_prefix,
        pooling=row.pooling,
        max_tokens=row.max_tokens or 0,
        # code runs where the operator has allowed that for the process, too
        trust_remote_code=row.trust_remote_code and may_run_code(row.task),
        hosts=hosts if row.provider == Provider.SERVER else None,  # else a model is loaded again where they change
    )


def _client(row: SearchModel) -> str:
    """As the settings EMBEDDER and RERANKER name it."""
    form, name = CLIENTS[Task(row.task), Provider(row.provider)], row.name
    if row.provider == Provider.PACKAGED and row.task == Task.EMBED and not name:
        name = first_packaged()
    return form.format(name).rstrip(":")


def may_run_code(task: str) -> bool:
    """Whether the operator lets code of models run."""
    allowed = settings.EMBEDDER_TRUST_REMOTE_CODE if task == Task.EMBED else settings.RERANKER_TRUST_REMOTE_CODE
    return bool(allowed)


def _key(row: SearchModel) -> str | None:
    """The key; None where it cannot be read any more."""
    try:
        return text_open(row.key, purpose=KEY_PURPOSE) if row.key else ""
    except CredentialsUnreadableError:
        logger.warning("the key of the search model %d cannot be read: enter it again", row.pk)
        return None


def registered_search(hosts: tuple[str, ...]) -> RegisteredSearch:
    """What the registry has in use. Uses the ORM."""
    live = EmbedderSwitch.objects.filter(state=EmbedderSwitch.State.LIVE).select_related("target").first()
    reranker = SearchModel.objects.filter(task=Task.RERANK, is_used=True).first()
    return RegisteredSearch(
        embedder=spec_of(live.target, hosts) if live is not None and live.target is not None else None,
        reranker=spec_of(reranker, hosts) if reranker is not None else None,
        floors=live.figures.get("calibration", {}).get("floors", {}) if live is not None else {},
        fitted=_fitted(),
    )


def _fitted() -> dict[int, LinearReranker]:
    """Tenant -> the linear reranker with its weights in use. Weights of other features are never used."""
    rerankers = {}
    for row in RerankerFit.objects.filter(state=RerankerFit.State.LIVE):
        try:
            rerankers[row.tenant_id] = LinearReranker.fitted(row.weights or (), row.features, number=row.number)
        except WeightsRefusedError as error:
            logger.warning("fitted weights %d of tenant %d are not used: %s", row.number, row.tenant_id, error)
    return rerankers
