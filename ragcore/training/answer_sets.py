"""Questions of public sets with the sources that an answer would be written from, without a database.

The ranking stands in for the product's: BM25 and the embedder propose, the linear reranker orders, and the context is
built as in the product. A folder holds corpus.jsonl, queries.jsonl and qrels.tsv, perhaps also unanswerable.jsonl.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.chunking import splitter_for
from ragcore.grounding.context import build_context
from ragcore.options import AnswerOptions, ChunkingOptions
from ragcore.parsing.text import TextParser
from ragcore.ports import Embedder, FloatArray, RerankInput, TokenCounter, Tokenizer
from ragcore.reranking.linear import LinearReranker
from ragcore.text.lexical_features import idf as inverse_frequency
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import cjk_share, language_of
from ragcore.training.embedders import StoredVectors
from ragcore.types import ParsedDocument, Passage, Query, Source
from ragcore.types.sentence_vectors import direction

ANSWERS = ("answers", "answers_en", "answers_zh")  # those in the language of the documents, too
POOL = 40  # candidates of each arm
K1, B = 1.2, 0.75
SEED = 7
PREFIX = 384  # numbers of a vector that are compared first


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuestion:
    """A question of a set. Without answers it is one that the corpus does not answer."""

    id: str
    text: str
    answers: tuple[str, ...] = ()
    relevant: frozenset[str] = frozenset()  # ids of the documents that answer it
    about: str = ""  # title of the document that it was written about; questions of one title stay together


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSet:
    """One folder: questions in their order in the files, and what is needed to rank passages for them."""

    name: str
    answerable: tuple[SetQuestion, ...]
    unanswerable: tuple[SetQuestion, ...]
    ranking: Ranking

    def sample(self, limit: int) -> list[SetQuestion]:
        """Answerable questions, the same ones for the same limit."""
        rows = list(self.answerable)
        random.Random(SEED).shuffle(rows)
        return rows[:limit]


def folder_name(folder: Path) -> str:
    """SET/dev is called SET."""
    return folder.parent.name if folder.name in ("dev", "heldout") else folder.name


def half_of(key: str) -> int:
    """0 or 1, by the text alone: which half of the questions one belongs to."""
    return hashlib.sha256(key.encode()).digest()[0] % 2


def answer_set(
    folder: Path, *, tokenizer: Tokenizer, counter: TokenCounter, embedder: Embedder | None = None
) -> AnswerSet:
    """Read a folder and index its passages."""
    documents = rows(folder / "corpus.jsonl")
    titles = {str(row["id"]): row.get("title") or "" for row in documents}
    documents_of: dict[str, set[str]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document = line.split("\t")[:2]
        documents_of[query].add(document)
    answerable = tuple(
        SetQuestion(
            id=str(row["id"]),
            text=row["text"],
            answers=tuple(answer for name in ANSWERS for answer in row.get(name, [])),
            relevant=frozenset(relevant),
            about=row.get("about") or min(titles.get(d, d) or d for d in relevant),
        )
        for row in rows(folder / "queries.jsonl")
        if (relevant := documents_of.get(str(row["id"])))
    )
    path = folder / "unanswerable.jsonl"
    unanswerable = tuple(
        SetQuestion(
            id=str(row["id"]), text=row["text"], about=row.get("title") or titles.get(str(row.get("doc_id")), "")
        )
        for row in (rows(path) if path.is_file() else [])
        if "text" in row
    )
    ranking = Ranking.of(passages_of(documents, counter), tokenizer=tokenizer, counter=counter, embedder=embedder)
    return AnswerSet(name=folder_name(folder), answerable=answerable, unanswerable=unanswerable, ranking=ranking)


def rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def passages_of(documents: Sequence[Mapping[str, Any]], counter: TokenCounter) -> list[Passage]:
    """The chunks of all documents as the product would cut them; sections that stand for their parts are left out."""
    parser = TextParser()
    return passages_of_parsed(
        (
            (number, parser.parse(row["text"].encode(), name=str(row["id"])), row.get("title") or "", str(row["id"]))
            for number, row in enumerate(documents)
            if row["text"].strip()
        ),
        counter,
    )


def passages_of_parsed(
    documents: Iterable[tuple[int, ParsedDocument, str, str]], counter: TokenCounter
) -> list[Passage]:
    """The chunks of documents: number, what was parsed, title, external id."""
    splitter = splitter_for(ChunkingOptions(), counter)
    passages: list[Passage] = []
    for number, parsed, title, external_id in documents:
        for draft in splitter.split(parsed):
            if draft.kind == "body":
                passages.append(
                    Passage(
                        chunk=len(passages),
                        document=number,
                        version=number,
                        text=draft.text,
                        title=title,
                        external_id=external_id,
                        heading_path=draft.heading_path,
                        ordinal=draft.ordinal,
                    )
                )
    return passages


@dataclass(slots=True)
class Ranking:
    """Passages with an inverted index and, with an embedder, their vectors."""

    passages: list[Passage]
    tokenizer: Tokenizer
    counter: TokenCounter
    embedder: Embedder | None
    idf: dict[str, float]  # of every term of the corpus
    postings: dict[str, list[tuple[int, float]]]  # term -> passages with BM25's weight of the term there
    vectors: FloatArray | None = None
    reranker: LinearReranker = field(init=False)

    def __post_init__(self) -> None:
        self.reranker = LinearReranker.shipped(self.embedder.model if self.embedder else "")

    @classmethod
    def of(
        cls, passages: list[Passage], *, tokenizer: Tokenizer, counter: TokenCounter, embedder: Embedder | None
    ) -> Ranking:
        """Index them."""
        texts = ["\n".join((p.title, *p.heading_path, p.text)) for p in passages]
        counts = [Counter(tokenizer.terms(text)) for text in texts]
        frequency = Counter(term for count in counts for term in count)
        total = len(passages)
        idf = {term: inverse_frequency(total, n) for term, n in frequency.items()}
        average = sum(count.total() for count in counts) / max(total, 1) or 1.0
        postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for at, count in enumerate(counts):
            norm = K1 * (1 - B + B * count.total() / average)
            for term, n in count.items():
                postings[term].append((at, idf[term] * n * (K1 + 1) / (n + norm)))
        vectors = embedder.embed_documents(texts) if embedder else None
        return cls(passages, tokenizer, counter, embedder, idf, dict(postings), vectors)

    def part(self, passages: list[Passage]) -> Ranking:
        """Of some of the passages, by words alone."""
        return Ranking.of(passages, tokenizer=self.tokenizer, counter=self.counter, embedder=None)

    def sources(self, question: str, *, without: frozenset[str] = frozenset()) -> list[Source]:
        """The numbered sources of a question, best first; `without`: documents that are not there."""
        query, inputs = self.candidates(question, without=without)
        scores = [s.score for s in self.reranker.score(query, inputs)] if inputs else []
        options = AnswerOptions()
        order = sorted(range(len(inputs)), key=lambda i: -scores[i])[: options.max_chunks]
        ranked = [(inputs[i].passage, scores[i]) for i in order]
        return build_context(ranked, budget_tokens=options.context_tokens, counter=self.counter)

    def candidates(self, question: str, *, without: frozenset[str] = frozenset()) -> tuple[Query, list[RerankInput]]:
        """The passages that words or meaning propose, in the order of the corpus, with their scores by arm."""
        query = self.query(question)
        lexical: dict[int, float] = defaultdict(float)
        for term in query.terms:
            for at, weight in self.postings.get(term, ()):
                lexical[at] += weight
        dense = self._dense(query)
        places = sorted({*_best(lexical), *(_best(dense[0]) if dense else ())})
        allowed = [at for at in places if self.passages[at].external_id not in without]
        query_vector = direction(self.embedder.embed_queries([query.text])[0]) if self.embedder else None
        return query, [self._input(at, _arms(at, lexical, dense), query_vector) for at in allowed]

    def _input(self, at: int, arms: dict[str, float], question: FloatArray | None) -> RerankInput:
        """A candidate, with vectors of its sentences and the nearest one's cosine where the embedder gives them."""
        passage = self.passages[at]
        if question is not None and passage.sentences is None and isinstance(self.embedder, StoredVectors):
            passage = self.passages[at] = replace(passage, sentences=self.embedder.sentences(passage, self.tokenizer))
        if question is not None and passage.sentences is not None:
            arms["sentence"] = float(passage.sentences.cosines(question).max())
        return RerankInput(passage=passage, arms=arms)

    def with_sentences(self, sources: Sequence[Source]) -> list[Source]:
        """The same with vectors of the sentences that they show, where the embedder gives them."""
        if not isinstance(self.embedder, StoredVectors):
            return list(sources)
        passages = [replace(source.passage, text=source.text) for source in sources]
        vectors = [self.embedder.sentences(passage, self.tokenizer) for passage in passages]
        return [
            replace(source, passage=replace(source.passage, sentences=sentence_vectors))
            for source, sentence_vectors in zip(sources, vectors, strict=True)
        ]

    def query(self, question: str) -> Query:
        """The question as stages want it, with idf of the terms that the corpus knows."""
        text = normalise_query(question)
        terms = tuple(self.tokenizer.terms(text))
        return Query(
            text=text,
            terms=terms,
            words=tuple(self.tokenizer.words(text)),
            language=language_of(text),
            cjk_share=cjk_share(text),
            weights={term: self.idf[term] for term in terms if term in self.idf},
        )

    def _dense(self, query: Query) -> tuple[dict[int, float], dict[int, float]] | None:
        """Cosines of whole vectors and of their first halves."""
        if self.embedder is None or self.vectors is None:
            return None
        query_vector = self.embedder.embed_queries([query.text])[0]
        whole, prefix = (
            self.vectors[:, :size] @ query_vector[:size] / (self._lengths(size) * np.linalg.norm(query_vector[:size]))
            for size in (len(query_vector), PREFIX)
        )
        return dict(enumerate(map(float, whole))), dict(enumerate(map(float, prefix)))

    def _lengths(self, size: int) -> FloatArray:
        return np.asarray(np.linalg.norm(self.vectors[:, :size], axis=1) if self.vectors is not None else 1.0)


def _best(scores: Mapping[int, float]) -> list[int]:
    return sorted(scores, key=lambda at: -scores[at])[:POOL]


def _arms(
    at: int, lexical: Mapping[int, float], dense: tuple[Mapping[int, float], Mapping[int, float]] | None
) -> dict[str, float]:
    arms = {"lexical": lexical.get(at, 0.0)}
    return arms | {"dense": dense[0][at], "coarse": dense[1][at]} if dense else arms
