"""How well names of one thing are found by their contexts and vectors, on names that are known to be one.

`python -m bench.lexicon.synonyms DIR …`: the passages of a retrieval set are searched. Two kinds of known pairs:
abbreviations with the long forms that the passages define, and frequent names that got a made-up name in every second
passage that has them (which says something in Chinese, too, and only of contexts: a made-up name has no meaningful
vector).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.ports import Tokenizer
from ragcore.text.mining.abbreviations import merged_abbreviations
from ragcore.text.mining.candidates import TermMiner, names_of
from ragcore.text.mining.synonyms import Embed, LikelySynonym, contexts_of
from ragcore.text.tokenise import JiebaTokenizer

RENAMED = 60  # names that get a second one
LEAST_RENAMED = 20  # places of such a name


def measure_synonyms(texts: Sequence[str], tokenizer: Tokenizer, embed: Embed) -> dict[str, Any]:
    """Figures of each kind of known pairs, by contexts alone and with vectors."""
    miner = TermMiner(tokenizer)
    for text in texts:
        miner.add(text)
    found = miner.candidates()
    names = names_of(found)
    shorts = {pair.first: pair.second for pair, _count in reversed(merged_abbreviations(miner.abbreviations))}
    figures: dict[str, Any] = {}
    contexts = contexts_of(texts, names, tokenizer)
    known = {frozenset(pair) for pair in shorts.items()}
    for arm, vectors in (("contexts", None), ("contexts_and_vectors", embed)):
        figures[f"abbreviations_{arm}"] = _figures(contexts.likely_synonyms(embed=vectors), known)
    usual = [contexts.names[n] for n, count in contexts.counts.most_common() if count >= LEAST_RENAMED][:RENAMED]
    renamed = {name: _made_up(name, at) for at, name in enumerate(usual)}
    changed = _with_second_names(texts, renamed)
    again = contexts_of(changed, [*names, *renamed.values()], tokenizer)
    figures["renamed_contexts"] = _figures(again.likely_synonyms(), {frozenset(pair) for pair in renamed.items()})
    return figures


def _made_up(name: str, number: int) -> str:
    """A word of letters only: names with different numbers are never compared."""
    latin = f"zq{chr(97 + number // 26)}{chr(97 + number % 26)}qua"
    return latin if name.isascii() else f"喆{chr(0x4E00 + 37 * number)}"


def _with_second_names(texts: Sequence[str], renamed: dict[str, str]) -> list[str]:
    """The texts with another name in every second one of those that have a name."""
    changed = list(texts)
    for name, other in renamed.items():
        having = [at for at, text in enumerate(changed) if name in text]
        for at in having[::2]:
            changed[at] = changed[at].replace(name, other)
    return changed


def _figures(pairs: Sequence[LikelySynonym], known: set[frozenset[str]]) -> dict[str, Any]:
    """Of suggestions for names whose other name is known, the share that is it; and the share of known pairs found."""
    having = {name for pair in known for name in pair}
    judged = [pair for pair in pairs if pair.first in having or pair.second in having]
    right = [pair for pair in judged if frozenset((pair.first, pair.second)) in known]
    return {
        "suggested": len(pairs),
        "judged": len(judged),
        "right": len(right),
        "precision": round(len(right) / len(judged), 3) if judged else None,
        "known": len(known),
    }


def main() -> None:
    """Measure the sets; the last line is one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m bench.lexicon.synonyms", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--models", type=Path, default=Path("data/models"), help="folder of the packaged embedder")
    arguments = parser.parse_args()
    embedder, tokenizer = EmbeddedEmbedder(arguments.models, 1), JiebaTokenizer()
    done = {}
    for folder in arguments.data:
        rows = map(json.loads, (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines())
        texts = [row["text"] for row in rows]
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        done[name] = measure_synonyms(texts, tokenizer, embedder.embed_documents)
    print(json.dumps(done, ensure_ascii=False))


if __name__ == "__main__":
    main()
