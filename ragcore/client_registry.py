"""Model clients by the name that a setting gives them, such as `EMBEDDER=openai:bge-m3`; when they ask again.

A client is a class in a package of clients (`ragcore.embedding`, `ragcore.reranking`, `ragcore.llm`). It declares its
kind in a class attribute `client` and is made by its class method `from_settings`. A new client is one new module in
that package: settings, their checks and the wiring read the registry. Modules are imported on the first look-up, so
heavy libraries belong inside functions.
"""

from __future__ import annotations

import pkgutil
import random
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ragcore.model_limits import DEFAULT_LIMITS, ModelLimits
from ragcore.ports import TokenCounter

T_co = TypeVar("T_co", covariant=True)

RETRY_DELAYS_SECONDS = (1.0, 2.0, 4.0)
SHORT_DELAYS_SECONDS = (0.5,)  # for requests that rules can replace
RETRY_STATUSES = frozenset({408, 409, 425, 429})
LASTING_STATUSES = frozenset({501, 505})  # of servers that do not speak the protocol
JITTER = 0.1  # of a delay, so that clients that failed together do not return together


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKind:
    """How a setting names a client: `kind`, `kind:ARGUMENT`, or either of them."""

    kind: str
    argument: str = ""  # what stands behind the colon, in the words of an error: "MODEL"; "": nothing does
    is_argument_optional: bool = False
    needs_url: bool = False  # the setting with the URL of the server must be set
    is_local: bool = False  # runs in this process and costs nothing; chat models only

    @property
    def forms(self) -> tuple[str, ...]:
        """The ways to write it, for an error message."""
        with_argument = (f"{self.kind}:{self.argument}",) if self.argument else ()
        return ((self.kind,) if self.is_argument_optional or not self.argument else ()) + with_argument

    def accepts(self, argument: str) -> bool:
        """Whether this may stand behind the colon; "" is nothing. White space may not."""
        if not argument:
            return not self.argument or self.is_argument_optional
        return bool(self.argument) and not any(character.isspace() for character in argument)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What clients are made with; each reads the fields that concern it."""

    base_url: str = ""
    api_key: str = field(default="", repr=False)
    models_dir: Path = Path()  # where downloaded and converted models are kept
    model_socket: Path | None = None  # of the process that holds models of folders; None: they are loaded into this one
    threads: int = 0  # of a model in this process; 0: all cores
    backend: str = "torch"  # of a local reranker: torch, onnx or openvino
    batch: int = 0  # texts of one request; 0: as suits the model
    budget_seconds: float = 5.0  # for one question
    trust_remote_code: bool = False  # run code that comes with a model
    embedding_model: str = ""  # of a reranker: the model whose cosines it gets; "": any
    # of an embedder: what stands before texts, and how tokens become one vector ("": as the model says)
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = ""
    max_tokens: int = 0  # of a text that an embedder reads; 0: as the model says
    is_patient: bool = True  # of an embedder at a server; False: it is asked once, for `budget_seconds`
    shorten: Callable[..., Any] | None = None  # float[n, d] and `model` -> float32[n, 768]; None: d is 768
    limits: ModelLimits = DEFAULT_LIMITS  # of a chat model
    # host and port -> the addresses that may be connected to, or an error; None: any (`ragcore.checked_hosts`)
    permitted: Callable[[str, int], Sequence[str]] | None = None
    tokens: TokenCounter | None = None  # of a chat model: counts what its server does not; None: an estimate
    # of a chat model: fields that its server does not take (`ragcore.llm.refused_fields`)
    left_out: tuple[str, ...] = ()
    thinks_first: bool = False  # of a chat model: its replies begin inside their reasoning


class Client(Protocol[T_co]):
    """What the registry looks for in the modules of its package."""

    client: ClassVar[ClientKind]

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> T_co:
        """A client that connects or loads its model on first use."""
        ...


class ClientRegistry(Generic[T_co]):
    """The clients of one package by kind."""

    def __init__(self, package: str) -> None:
        self._package = package

    @cached_property
    def classes(self) -> Mapping[str, type[Client[T_co]]]:
        """Kind -> class, of all modules of the package."""
        classes: dict[str, type[Client[T_co]]] = {}
        for module_info in pkgutil.iter_modules(import_module(self._package).__path__):
            module = import_module(f"{self._package}.{module_info.name}")
            for value in vars(module).values():
                if isinstance(value, type) and value.__module__ == module.__name__ and "client" in vars(value):
                    classes[_kind(value).kind] = value
        return classes

    def kind_of(self, value: str) -> ClientKind | None:
        """The kind that a setting such as `openai:bge-m3` names; None where none is named so."""
        name, _, argument = value.partition(":")
        cls = self.classes.get(name)
        is_complete = cls is not None and cls.client.accepts(argument) and not value.endswith(":")
        return cls.client if cls is not None and is_complete else None

    def forms(self) -> list[str]:
        """All ways to write such a setting, in the order of the alphabet."""
        return [form for name in sorted(self.classes) for form in self.classes[name].client.forms]

    def create(self, value: str, settings: ClientSettings) -> T_co:
        """The client that a setting names. Raises ValueError where none is named so."""
        if self.kind_of(value) is None:
            raise ValueError(f"{value!r} is none of {', '.join(self.forms())}")
        name, _, argument = value.partition(":")
        return self.classes[name].from_settings(argument, settings)


def _kind(cls: Any) -> ClientKind:
    kind: ClientKind = cls.client
    return kind


@cache
def tls_context() -> ssl.SSLContext:
    """The certificates that clients of model servers trust, read once: it takes 20 ms of processor time."""
    import httpx

    return httpx.create_ssl_context()


def is_retryable(status: int) -> bool:
    """Whether a server that answers with this HTTP status may do better later."""
    return status in RETRY_STATUSES or (status >= 500 and status not in LASTING_STATUSES)


def delays(seconds: Sequence[float] = RETRY_DELAYS_SECONDS) -> Iterator[float]:
    """Seconds to wait before each retry."""
    for delay in seconds:
        yield delay * (1 + random.uniform(0, JITTER))  # noqa: S311 - not a secret


def retry_after(error: BaseException) -> float:
    """Seconds that a server asks to wait in `Retry-After`; 0 where it says nothing, or gives a date."""
    response: Any = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", None) or {}
    value = headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0.0
