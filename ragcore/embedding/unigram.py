"""A SentencePiece unigram tokenizer whose vocabulary stays on disk, shared by all processes.

`tokenizers` holds a vocabulary of 250,000 pieces as objects of each process. Here the pieces are a trie in two arrays
that are mapped: row i is the edge to node i + 1, its parent and its character; rows are sorted, so that a child is
looked up by bisection, for all positions of a text at once. Segmentation: Viterbi over the log probabilities of the
pieces (Kudo 2018, Subword Regularization).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ragcore.embedding.e5_weights import Vocabulary

SPACE = "\u2581"  # stands before each word
UNKNOWN_PENALTY = 10.0  # log probability below that of the rarest piece, as in SentencePiece
CACHED_WORDS = 8192  # whose ids a process keeps, 300 bytes each
CACHED_CHARACTERS = 24  # of such a word
EDGES, PIECES, SCORES, RECORD = "trie_edges.npy", "trie_pieces.npy", "piece_scores.npy", "tokenizer.json"
_CODE_BITS = np.uint64(21)

Codes = npt.NDArray[np.uint64]


def unigram_save(vocabulary: Vocabulary, folder: Path) -> None:
    """Write what `UnigramTokenizer` maps: 12 bytes a node of the trie, 4 a piece."""
    ids = {piece: number for number, piece in enumerate(vocabulary.pieces) if number not in vocabulary.special}
    edges, pieces = _trie(ids)
    np.save(folder / EDGES, edges)
    np.save(folder / PIECES, pieces)
    np.save(folder / SCORES, vocabulary.scores)
    record = {
        "begin": vocabulary.begin,
        "end": vocabulary.end,
        "unknown": vocabulary.unknown,
        "unknown_score": float(vocabulary.scores.min()) - UNKNOWN_PENALTY,
        "longest": max(map(len, ids)),
        "replacements": dict(vocabulary.replacements),
    }
    (folder / RECORD).write_text(json.dumps(record), encoding="utf-8")


def _trie(ids: Mapping[str, int]) -> tuple[Codes, npt.NDArray[np.int32]]:
    """Sorted edges, and for each the id of the piece that ends at its node or -1.

    Nodes are numbered level by level, each level in the order of parent and character: so all edges together are
    sorted as well.
    """
    numbers = np.fromiter(ids.values(), np.int32, len(ids))
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    codes = np.zeros((len(ids), int(lengths.max())), np.uint64)
    for row, text in zip(codes, ids, strict=True):
        row[: len(text)] = _codes(text)
    nodes = np.zeros(len(ids), np.uint64)  # where each piece stands; 0 is the root
    edges, pieces, above = [], [], 0
    for depth in range(codes.shape[1]):
        alive = np.flatnonzero(lengths > depth)
        level, place = np.unique(_edge(nodes[alive], codes[alive, depth]), return_inverse=True)
        nodes[alive] = place + above + 1
        ending = lengths[alive] == depth + 1
        ends = np.full(len(level), -1, np.int32)
        ends[place[ending]] = numbers[alive[ending]]
        edges.append(level)
        pieces.append(ends)
        above += len(level)
    return np.concatenate(edges), np.concatenate(pieces)


class UnigramTokenizer:
    """Token ids of texts; thread-safe. Characters that no piece holds are unknown, several in a row once."""

    def __init__(self, folder: Path) -> None:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        self.begin, self.end = int(record["begin"]), int(record["end"])
        self._unknown, self._unknown_score = int(record["unknown"]), float(record["unknown_score"])
        self._longest = int(record["longest"])
        self._replacements = {int(code): text for code, text in record["replacements"].items()}
        self._edges, self._pieces, self._scores = (
            np.asarray(np.load(folder / name, mmap_mode="r")) for name in (EDGES, PIECES, SCORES)
        )
        self._cached: dict[str, list[int]] = {}

    def encode(self, text: str, limit: int) -> list[int]:
        """At most `limit` ids of the text's beginning, without those of begin and end."""
        words = self._words(text[: limit * (self._longest + 1)])  # spaces between words count as characters, too
        ids_of = {word: self._cached.get(word) for word in words}
        missing = [word for word, ids in ids_of.items() if ids is None]
        if missing:
            segmented = dict(zip(missing, self._segmented(missing), strict=True))
            ids_of.update(segmented)
            self._cache(segmented)
        return list(chain.from_iterable(ids_of[word] or () for word in words))[:limit]

    def log_probability(self, word: str) -> float | None:
        """Of a word that is one piece; None for one that is cut into several, or unknown."""
        ids = self.encode(word, 2)
        return float(self._scores[ids[0]]) if len(ids) == 1 and ids[0] != self._unknown else None

    def _words(self, text: str) -> list[str]:
        """What stands between spaces after the normalisation that the model was trained with."""
        composed = text if text.isascii() else unicodedata.normalize("NFC", text)
        return [word for word in composed.translate(self._replacements).split(" ") if word]

    def _cache(self, ids_of: Mapping[str, list[int]]) -> None:
        if len(self._cached) > CACHED_WORDS:
            self._cached = {}
        self._cached.update((word, ids) for word, ids in ids_of.items() if len(word) <= CACHED_CHARACTERS)

    def _segmented(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of each word. No piece holds the mark of a space but at its beginning, so all are one text."""
        text = "".join(SPACE + word for word in words)
        begins, ids = self._best_path(_codes(text))
        cuts = np.cumsum([len(word) + 1 for word in words])[:-1]
        return [self._unknown_once(part.tolist()) for part in np.split(ids, np.searchsorted(begins, cuts))]

    def _best_path(self, codes: Codes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Where the pieces of the most probable segmentation begin, and their ids."""
        best = [0.0] + [-np.inf] * len(codes)
        came_from: list[tuple[int, int]] = [(0, 0)] * (len(codes) + 1)
        for begin, end, piece, score in self._matches(codes):
            if (total := best[begin] + score) > best[end]:
                best[end], came_from[end] = total, (begin, piece)
        path, at = [], len(codes)
        while at:
            path.append(came_from[at])
            at = path[-1][0]
        begins, ids = np.array(path[::-1], np.int64).reshape(-1, 2).T
        return begins, ids

    def _matches(self, codes: Codes) -> Iterator[tuple[int, int, int, float]]:
        """Begin, end, id and score of every piece in the text, in the order of their begins."""
        begins, nodes = np.arange(len(codes)), np.zeros(len(codes), np.uint64)
        levels = []
        for length in count(1):
            edges = _edge(nodes, codes[begins + (length - 1)])
            places = np.minimum(np.searchsorted(self._edges, edges), len(self._edges) - 1)
            is_node = self._edges[places] == edges
            if length == 1:  # each character is a way on, a piece or not
                ids = np.where(is_node, self._pieces[places], -1)
                levels.append(np.stack([begins, begins + 1, ids]))
            begins, places = begins[is_node], places[is_node]
            if length > 1:
                ids = self._pieces[places]
                levels.append(np.stack([begins, begins + length, ids])[:, ids >= 0])
            has_next = begins + length < len(codes)
            begins, nodes = begins[has_next], places[has_next].astype(np.uint64) + np.uint64(1)
            if not len(begins):
                break
        columns = np.concatenate(levels, axis=1)
        columns = columns[:, np.argsort(columns[0], kind="stable")]
        begin, end, ids = columns
        scores = np.where(ids >= 0, self._scores[ids], self._unknown_score)
        piece_ids = np.where(ids >= 0, ids, self._unknown)
        return zip(begin.tolist(), end.tolist(), piece_ids.tolist(), scores.tolist(), strict=True)

    def _unknown_once(self, ids: Sequence[int]) -> list[int]:
        return [
            piece_id
            for piece_id, before in zip(ids, [-1, *ids], strict=False)
            if piece_id != self._unknown or before != piece_id
        ]


def _codes(text: str) -> Codes:
    """uint64[characters]: code points; halves of surrogate pairs become question marks."""
    return np.frombuffer(text.encode("utf-32-le", "replace"), "<u4").astype(np.uint64)


def _edge(parents: Codes, codes: Codes) -> Codes:
    return (parents << _CODE_BITS) | codes
