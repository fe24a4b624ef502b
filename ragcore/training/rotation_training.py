"""Fit the rotation of the packaged embedder's vectors on texts that come with the product and what it is built on.

No public set and nothing that is measured with is read. English: documentation in the source of Python and of installed
packages (licences of Python, BSD, Apache, MIT). Chinese: translated messages of Django, of Django REST framework and
of the product, names and jobs of Faker, and lines of words drawn by their frequencies in jieba's dictionary.
"""

from __future__ import annotations

import ast
import gettext
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import ragcore
from ragcore.embedding.rotation import principal_directions, second_moment
from ragcore.ports import Embedder, FloatArray

SEED = 12
PACKAGES = ("numpy", "django", "sklearn", "celery", "rest_framework", "pydantic")
TRANSLATED = ("django", "rest_framework")
CHINESE_LOCALES = ("zh_Hans", "zh_Hant")
LONG_CHARACTERS = (300, 1500)  # of documentation that stands for a passage
SHORT_CHARACTERS = (20, 120)  # of a first line or message that stands for a question
CHINESE_WORDS = (10, 160)  # of a drawn line
BATCH = 100  # texts that are embedded at a time


@dataclass(frozen=True, slots=True)
class TextGroup:
    """Texts of one language and length; every group counts by its weight, however many texts it has."""

    name: str
    texts: Sequence[str]
    weight: float


def fitting_texts(*, most: int) -> list[TextGroup]:
    """Up to `most` texts of each kind, the same ones for the same installed packages."""
    random = np.random.default_rng(SEED)
    documented = sorted({text for package in PACKAGES for text in docstrings(package)} | set(python_topics()))
    passages = [text[: LONG_CHARACTERS[1]] for text in documented if len(text) >= LONG_CHARACTERS[0]]
    lines = sorted({line for text in documented if _is_short(line := text.split("\n\n")[0].replace("\n", " "))})
    messages = sorted({text for text in chinese_messages() if len(text) >= 6})
    return [
        TextGroup("English passages", _drawn(passages, most, random), 0.35),
        TextGroup("English lines", _drawn(lines, most, random), 0.15),
        TextGroup("Chinese messages", _drawn(messages, most, random), 0.15),
        TextGroup("Chinese drawn lines", [_drawn_line(random) for _ in range(most)], 0.35),
    ]


def sample_texts(*, most: int) -> list[str]:
    """About `most` texts of both languages and all lengths, read in a second: only Python's own help and messages."""
    random = np.random.default_rng(SEED)
    topics = sorted(set(python_topics()))
    lines = sorted({line for text in topics if _is_short(line := text.split("\n\n")[0].replace("\n", " "))})
    messages = sorted({text for text in chinese_messages() if len(text) >= 6})
    share = -(-most // 4)
    sentences = [
        *(text[: LONG_CHARACTERS[1]] for text in _drawn(topics, share, random)),
        *_drawn(lines, share, random),
        *_drawn(messages, share, random),
    ]
    drawn = [_drawn_line(random) for _ in range(max(most - len(sentences), share))]
    every = list(dict.fromkeys([*sentences, *drawn]))
    return [every[place] for place in random.permutation(len(every))[:most]]


def rotation_fitted(groups: Sequence[TextGroup], embedder: Embedder) -> FloatArray:
    """float32[768, 768], orthogonal: the principal directions of all groups in their columns."""
    moment = np.zeros((embedder.dimensions, embedder.dimensions))
    for group in groups:
        vectors = np.vstack([embedder.embed_documents(part) for part in _parts(group.texts)])
        moment += group.weight * second_moment(vectors)
    return principal_directions(moment)


# ── English ───────────────────────────────────────────────────────────────────────────────────────


def docstrings(package: str) -> Iterator[str]:
    """Documentation of the modules, classes and functions of an installed package; nothing where it is missing."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return
    for file in sorted(Path(spec.origin).parent.rglob("*.py")):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):  # made for another version of Python
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield text


def python_topics() -> Iterator[str]:
    """Sections of the language reference that Python's own help carries."""
    from pydoc_data.topics import topics

    for text in topics.values():
        yield from (part for part in _paragraphs(inspect.cleandoc(text)))


def _paragraphs(text: str) -> Iterator[str]:
    """Neighbouring paragraphs up to the length of a passage."""
    part = ""
    for paragraph in text.split("\n\n"):
        part = f"{part}\n\n{paragraph}" if part else paragraph
        if len(part) >= LONG_CHARACTERS[0]:
            yield part
            part = ""


def _is_short(line: str) -> bool:
    return SHORT_CHARACTERS[0] <= len(line) <= SHORT_CHARACTERS[1]


# ── Chinese ───────────────────────────────────────────────────────────────────────────────────────


def chinese_messages() -> Iterator[str]:
    """Translations, simplified and traditional, and names of companies and jobs."""
    roots = [Path(spec.origin).parent for name in TRANSLATED if (spec := find_spec(name)) and spec.origin]
    for root in [*roots, Path(ragcore.__file__).parents[1] / "locale"]:
        for locale in CHINESE_LOCALES:
            for file in sorted(root.glob(f"**/{locale}/LC_MESSAGES/*.mo")):
                with file.open("rb") as stream:
                    catalogue: Mapping[object, str] = gettext.GNUTranslations(stream)._catalog  # type: ignore[attr-defined]
                yield from (text for key, text in catalogue.items() if key)
    yield from _fake_names()


def _fake_names() -> Iterator[str]:
    """Company names, jobs and addresses of Faker, where it is installed."""
    try:
        from faker import Faker
    except ImportError:
        return
    for locale in ("zh_CN", "zh_TW"):
        fake = Faker(locale)
        fake.seed_instance(SEED)
        yield from (f"{fake.company()} {fake.job()} {fake.address()}" for _ in range(300))


def _drawn_line(random: np.random.Generator) -> str:
    """Words of jieba's dictionary by their frequencies; lines of all lengths between a question and a passage."""
    words, cumulative = _chinese_words()
    length = int(np.exp(random.uniform(*np.log(CHINESE_WORDS))))
    places = np.searchsorted(cumulative, random.random(length), side="right")  # `choice` would sum up for each line
    return "".join(words[place] for place in places)


@cache
def _chinese_words() -> tuple[list[str], FloatArray]:
    """Words of jieba's dictionary, and the share of its text that each and those before it have: float64[n]."""
    import jieba

    with jieba.get_dict_file() as lines:
        rows = [line.decode("utf-8").split(" ")[:2] for line in lines]
    counts = np.array([float(count) for _, count in rows])
    shares = np.cumsum(counts / counts.sum())
    return [word for word, _ in rows], shares / shares[-1]


# ── drawing ───────────────────────────────────────────────────────────────────────────────────────


def _drawn(texts: Sequence[str], most: int, random: np.random.Generator) -> list[str]:
    """Up to `most` of these texts."""
    places = random.choice(len(texts), min(most, len(texts)), replace=False)
    return [texts[place] for place in places]


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), BATCH):
        yield texts[start : start + BATCH]
