"""What a refusal says of a thing that is asked for and is not there: a ninth step of seven."""

from __future__ import annotations

from ragcore.extractive.direct_answers import Missing
from ragcore.text.scripts import language_of

_REMARKS = {
    "zh": {
        "step": "“{name}”共有 {total} 步。",
        "handling": "资料中没有 {name} 的处理方法。",
        "target": "资料中没有给出目标值。",
    },
    "en": {
        "step": "“{name}” has {total} steps.",
        "handling": "The sources do not say how {name} is handled.",
        "target": "The sources state no target.",
    },
}


def missing_remark(query: str, missing: Missing) -> str:
    """The sentence before a refusal, in the language of the question."""
    remarks = _REMARKS["zh" if language_of(query) == "zh" else "en"]
    return remarks[missing.kind].format(name=missing.name, total=missing.total)
