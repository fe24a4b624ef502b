"""The environment, parsed once. All faults are reported together, in words, before anything starts.

`from ragsite.env import env` is the only way in which the product reads the environment. Database and Redis that
are not configured are those of the embedded services (`ragsite.embedded`), found through `DATA_DIR`, so that a
management command in another shell with the same `DATA_DIR` reaches the running instance.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ragsite.embedded.data_dir import Runtime, Secrets
from ragsite.env_privacy import PrivacyEnvironment
from ragsite.env_sign_in import SignInEnvironment
from ragsite.env_values import (
    Folders,
    Hosts,
    HttpUrl,
    InvalidEnvironmentError,
    Items,
    MilvusUri,
    Networks,
    Origins,
    PostgresUrl,
    RedisUrl,
    SecretFiles,
    absolute_file,
    absolute_path,
    check_limits,
    check_local_model,
    check_prices,
    check_time_zone,
    check_vocabulary,
    known_client,
)

__all__ = ["Environment", "InvalidEnvironmentError", "env", "read_environment"]

PROJECT_ROOT = Path(__file__).resolve().parent.parent
# connections of a web process to PostgreSQL, one for each thread that can use one
QUESTION_THREADS = 8  # more would wait for the interpreter, not for the database
VIEW_THREADS = 6  # pages and the synchronous API; more at a time wait for a connection
RESERVED_CONNECTIONS = 40  # of workers, scheduler, commands and administrators
LEAST_POOL = 4
TLS_KEY_CHARACTERS = 50  # of SECRET_KEY where the site is reached over TLS
TLS_KEY_DIFFERENT = 5

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """Processor cores that this process may use: of the machine, its affinity, and the quota of its container."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    if CPU_QUOTA.is_file():
        quota, _, period = CPU_QUOTA.read_text(encoding="ascii").partition(" ")
        if quota.isdigit():
            cores = min(cores, ceil(int(quota) / int(period)))
    return max(1, cores)


