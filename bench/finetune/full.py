"""Full fine-tuning of the packaged English model, to compare with query adapters.

    python -m bench.finetune.full MODEL OUT DIR…    MODEL: a folder in the layout of sentence-transformers

Each set is split as `make bench-finetune` splits it. Multiple negatives ranking (Henderson et al., arXiv:1705.00652)
inside Matryoshka representation learning (Kusupati et al., arXiv:2205.13147) at 384 and 192 numbers, on the golden
questions about the first half of the documents; a fifth of them choose the round that is kept. Prints recall@10 of the
questions about the other half among all passages, for each seed, and the seconds of training; the vectors of each set
go to OUT. Needs neither Django nor a database, so that it runs where the GPU is.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.losses import MatryoshkaLoss, MultipleNegativesRankingLoss

from bench.finetune.halves import first_half, rows_of

WIDTHS = (384, 192)
ROUNDS = 12
BATCH = 64
RATE = 3e-5
LENGTH = 256  # tokens of a passage


def main() -> None:
    """Train and measure every set, with every seed."""
    parser = argparse.ArgumentParser(prog="python -m bench.finetune.full", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for folder in arguments.folders:
        name = folder.parent.name if folder.name == "dev" else folder.name
        print(json.dumps({name: _Set(folder).measure(arguments.model, arguments.out / name, arguments.seeds)}))


class _Set:
    """Passages, and questions with the places of what answers them, split by document."""

    def __init__(self, folder: Path) -> None:
        corpus = rows_of(folder / "corpus.jsonl")
        self.texts = [f"{row.get('title') or ''}\n{row['text']}" for row in corpus]
        place = {str(row["id"]): number for number, row in enumerate(corpus)}
        relevant: dict[str, set[int]] = {}
        for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
            query, document = line.split("\t")[:2]
            relevant.setdefault(query, set()).add(place[document])
        seen = {place[str(one)] for one in first_half(corpus)}
        queries = [(row["text"], relevant.get(str(row["id"]), set())) for row in rows_of(folder / "queries.jsonl")]
        self.known = [one for one in queries if one[1] and one[1] <= seen]
        self.asked = [one for one in queries if one[1] and not one[1] & seen]
        self.seen = sorted(seen)

    def measure(self, path: Path, out: Path, seeds: int) -> dict[str, Any]:
        """Recall@10 before and after, and the seconds of training, of each seed."""
        before = SentenceTransformer(str(path), device=_device())
        before.max_seq_length = LENGTH
        self._keep(before, out.with_name(f"{out.name}-before.npz"))
        runs = []
        for seed in range(seeds):
            start = time.perf_counter()
            model, rounds = self._trained(path, seed)
            seconds = time.perf_counter() - start
            self._keep(model, out.with_name(f"{out.name}-{seed}.npz"))
            runs.append({"recall10": round(self._recall(model), 4), "best_round": rounds, "seconds": round(seconds, 1)})
        return {
            "pairs": len(self.known),
            "asked": len(self.asked),
            "device": _device(),
            "recall10_before": round(self._recall(before), 4),
            "runs": runs,
        }

    def _trained(self, path: Path, seed: int) -> tuple[SentenceTransformer, int]:
        """The model of the round that found most of the held-out questions; round 0 is the model as it was."""
        torch.manual_seed(seed)
        draw = random.Random(seed)
        known = self.known[:]
        draw.shuffle(known)
        held, pairs = known[: len(known) // 5], known[len(known) // 5 :]
        model = SentenceTransformer(str(path), device=_device())
        model.max_seq_length = LENGTH
        loss = MatryoshkaLoss(model, MultipleNegativesRankingLoss(model), list(WIDTHS))
        optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
        best, best_round = (self._recall(model, held, self.seen), _state(model)), 0
        for number in range(1, ROUNDS + 1):
            model.train()
            draw.shuffle(pairs)
            for first in range(0, len(pairs), BATCH):
                batch = _without_twins(pairs[first : first + BATCH])
                sides = [[question for question, _ in batch], [self.texts[min(right)] for _, right in batch]]
                features = [_on_device(model.preprocess(side)) for side in sides]
                with torch.autocast(_device(), dtype=torch.bfloat16, enabled=_device() == "cuda"):
                    value = loss(features, torch.empty(0))
                optimiser.zero_grad()
                value.backward()
                optimiser.step()
            model.eval()
            if (found := self._recall(model, held, self.seen)) > best[0]:
                best, best_round = (found, _state(model)), number
        model.load_state_dict(best[1])
        model.eval()
        return model, best_round

    def _recall(
        self,
        model: SentenceTransformer,
        asked: Sequence[tuple[str, set[int]]] | None = None,
        among: Sequence[int] | None = None,
    ) -> float:
        asked = self.asked if asked is None else asked
        among = range(len(self.texts)) if among is None else among
        passages = _vectors(model, [self.texts[place] for place in among])
        scores = _vectors(model, [question for question, _ in asked]) @ passages.T
        best = np.argsort(-scores, axis=1)[:, :10]
        found = [{among[place] for place in row} for row in best.tolist()]
        shares = [len(one[1] & near) / min(len(one[1]), 10) for one, near in zip(asked, found, strict=True)]
        return float(np.mean(shares))

    def _keep(self, model: SentenceTransformer, path: Path) -> None:
        """Vectors of all passages and of the questions that are asked."""
        passages, questions = (_vectors(model, texts) for texts in (self.texts, [one[0] for one in self.asked]))
        np.savez(path, passages=passages.astype(np.float16), questions=questions.astype(np.float16))


def _without_twins(pairs: Sequence[tuple[str, set[int]]]) -> list[tuple[str, set[int]]]:
    """One question a passage: the passage of another pair counts as a wrong answer."""
    return list({min(right): (question, right) for question, right in pairs}.values())


def _vectors(model: SentenceTransformer, texts: list[str]) -> Any:
    return model.encode(texts, batch_size=256, normalize_embeddings=True, show_progress_bar=False)


def _state(model: SentenceTransformer) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _on_device(features: dict[str, Any]) -> dict[str, Any]:
    return {name: value.to(_device()) if hasattr(value, "to") else value for name, value in features.items()}


if __name__ == "__main__":
    main()
