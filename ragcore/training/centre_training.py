"""Centres of the multilingual model's vectors, by language, from messages and their translations.

Both languages say the same, so the difference of two centres is that of the languages and not of the subjects. The
texts come with the product, Django and Django REST framework; no public set is read.
"""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import ragcore
from ragcore.embedding.e5 import PASSAGE, QUERY, E5Small
from ragcore.ports import FloatArray
from ragcore.training.rotation_training import TRANSLATED

SEED = 3
QUESTIONS, PASSAGES = 400, 140  # texts of each kind
JOINED = 8  # messages that make a passage
LEAST_CHARACTERS = (25, 8)  # of an English message and its translation
_MARKUP = re.compile(r"[%{<]")  # placeholders and tags

Pairs = Sequence[tuple[str, str]]


def centres_fitted(model: E5Small) -> FloatArray:
    """float32[2, 2, 384]: means of questions and passages, in English and Chinese."""
    texts = sorted(set(_translated()))
    order = np.random.default_rng(SEED).permutation(len(texts))
    drawn = [texts[place] for place in order]
    questions, rest = drawn[:QUESTIONS], drawn[QUESTIONS:]
    passages = [_passage(rest[at : at + JOINED]) for at in range(0, len(rest) - JOINED + 1, JOINED)][:PASSAGES]
    rows = [
        [model.encode([pair[language] for pair in pairs], prefix).mean(axis=0) for language in (0, 1)]
        for pairs, prefix in ((questions, QUERY), (passages, PASSAGE))
    ]
    return np.array(rows, np.float32)


def _passage(pairs: Pairs) -> tuple[str, str]:
    return " ".join(english for english, _ in pairs), "".join(chinese for _, chinese in pairs)


def _translated() -> Iterator[tuple[str, str]]:
    """Messages and their translations, without those that have placeholders."""
    roots = [Path(spec.origin).parent for name in TRANSLATED if (spec := find_spec(name)) and spec.origin]
    for root in [*roots, Path(ragcore.__file__).parents[1] / "locale"]:
        for file in sorted(root.glob("**/zh_Hans/LC_MESSAGES/*.mo")):
            with file.open("rb") as stream:
                catalogue: dict[object, str] = gettext.GNUTranslations(stream)._catalog  # type: ignore[attr-defined]
            for key, chinese in catalogue.items():
                english = key.split("\x04")[-1] if isinstance(key, str) else ""  # without the context
                pair = " ".join(english.split()), " ".join(chinese.split())
                is_long = all(len(text) >= least for text, least in zip(pair, LEAST_CHARACTERS, strict=True))
                if is_long and not any(map(_MARKUP.search, pair)):
                    yield pair
