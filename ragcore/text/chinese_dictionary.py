"""Words of jieba's dictionary with their parts of speech, as its tags name them (n, v, ns, …)."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nlargest
from importlib.resources import files


def tagged_words() -> Iterator[tuple[str, str]]:
    """Word and tag of each of 349,000 entries. Reads a file of 5 MB: keep what is needed."""
    with (files("jieba") / "dict.txt").open(encoding="utf-8") as lines:
        for line in lines:
            word, _, rest = line.rstrip().partition(" ")
            yield word, rest.rpartition(" ")[2]


def frequent_words(count: int) -> list[str]:
    """The words that come most often, the most frequent one first. Reads the same file."""
    with (files("jieba") / "dict.txt").open(encoding="utf-8") as lines:
        rows = (line.split(" ") for line in lines)
        return [word for _frequency, word in nlargest(count, ((int(row[1]), row[0]) for row in rows))]
