"""States and ports for tests of stages."""

from __future__ import annotations

from collections.abc import Mapping

from ragcore.ports import Ports
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Hit, Passage, Query, State


class FixedTrust:
    """An embedder that is asked only how far it can be trusted."""

    model = "fixed"
    dimensions = 768

    def __init__(self, trust: float) -> None:
        self._trust = trust

    def trust(self, cjk_share: float) -> float:
        return self._trust


class NothingThere:
    """A store in which no chunk exists any more."""

    def load(self, chunks):
        return {}


def ports(*, trust: float = 1.0, **given) -> Ports:
    """Ports for stages that need no index."""
    defaults = {"lexical": None, "vectors": None, "passages": NothingThere(), "tokenizer": JiebaTokenizer()}
    return Ports(**{**defaults, "embedder": FixedTrust(trust), **given})


def state_with(*, words: int = 2, cjk_share: float = 0.0, **arms: Mapping[int, float]) -> State:
    """A state whose arms hold these scores, given best first, chunk -> score."""
    query = Query(text="q", terms=("q",) * words, words=("q",) * words, cjk_share=cjk_share)
    state = State(query=query)
    for name, scores in arms.items():
        state = state.with_arm(name, [Hit(chunk=c, document=c, score=s) for c, s in scores.items()])
    return state


def ranked_with(*chunks: int) -> State:
    """A state whose candidates stand in this order."""
    state = state_with(lexical={chunk: 10.0 - place for place, chunk in enumerate(chunks)})
    return state.ranked("first", state.arms["lexical"], keep=len(chunks))


def passage(chunk: int, text: str = "text", title: str = "title") -> Passage:
    return Passage(chunk=chunk, document=chunk, version=1, text=text, title=title)