class Environment(SignInEnvironment, PrivacyEnvironment):
    """Every variable that the product understands, with its default. An empty variable counts as unset."""

    model_config = SettingsConfigDict(
        case_sensitive=True, env_ignore_empty=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    # where and how it runs
    DATA_DIR: Annotated[Path, AfterValidator(absolute_path)] = PROJECT_ROOT / "var"
    HOST: str = "127.0.0.1"
    PORT: int = Field(default=8000, ge=1, le=65535)
    WEB_PROCESSES: int = Field(default_factory=usable_cores, ge=1, le=256)
    PROMETHEUS_MULTIPROC_DIR: Path | None = None  # set by ragsite.web_server for its processes
    DEMO: bool = True
    DEBUG: bool = False
    LOG_LEVEL: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    LOG_FORMAT: Literal["text", "json"] = "text"
    TIME_ZONE: Annotated[str, AfterValidator(check_time_zone)] = "UTC"
    EXPORT_FONT: str = ""  # path of a TrueType font that exported PDFs embed for Chinese; "": that of the PDF reader
    LANGUAGE_CODE: str = Field(default="en", pattern=r"^[a-z]{2,3}(-[A-Za-z]{2,4})?$")

    # services; unset: the embedded ones of DATA_DIR
    DATABASE_URL: PostgresUrl = Field(default=None, repr=False)
    REDIS_URL: RedisUrl = Field(default=None, repr=False)

    DATABASE_POOL: int = Field(default=0, ge=0, le=1000)  # connections of a process; 0: as its threads need

    # access
    TLS: bool | None = None  # reached over https only; unset: where DATABASE_URL is set
    HSTS_SECONDS: int = Field(default=31_536_000, ge=0)  # for which browsers remember that; 0: not told
    TRUSTED_PROXIES: Networks = ("127.0.0.1", "::1")  # whose word on the client's address and on https counts
    SECRET_KEY: str | None = Field(default=None, min_length=32, repr=False, validate_default=True)
    ADMIN_PASSWORD: str | None = Field(default=None, repr=False)
    ALLOWED_HOSTS: Annotated[Items, Field(validate_default=True)] = ()
    CSRF_TRUSTED_ORIGINS: Origins = ()
    CORS_ALLOWED_ORIGINS: Origins = ()
    API_DOCS_OPEN: bool = False  # /api/docs and /api/schema without signing in

    # mail; without EMAIL_HOST people are told in their inbox only
    EMAIL_HOST: str | None = None
    EMAIL_PORT: int = Field(default=587, ge=1, le=65535)
    EMAIL_SECURITY: Literal["starttls", "tls", "none"] = "starttls"
    EMAIL_HOST_USER: str | None = None
    EMAIL_HOST_PASSWORD: str | None = Field(default=None, repr=False)
    EMAIL_FROM: str = "ragsite@localhost"
    SITE_URL: HttpUrl = None  # of links in mails

    # models; without LLM_BASE_URL answers are extractive
    LLM_BASE_URL: HttpUrl = None
    LLM_API_KEY: str | None = Field(default=None, repr=False)
    LLM_MODEL: str | None = Field(default=None, validate_default=True)
    # a GGUF file that `make run` serves with llama.cpp, where LLM_BASE_URL is not set
    LLM_FILE: Annotated[Path | None, AfterValidator(absolute_file)] = None
    LLM_FILE_CONTEXT: int = Field(default=8192, ge=2048, le=1_000_000)  # tokens, where model and memory allow them
    LLM_FILE_THREADS: int = Field(default=0, ge=0, le=256)  # 0: all cores but one or two
    # of other tiers: without a URL they are at the same server, with its key
    LLM_FAST_BASE_URL: HttpUrl = None
    LLM_FAST_API_KEY: str | None = Field(default=None, repr=False)
    LLM_FAST_MODEL: str | None = Field(default=None, validate_default=True)
    LLM_ADVANCED_BASE_URL: HttpUrl = None
    LLM_ADVANCED_API_KEY: str | None = Field(default=None, repr=False)
    LLM_ADVANCED_MODEL: str | None = Field(default=None, validate_default=True)
    LLM_JUDGE_BASE_URL: HttpUrl = None
    LLM_JUDGE_API_KEY: str | None = Field(default=None, repr=False)
    LLM_JUDGE_MODEL: str | None = Field(default=None, validate_default=True)
    LLM_LOCAL_MODEL: Annotated[str | None, AfterValidator(check_local_model)] = None
    LLM_PRICES: Annotated[str | None, AfterValidator(check_prices)] = None  # JSON by model, of a million tokens
    LLM_LIMITS: Annotated[str | None, AfterValidator(check_limits)] = None  # JSON by model, in seconds
    LLM_EXAM: bool = True  # examine a model that the environment or the registry names for the first time
    TOKENIZER_FILE: Annotated[Path | None, AfterValidator(check_vocabulary)] = None  # unset: tokens are estimated
    EMBEDDING_BASE_URL: HttpUrl = None
    EMBEDDING_API_KEY: str | None = Field(default=None, repr=False)
    # what stands before texts, how tokens become one vector, and how much is read ("", 0: as the model says)
    EMBEDDER_QUERY_PREFIX: str = ""
    EMBEDDER_DOCUMENT_PREFIX: str = ""
    EMBEDDER_POOLING: Literal["", "cls", "mean", "max", "lasttoken"] = ""
    EMBEDDER_MAX_TOKENS: int = Field(default=0, ge=0, le=1_000_000)
    EMBEDDER_TRUST_REMOTE_CODE: bool = False  # run code that comes with a model of EMBEDDER=sentence_transformers
    EMBEDDER: str = ""  # "": the packaged model that the database names
    RERANKER_URL: HttpUrl = None
    RERANKER_API_KEY: str | None = Field(default=None, repr=False)
    RERANKER_BACKEND: Literal["torch", "onnx", "openvino"] = "torch"
    RERANKER_BATCH: int = Field(default=0, ge=0, le=1024)  # pairs at a time; 0: as suits the model
    RERANKER_SECONDS: float = Field(default=5.0, ge=0.1, le=60)  # for a question; then the linear one orders instead
    RERANKER_TRUST_REMOTE_CODE: bool = False  # run code that comes with a model of RERANKER=cross_encoder
    RERANKER: str = "linear"
    EMBEDDER_THREADS: int = Field(default=0, ge=0, le=256)  # of the packaged embedder in a process; 0: all cores
    MODEL_SOCKET: Path | None = (
        None  # of the process that holds models of folders; unset: the one of `make run`, or none
    )
    MODELS_IN_MEMORY: int = Field(default=4, ge=1, le=64)  # of that process
    MODEL_CONCURRENCY: int = Field(default=4, ge=1, le=1000)  # requests of ingestion at one model server at a time

    # where passages are searched; another backend than Postgres is fed from it (docs/scaling.md)
    SEARCH_BACKEND: Literal["postgres", "milvus"] = "postgres"
    MILVUS_URI: MilvusUri = Field(default=None, repr=False, validate_default=True)
    MILVUS_TOKEN: str | None = Field(default=None, repr=False)
    MILVUS_COLLECTION: str = Field(default="ragsite", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")

    # what sources may reach besides the public web
    SOURCE_FOLDERS: Folders = ()
    GRANTABLE_FOLDERS: Folders = ()
    FETCH_ALLOWED_HOSTS: Hosts = ()

    # limits
    MAX_UPLOAD_MB: int = Field(default=100, ge=1, le=10_000)
    MAX_ATTACHMENT_MB: int = Field(default=20, ge=1, le=1000)  # a file attached to a question
    MAX_ATTACHMENTS_MB: int = Field(default=200, ge=1, le=100_000)  # all attached files of one person
    MAX_BULK_MB: int = Field(default=1024, ge=1, le=100_000)  # one bulk load, kept on disk while it is read
    DISK_WARNING_MB: int = Field(default=2048, ge=0, le=100_000_000)  # free space below which administrators are told
    DISK_RESERVE_MB: int = Field(default=512, ge=0, le=100_000_000)  # below which no more files are accepted
    MAX_IN_FLIGHT: int = Field(default=200, ge=1, le=100_000)
    MAX_IN_FLIGHT_PER_PERSON: int = Field(default=0, ge=0, le=100_000)  # 0: no limit, also of those that follow
    MAX_IN_FLIGHT_PER_KEY: int = Field(default=0, ge=0, le=100_000)
    MAX_IN_FLIGHT_PER_TENANT: int = Field(default=0, ge=0, le=100_000)
    CONNECTIONS_PER_ADDRESS: int = Field(default=1000, ge=0, le=1_000_000)  # over all web processes; 0: no limit
    REQUEST_HEAD_SECONDS: float = Field(default=20.0, ge=0.1, le=600)  # until the head of a request is there
    REQUEST_STALL_SECONDS: float = Field(default=20.0, ge=0.1, le=600)  # a window in which a request makes progress
    REQUEST_BYTES_PER_SECOND: float = Field(default=256.0, ge=0, le=1_000_000)  # least rate of a body over a window
    SOCKETS_PER_PERSON: int = Field(default=100, ge=0, le=100_000)
    QUESTIONS_PER_MINUTE_PER_KEY: int = Field(default=0, ge=0, le=1_000_000)
    QUESTIONS_PER_MINUTE_PER_TENANT: int = Field(default=0, ge=0, le=10_000_000)
    QUESTIONS_PER_MINUTE: int = Field(default=6000, ge=0, le=1_000_000)  # of one person; 0: no limit

    # reading files
    REQUIRE_SANDBOX: bool = False  # refuse to read files where the process that reads them cannot be confined

    # the vector index; changes are used by the next build
    HNSW_M: int = Field(default=32, ge=4, le=100)
    HNSW_EF_CONSTRUCTION: int = Field(default=256, ge=8, le=1000)
    INDEX_MEMORY_MB: int = Field(default=1024, ge=64, le=1_000_000)  # that PostgreSQL may take to build it

    # upkeep
    MAINTENANCE_HOUR: int = Field(default=3, ge=0, le=23)  # on Sundays, in TIME_ZONE
    PURGE_AFTER_DAYS: int = Field(default=30, ge=1, le=36_500)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only the process environment counts, and the files that it names; no hidden file overrides it."""
        return (init_settings, env_settings, SecretFiles(settings_cls))

    @field_validator("SECRET_KEY")
    @classmethod
    def _secret_key_is_shared(cls, value: str | None, info: ValidationInfo) -> str | None:
        """An external database may serve several hosts, and sessions hold only where they share the key."""
        if value is None and info.data.get("DATABASE_URL"):
            raise ValueError("is required where DATABASE_URL is set (at least 32 random characters, 50 with TLS)")
        is_weak = value is not None and (len(value) < TLS_KEY_CHARACTERS or len(set(value)) < TLS_KEY_DIFFERENT)
        if is_weak and _is_tls(info.data):
            raise ValueError("must be at least 50 random characters where the site is reached over TLS")
        return value

    @field_validator("ALLOWED_HOSTS")
    @classmethod
    def _hosts_are_named(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        """Links in mails and redirects are made from the host of the request."""
        if "*" in value and _is_tls(info.data):
            raise ValueError("must name the hosts of the site where it is reached over TLS, not *")
        return value

    @field_validator("LLM_MODEL")
    @classmethod
    def _model_has_a_name(cls, value: str | None, info: ValidationInfo) -> str | None:
        """Servers of a single model take any name, so a missing one is no reason not to start."""
        return value or ("default" if info.data.get("LLM_BASE_URL") else None)

    @field_validator("LLM_FAST_MODEL", "LLM_ADVANCED_MODEL", "LLM_JUDGE_MODEL")
    @classmethod
    def _tier_has_a_server(cls, value: str | None, info: ValidationInfo) -> str | None:
        """A tier with a server of its own may leave out the name of its model, and one with a model the server."""
        tier = str(info.field_name).removesuffix("_MODEL")
        if info.data.get(f"{tier}_BASE_URL"):
            return value or "default"
        if value and not info.data.get("LLM_BASE_URL"):
            raise ValueError(f"needs {tier}_BASE_URL or LLM_BASE_URL")
        return value

    @field_validator("EMBEDDER")
    @classmethod
    def _embedder_is_known(cls, value: str, info: ValidationInfo) -> str:
        if not value:
            return value
        from ragcore.embedding import EMBEDDERS  # its clients load numpy, which most commands never need

        return known_client(value, EMBEDDERS, url_setting="EMBEDDING_BASE_URL", settings=info.data)

    @field_validator("MILVUS_URI")
    @classmethod
    def _milvus_can_be_used(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("SEARCH_BACKEND") == "milvus":
            if value is None:
                raise ValueError("is required where SEARCH_BACKEND is milvus")
            needed = ("pymilvus", "milvus_lite") if value.endswith(".db") else ("pymilvus",)
            if missing := [name for name in needed if find_spec(name) is None]:
                names = " ".join(missing).replace("_", "-")
                raise ValueError(f"needs packages that are not installed: pip install {names}")
        return value

    @field_validator("RERANKER")
    @classmethod
    def _reranker_is_known(cls, value: str, info: ValidationInfo) -> str:
        from ragcore.reranking import RERANKERS

        return known_client(value, RERANKERS, "none", url_setting="RERANKER_URL", settings=info.data)

    @property
    def is_tls(self) -> bool:
        """Whether the site is reached over https only: production, unless it says otherwise."""
        return _is_tls({"TLS": self.TLS, "DATABASE_URL": self.DATABASE_URL})

    @property
    def is_embedded(self) -> bool:
        """Whether the database is the one that `make run` starts."""
        return self.DATABASE_URL is None

    def database_url(self) -> str | None:
        """The configured database, else the running embedded one, else None."""
        return self.DATABASE_URL or Runtime.read(self.DATA_DIR).database_url

    def redis_url(self) -> str | None:
        """The configured Redis, else the running embedded one, else None."""
        return self.REDIS_URL or Runtime.read(self.DATA_DIR).redis_url

    def model_socket(self) -> Path | None:
        """Where models of folders are served: as configured, else by the running embedded instance, else None."""
        served = Runtime.read(self.DATA_DIR).model_socket
        return self.MODEL_SOCKET or (Path(served) if served else None)

    def language_model_state(self) -> Path | None:
        """Where the state of the model of LLM_FILE stands while an embedded instance serves it, else None."""
        state = Runtime.read(self.DATA_DIR).language_model
        return Path(state) if state else None

    def pool_size(self) -> int:
        """Connections to PostgreSQL that a web process may keep: as configured, or one for each of its threads."""
        second_arms = min(max(1, (os.cpu_count() or 1) - 1), 8)
        return self.DATABASE_POOL or QUESTION_THREADS + VIEW_THREADS + second_arms

    def needed_connections(self) -> int:
        """Connections that PostgreSQL has to allow for all processes of the product."""
        return self.WEB_PROCESSES * self.pool_size() + RESERVED_CONNECTIONS

    def secret_key(self) -> str:
        """The configured key, else the one of DATA_DIR, which is generated on first use."""
        return self.SECRET_KEY or Secrets.of(self.DATA_DIR).secret_key


def _is_tls(values: Mapping[str, Any]) -> bool:
    return bool(values.get("DATABASE_URL")) if values.get("TLS") is None else bool(values["TLS"])


def read_environment(**overrides: Any) -> Environment:
    """Parse the process environment; `overrides` win. Raises InvalidEnvironmentError with all faults."""
    try:
        return Environment(**overrides)
    except ValidationError as error:
        faults = {str(e["loc"][0]): e["msg"].removeprefix("Value error, ") for e in error.errors(include_input=False)}
        raise InvalidEnvironmentError(faults) from None


def _environment_or_exit() -> Environment:
    """Faults end the program with their message instead of a traceback."""
    try:
        return read_environment()
    except InvalidEnvironmentError as error:
        sys.exit(str(error))


env = _environment_or_exit()
