"""The steps of a training, which can be broken off after each of them and go on with the same numbers.

Multiple negatives ranking (Henderson et al., arXiv:1705.00652) over a batch and one wrong passage for each question,
in parts that fit into memory (GradCache, Gao et al., arXiv:2101.06983), at all numbers and at 384 of them together
(Matryoshka, Kusupati et al., arXiv:2205.13147). AdamW with a linear warm-up and a linear way down to 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sentence_transformers.sentence_transformer.losses import CachedMultipleNegativesRankingLoss, MatryoshkaLoss

from ragcore.training.whole_model.encoder import TunedEncoder
from ragcore.training.whole_model.plan import Bools, TuneData, batches, negatives

NARROW = 384  # numbers that serve alone in the coarse index
CLIPPED = 1.0  # length of the gradient
TEXTS_AT_ONCE = {"cpu": 4, "cuda": 32}  # of which activations are kept
SEED = 7


class Tuning:
    """A training at some step."""

    def __init__(self, encoder: TunedEncoder, data: TuneData, related: Bools, scale: float) -> None:
        self.encoder, self.data, self.related = encoder, data, related
        self.settings = encoder.plan.settings
        self.losses: list[float] = []
        torch.manual_seed(SEED)
        self.parameters = encoder.trained()
        self.optimiser = torch.optim.AdamW(self.parameters.values(), lr=self.settings.rate, weight_decay=0.0)
        ranking = CachedMultipleNegativesRankingLoss(
            encoder.model, scale=scale, mini_batch_size=TEXTS_AT_ONCE[encoder.device]
        )
        self.loss: Any = MatryoshkaLoss(encoder.model, ranking, widths(encoder.dimensions))
        self.batches = [
            (epoch, batch)
            for epoch in range(self.settings.epochs)
            for batch in batches(related, size=self.settings.batch, seed=SEED + epoch)
        ]

    @property
    def step(self) -> int:
        """Steps that are done."""
        return len(self.losses)

    @property
    def is_over(self) -> bool:
        return self.step >= len(self.batches)

    def advance(self) -> float:
        """One step; its loss."""
        epoch, batch = self.batches[self.step]
        plan, examples = self.encoder.plan, [self.data.examples[place] for place in batch]
        wrong = list(negatives(self.data.examples, self.related, batch, epoch=epoch, seed=SEED))
        columns = [
            [plan.query_prefix + example.question for example in examples],
            [plan.document_prefix + example.passage for example in examples],
        ]
        if all(wrong):
            columns.append([plan.document_prefix + text for text in wrong])
        for group in self.optimiser.param_groups:
            group["lr"] = self.settings.rate * self.rate_share(self.step)
        self.encoder.model.train()
        with torch.autocast(self.encoder.device, dtype=torch.bfloat16, enabled=self.encoder.device == "cuda"):
            value = self.loss([self.encoder.features(column) for column in columns], torch.empty(0))
        self.optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), CLIPPED)
        self.optimiser.step()
        self.losses.append(round(float(value.detach()), 5))
        return self.losses[-1]

    def rate_share(self, step: int) -> float:
        """0 to 1: what the rate is multiplied with."""
        warm_up = max(1, round(self.settings.warm_up * len(self.batches))) if self.settings.warm_up else 0
        if step < warm_up:
            return (step + 1) / warm_up
        return (len(self.batches) - step) / max(1, len(self.batches) - warm_up)

    def epoch_losses(self) -> list[float]:
        """Mean loss of each epoch that is begun."""
        sums: dict[int, list[float]] = {}
        for (epoch, _batch), value in zip(self.batches, self.losses, strict=False):
            sums.setdefault(epoch, []).append(value)
        return [sum(values) / len(values) for values in sums.values()]

    def save(self, path: Path) -> None:
        """Everything that the next steps depend on; whole or not at all."""
        state = {
            "trained": {name: parameter.detach() for name, parameter in self.parameters.items()},
            "optimiser": self.optimiser.state_dict(),
            "random": torch.get_rng_state(),
            "losses": self.losses,
        }
        if self.encoder.device == "cuda":
            state["random_cuda"] = torch.cuda.get_rng_state()
        part = path.with_suffix(".part")
        torch.save(state, part)
        part.replace(path)

    def load(self, path: Path) -> None:
        """Go on from there."""
        state = torch.load(path, map_location=self.encoder.device, weights_only=True)
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(state["trained"][name])
        self.optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["random"].cpu())
        if "random_cuda" in state and self.encoder.device == "cuda":
            torch.cuda.set_rng_state(state["random_cuda"].cpu())
        self.losses = state["losses"]


def widths(dimensions: int) -> list[int]:
    """Numbers of a vector that are trained to serve alone: those that an index stores, and all of them."""
    return [dimensions, *(width for width in (768, NARROW) if width < dimensions)]
