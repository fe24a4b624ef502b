"""The register of metrics: each declares its name, label and direction on a class; a run computes all that apply.

    @metric("key_points", label=_("Key points covered"), primary=True)
    class KeyPoints:
        def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None: ...

Every module of this package is imported by `all_metrics`, so a new metric is one new file and its test. A metric
returns None where a case has nothing that it could be compared with.
"""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Literal, Protocol, TypeVar

from ragcore.errors import RagError
from ragcore.llm.client import LlmClient
from ragcore.ports import Embedder, Tokenizer
from ragcore.types.documents import Language

logger = logging.getLogger(__name__)

Unit = Literal["share", "seconds", "money", "count"]  # share: 0 to 1
FINAL = "final"  # the stage whose ranking is what a search returns

_METRICS: dict[str, RegisteredMetric] = {}
M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedText:
    """A passage at its place in a ranking. `document` as the golden case names it."""

    document: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSource:
    """A numbered source of an answer."""

    number: int
    document: str  # as the golden case names it
    text: str
    is_cited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCase:
    """What a golden case expects beside what the product did with it. Plain values, all of them storable."""

    question: str
    language: Language = "other"
    # expected
    relevant: Mapping[str, float] = field(default_factory=dict)  # document -> gain, 1 to 3
    quotations: Mapping[str, float] = field(default_factory=dict)  # of relevant passages -> gain, 1 to 3
    golds: Sequence[str] = ()  # a right answer contains one of them
    key_points: Sequence[str] = ()  # a complete answer says all of them
    expects_refusal: bool = False
    # what happened
    ranking: Sequence[RankedText] | None = None  # that is judged, best first; None: nothing was searched
    by_stage: Mapping[str, Sequence[RankedText]] = field(default_factory=dict)  # rankings of earlier stages
    triples: Sequence[str] | None = None  # texts of facts after re-scoring, best first; None: none were asked for
    triples_first: Sequence[str] | None = None  # the same in the order of the first stage
    answer: str | None = None  # None: no answer was asked for
    is_refused: bool = False  # said that it has no answer, or showed search results instead
    sources: Sequence[MeasuredSource] = ()
    support: Sequence[str] = ()  # of each sentence: supported, weak, unsupported
    rewrites: Sequence[str] = ()
    context: str | None = None  # after compression; None: not compressed
    seconds: float = 0.0
    cost: float | None = None
    stage_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTools:
    """What metrics may use. Without a language model those that need one use rules, or are None."""

    tokenizer: Tokenizer
    embedder: Embedder | None = None
    llm: LlmClient | None = None


class Metric(Protocol):
    """One figure of one case."""

    def __call__(self, case: MeasuredCase, tools: MetricTools, /) -> float | None:
        """None: the metric says nothing about this case. Raises RagError where it cannot be computed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricInfo:
    """What a metric declares of itself; runs, comparisons, gates and the documentation read it from here."""

    name: str  # unique; `ndcg@10`
    label: str  # an English message id (ragcore.labels)
    help: str = ""  # one sentence, an English message id
    unit: Unit = "share"
    is_higher_better: bool = True
    is_primary: bool = False  # a change that makes it significantly worse does not pass the gate
    by_stage: bool = False  # also computed for the rankings of earlier stages, as `ndcg@10.fused`
    order: int = 100  # in tables
    levels: Mapping[float, str] = field(default_factory=dict)  # value -> its name, where there are only these values


@dataclass(frozen=True, slots=True)
class RegisteredMetric:
    """A metric with its declaration."""

    info: MetricInfo
    compute: Metric


def metric(
    name: str,
    *,
    label: str,
    help: str = "",
    unit: Unit = "share",
    higher_is_better: bool = True,
    primary: bool = False,
    by_stage: bool = False,
    order: int = 100,
    levels: Mapping[float, str] | None = None,
) -> Callable[[type[M]], type[M]]:
    """Register a class without arguments that is a `Metric`. Raises ValueError for a name that is taken."""

    def add(cls: type[M]) -> type[M]:
        registered = _METRICS.get(name)
        if registered is not None and type(registered.compute).__qualname__ != cls.__qualname__:
            raise ValueError(f"there is a metric {name!r} already")
        info = MetricInfo(
            name=name,
            label=label,
            help=help,
            unit=unit,
            is_higher_better=higher_is_better,
            is_primary=primary,
            by_stage=by_stage,
            order=order,
            levels=levels or {},
        )
        _METRICS[name] = RegisteredMetric(info, cls())  # type: ignore[arg-type]  # the classes are metrics
        return cls

    return add


@cache
def all_metrics() -> Mapping[str, RegisteredMetric]:
    """Every metric by name, in the order of tables."""
    package = import_module(__package__ or "ragcore.metrics")
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        import_module(module.name)
    return dict(sorted(_METRICS.items(), key=lambda item: (item[1].info.order, item[0])))


def metric_info(name: str) -> MetricInfo | None:
    """The declaration of a figure, also of one by stage (`ndcg@10.fused`, which is never primary); None: unknown."""
    plain, _, stage = name.partition(".")
    registered = all_metrics().get(plain)
    if registered is None:
        return None
    return replace(registered.info, name=name, is_primary=False) if stage else registered.info


def measure(case: MeasuredCase, tools: MetricTools) -> dict[str, float]:
    """All figures that apply to a case. One that fails is logged and left out; the others stay."""
    figures: dict[str, float] = {}
    for name, registered in all_metrics().items():
        if (value := _computed(registered, case, tools)) is not None:
            figures[name] = value
        if registered.info.by_stage:
            for stage, ranking in case.by_stage.items():
                if (value := _computed(registered, replace(case, ranking=ranking), tools)) is not None:
                    figures[f"{name}.{stage}"] = value
    return figures


def _computed(registered: RegisteredMetric, case: MeasuredCase, tools: MetricTools) -> float | None:
    try:
        return registered.compute(case, tools)
    except RagError as error:
        logger.warning("metric %s was not computed: %s", registered.info.name, error.code)
        return None
