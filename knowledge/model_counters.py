"""Which tokenizer counts what is sent to a chat model: its own where it names one, else the site's."""

from __future__ import annotations

from knowledge.model_registry import counter
from knowledge.model_setup import ModelSpec, setup_now
from knowledge.model_tokenizers import counter_named
from ragcore.llm.tiers import TIER_NAMES
from ragcore.ports import TokenCounter
from ragcore.text.token_count import LargestCounter


def counter_of_model(name: str) -> TokenCounter:
    """What counts for the model of this name, whatever it is used for."""
    spec = next((spec for spec in setup_now().models.values() if spec.name == name), None)
    return (counter_named(spec.tokenizer) if spec is not None else None) or counter()


def writing_counter() -> TokenCounter:
    """What counts for prompts of answers: of several models that may get the same one, the largest count holds.

    A model that only chooses among quoted sentences reads no sources.
    """
    names = dict.fromkeys(spec.tokenizer for spec in _writers())
    counters = list(dict.fromkeys(counter_named(name) or counter() for name in names))
    return LargestCounter(tuple(counters)) if len(counters) > 1 else next(iter(counters), counter())


def _writers() -> list[ModelSpec]:
    setup = setup_now()
    specs = (setup.local, *(setup.models.get(name) for name in TIER_NAMES))
    return [spec for spec in specs if spec is not None and not spec.profile.is_quoting]
