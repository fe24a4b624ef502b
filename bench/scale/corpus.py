"""Passages by the million: sentences of real texts put together anew, vectors of the real embedder with noise.

A base text is a few real sentences and their vector. A passage takes most of its sentences from one base text and the
rest from others, some of them with a part number of its own, so that frequencies of terms keep their natural shape and
the vocabulary goes on growing. Its vector is that of its base text plus gaussian noise, in both halves alike, so that
the first 384 dimensions are the prefix that they are with the real embedder. Passage n is the same in a corpus of any
size, and a larger corpus extends a smaller one.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.ingest.texts import texts_made, texts_read
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.scripts import language_of
from ragcore.text.sentences import split_sentences

SEED = 11
BASES = 2400  # real texts that are embedded
BASE_CHARACTERS = {"zh": 240, "en": 700, "other": 700}  # of a base text, at most
OWN_SHARE = 0.7  # sentences of a passage that are of its base text
MAX_PASSAGES = 20  # of a document; one at least
PART_NUMBER_SHARE = 0.3  # of the passages
NOISE = 0.75  # by the length of what it is added to: cosine 0.8 to the base text, 0.64 between its passages


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A real text, cut into sentences; `sentences` are places in the pool of all of them."""

    language: str
    sentences: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pool:
    """Sentences with their terms, the base texts made of them with their vectors, and questions to ask."""

    texts: Sequence[str]
    terms: Sequence[Sequence[str]]
    bases: Sequence[Base]
    vectors: FloatArray  # float32[bases, 768], normalised
    questions: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One passage before it is stored."""

    text: str
    terms: Counter[str]
    language: str
    base: int


def pool_made(
    folders: Sequence[Path], *, embedder: Embedder, tokenizer: Tokenizer, cache: Path, bases: int = BASES
) -> Pool:
    """Base texts and questions of public sets, or generated ones where there is no folder."""
    per_folder = -(-bases // max(len(folders), 1))
    found = [text for folder in folders for text in texts_read(folder, limit=per_folder)] or texts_made(bases)
    chosen = found[:bases]
    pool: dict[str, int] = {}
    made = [_base(text.text, pool) for text in chosen]
    kept = [index for index, base in enumerate(made) if base.sentences]
    sentences = list(pool)
    own = [" ".join(sentences[place] for place in made[index].sentences) for index in kept]
    return Pool(
        texts=sentences,
        terms=[tokenizer.terms(sentence) for sentence in sentences],
        bases=[made[index] for index in kept],
        vectors=_embedded(own, embedder, cache),
        questions=[chosen[index].question for index in kept],
    )


def _base(text: str, pool: dict[str, int]) -> Base:
    language = language_of(text)
    limit, used = BASE_CHARACTERS[language], 0
    places: list[int] = []
    for sentence in (one.strip() for one in split_sentences(text)):
        if used + len(sentence) > limit and places:
            break
        if sentence:
            places.append(pool.setdefault(sentence[:limit], len(pool)))
            used += len(sentence)
    return Base(language=language, sentences=tuple(places))


def _embedded(texts: Sequence[str], embedder: Embedder, cache: Path) -> FloatArray:
    """Vectors of texts, kept in a folder between runs: making them takes minutes."""
    digest = hashlib.sha256(json.dumps([embedder.model, *texts]).encode()).hexdigest()[:16]
    file = cache / f"vectors-{digest}.npy"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(file, embedder.embed_documents(texts))
    loaded: FloatArray = np.load(file)
    return loaded


# ── passages ────────────────────────────────────────────────────────────────────────────────────


def document_lengths(passages: int, *, documents: int) -> Iterator[int]:
    """Lengths in passages of further documents until they have this many, where there are some documents already."""
    random = np.random.default_rng(SEED)
    random.integers(1, MAX_PASSAGES + 1, documents)
    while passages > 0:
        length = min(int(random.integers(1, MAX_PASSAGES + 1)), passages)
        passages -= length
        yield length


def draft_made(pool: Pool, number: int, *, words: bool = True) -> Draft:
    """Passage `number`, always the same; without `words`, one sentence of its base text, not indexed."""
    random = np.random.default_rng((SEED, number))
    index = int(random.integers(len(pool.bases)))
    base = pool.bases[index]
    if not words:
        return Draft(
            text=pool.texts[base.sentences[number % len(base.sentences)]],
            terms=Counter(),
            language=base.language,
            base=index,
        )
    count = max(1, len(base.sentences))
    own = random.random(count) < OWN_SHARE
    others = [_other(pool, base.language, random) for _ in range(count)]
    places = [base.sentences[i] if own[i] else others[i] for i in range(count)]
    part = f" TH{int(random.zipf(1.3)) % 10_000_000}-{number % 97}" if random.random() < PART_NUMBER_SHARE else ""
    terms = Counter(term for place in places for term in pool.terms[place])
    if part:
        terms[part.strip().lower()] += 1
    return Draft(text=" ".join(pool.texts[p] for p in places) + part, terms=terms, language=base.language, base=index)


def _other(pool: Pool, language: str, random: np.random.Generator) -> int:
    """A sentence of another base text of the same language."""
    while True:
        base = pool.bases[int(random.integers(len(pool.bases)))]
        if base.language == language:
            return base.sentences[int(random.integers(len(base.sentences)))]


def vectors_made(pool: Pool, drafts: Sequence[Draft], *, first: int) -> FloatArray:
    """float32[n, 768], normalised: each base vector with noise of the same strength in both halves."""
    random = np.random.default_rng((SEED, first, 1))
    base = pool.vectors[[draft.base for draft in drafts]]
    noisy = np.empty_like(base)
    half = base.shape[1] // 2
    for part in (slice(0, half), slice(half, None)):
        length = np.linalg.norm(base[:, part], axis=1, keepdims=True)
        noise = random.standard_normal((len(base), half), dtype=np.float32)
        noise *= NOISE * length / np.linalg.norm(noise, axis=1, keepdims=True)
        changed = base[:, part] + noise
        noisy[:, part] = changed * length / np.linalg.norm(changed, axis=1, keepdims=True)
    normalised: FloatArray = noisy / np.linalg.norm(noisy, axis=1, keepdims=True)
    return normalised
