"""How well scores of the judge agree with people, as measured; shown beside every score."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAgreement:
    """Pearson's r of a score with people's judgement, -1 to 1."""

    pearson: float
    data: str  # what people judged


@cache
def agreement_with_people(score: str) -> PeopleAgreement | None:
    """Of a metric of the judge without a model; None: never compared with people."""
    record = json.loads((files("ragcore.scoring") / "people.json").read_text(encoding="utf-8")).get(score)
    return None if not isinstance(record, dict) else PeopleAgreement(**record)
