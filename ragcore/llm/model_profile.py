"""What is known of a chat model: how far its writing can be trusted, what it can do, and how quick it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

WritingWay = Literal["marks", "plain", "fill", "quote"]
JsonWay = Literal["schema", "object", "asked", "none"]
Overflow = Literal["", "cuts", "refuses"]
WAYS: tuple[WritingWay, ...] = get_args(WritingWay)  # the least trusting one last
JSON_WAYS: tuple[JsonWay, ...] = get_args(JsonWay)
OVERFLOWS: tuple[Overflow, ...] = get_args(Overflow)
NAMES = ("left_out", "reported")  # fields that are lists of text

READING_RESERVE = 1_000  # tokens of the context for the rules, the question and the answer
LEAST_READ = 600  # tokens of sources that any model is given
PATIENCE = 3.0  # times what the exam measured is waited for
LEAST_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What an exam found, or a person said. A model without an exam has the defaults.

    `way`: "marks" (it cites by itself), "plain" (it writes sentences from the sources, the marks are ours), "fill" (it
    writes from sentences that are chosen for it), "quote" (it writes no answers). Speeds are tokens a second.
    """

    way: WritingWay = "marks"
    believes_refusals: bool = True  # what it refuses is not there; False: the product decides before it is asked
    json: JsonWay = "asked"
    judges: bool = True  # its grades and verdicts are used
    checks: bool = False  # it is asked whether a quotation states the answer
    has_system_role: bool = True
    obeys_documents: bool = False  # it follows orders that stand in a source
    thinks: bool = False
    thinks_first: bool = False  # its template opens the reasoning: replies begin inside it, and only its end is told
    context_tokens: int | None = None  # that it really reads
    overflow: Overflow = ""  # what its server does with a longer prompt, cut silently or refuse; "": not known
    first_token_seconds: float | None = None  # of a short prompt
    reading_speed: float | None = None
    writing_speed: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)  # by skill, 0 to 1, the higher the better
    left_out: tuple[str, ...] = ()  # fields of a request that its server does not take, see `refused_fields`
    reported: tuple[str, ...] = ()  # names by which its server called the model in the exam
    listed: str = ""  # how its server listed the model, see `listed_model`

    def reading_seconds(self, tokens: int) -> float | None:
        """How long a prompt of so many tokens takes before the first word; None: not measured."""
        if self.reading_speed is None:
            return None
        return (self.first_token_seconds or 0.0) + tokens / self.reading_speed

    def patience_seconds(self, tokens: int) -> float | None:
        """How long to wait for the first token of an answer to such a prompt; None: as usual."""
        seconds = self.reading_seconds(tokens)
        return None if seconds is None else max(LEAST_SECONDS, PATIENCE * seconds)

    def writes_within(self, seconds: float, *, prompt_tokens: int, tokens: int) -> bool | None:
        """Whether it has written so many tokens in this time after such a prompt; None: not measured.

        A model that thinks first has not.
        """
        if self.thinks:
            return False
        if self.first_token_seconds is None or self.writing_speed is None:
            return None
        reading = self.reading_seconds(prompt_tokens) or self.first_token_seconds
        return reading + tokens / self.writing_speed <= seconds

    @property
    def is_quoting(self) -> bool:
        """Whether the sources are quoted, and the model at most chooses a sentence."""
        return self.way in ("fill", "quote")

    def source_tokens(self, budget: int, *, seconds: float) -> int:
        """Tokens of sources that it is given: at most `budget`, what its context holds, and what it reads in time."""
        most = budget
        if self.context_tokens is not None:
            most = min(most, self.context_tokens - READING_RESERVE)
        if self.reading_speed is not None:
            most = min(most, int(seconds * self.reading_speed))
        return max(most, min(budget, LEAST_READ))

    def as_json(self) -> dict[str, Any]:
        """All fields, as they are stored."""
        return {**asdict(self), "scores": dict(self.scores)}

    def overridden(self, values: Mapping[str, Any]) -> ModelProfile:
        """The profile with what a person has set; unknown names and impossible values are left out."""
        return replace(self, **{name: value for name, value in values.items() if is_valid(name, value)})


UNTESTED = ModelProfile()


def parse_profile(values: Mapping[str, Any]) -> ModelProfile:
    """A stored profile; what it lacks, or what is impossible, is as in one without an exam."""
    profile = UNTESTED.overridden(values)
    # JSON has lists
    return replace(profile, left_out=tuple(profile.left_out), reported=tuple(profile.reported))


def is_valid(name: str, value: Any) -> bool:
    """Whether a field may have this value."""
    if name == "way":
        return value in WAYS
    if name == "json":
        return value in JSON_WAYS
    if name == "scores":
        return isinstance(value, Mapping)
    if name == "overflow":
        return value in OVERFLOWS
    if name == "listed":
        return isinstance(value, str)
    if name in NAMES:
        return isinstance(value, (list, tuple)) and all(isinstance(key, str) for key in value)
    if name in ("context_tokens", "first_token_seconds", "reading_speed", "writing_speed"):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value is None or (is_number and value > 0)
    return name in {each.name for each in fields(ModelProfile)} and isinstance(value, bool)


def profile_of(model: object) -> ModelProfile:
    """The profile of a chat model or generator; the defaults for one that has none."""
    profile = getattr(model, "profile", None)
    return profile if isinstance(profile, ModelProfile) else UNTESTED
