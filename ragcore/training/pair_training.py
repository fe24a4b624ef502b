"""Training of the model that reads question and sentence together; see `ragcore.embedding.e5_pairs`.

Low-rank changes (LoRA) of the upper layers of multilingual-e5-small, its normalisations there, and a linear head over
the first token and the mean. The loss is listwise, with a place for "none of these" that scores 0: the softmax of the
scores of a question's sentences and that place, so that a score is comparable between questions. In bfloat16; on two
cores with AMX one step of eight questions takes one to two seconds.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ragcore.embedding.e5 import QUERY
from ragcore.embedding.e5_pairs import ATTENTION, QUESTION_TOKENS, pair_ids
from ragcore.embedding.e5_weights import E5Weights
from ragcore.embedding.unigram import UnigramTokenizer
from ragcore.ports import FloatArray
from ragcore.training.pair_lists import PairList, drawn, names_in
from ragcore.types.sentence_vectors import HeadedSentence

FROZEN = 3  # lowest layers, which stay as they are
RANK = 16  # of a change; half as much again of queries, keys and values together
QUESTIONS = 8  # of a step
TABLE_EVERY = 2  # steps with a table's list
BATCH_TOKENS = 6000
WARM_UP = 50  # steps
LEAST_RATE = 0.02  # of the highest, at the end
FAR_BELOW = 1e4
TYPE = torch.bfloat16


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTraining:
    """How long and how fast."""

    epochs: float = 3.0
    rate: float = 6e-4
    seed: int = 1


class PairModel(nn.Module):  # type: ignore[misc]  # mypy does not read torch
    """The encoder with its changes; on batches, unlike what is exported."""

    def __init__(self, weights: E5Weights, tokenizer: UnigramTokenizer, *, frozen: int = FROZEN) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.frozen = frozen
        self.shape = weights.shape
        self._words = torch.from_numpy(weights.matrix("emb.word", self.shape.words))
        positions = torch.from_numpy(weights.vector("emb.pos").copy()).reshape(self.shape.positions, -1)
        self._positions = positions + torch.from_numpy(weights.vector("emb.type").copy())[: self.shape.hidden]
        self.norm = _Norm(weights, "emb.ln", is_changed=False)
        self.layers = nn.ModuleList(
            _ChangedLayer(weights, number, is_changed=number >= frozen) for number in range(self.shape.layers)
        )
        self.head = nn.Linear(2 * self.shape.hidden, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, token_ids: Any, mask: Any) -> Any:
        """float32[n] of int64[n, tokens] and float32[n, tokens], 1 for a token and 0 for padding."""
        hidden = self.norm((self._words[token_ids] + self._positions[: token_ids.shape[1]]).to(TYPE))
        beyond = ((mask - 1) * FAR_BELOW).to(TYPE)[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, beyond)
        hidden = hidden.float()
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.head(torch.cat([hidden[:, 0], mean], 1))[:, 0]

    def scores(self, pair_list: PairList) -> Any:
        """float32[n]: of the sentences of a list."""
        return self.scores_of([pair_list])

    def scores_of(self, lists: Sequence[PairList]) -> Any:
        """float32[sentences of all lists, in order]; pairs of like lengths are read together."""
        pairs = [self._pair(pair_list.question, s.head, s.text) for pair_list in lists for s in pair_list.sentences]
        order = sorted(range(len(pairs)), key=lambda at: len(pairs[at]))
        parts = [self(*self._padded([pairs[at] for at in part])) for part in _batches(order, pairs)]
        place = torch.empty(len(order), dtype=torch.long)
        place[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(parts)[place]

    def changes(self) -> dict[str, FloatArray]:
        """What was learnt, by the names of `e5_pairs.PairWeights`."""
        changes = {"head.w": self.head.weight.reshape(-1), "head.b": self.head.bias}
        for number, layer in enumerate(self.layers):
            if number >= self.frozen:
                changes |= {f"l{number}.{name}": value for name, value in layer.changes().items()}
        return {name: value.detach().float().numpy() for name, value in changes.items()}

    def _pair(self, question: str, head: str, text: str) -> list[int]:
        question_ids = self.tokenizer.encode(f"{QUERY}{question}", QUESTION_TOKENS)
        return pair_ids(self.tokenizer, question_ids, HeadedSentence(head, text))[: self.shape.positions]

    def _padded(self, pairs: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        longest = max(map(len, pairs))
        token_ids, mask = torch.zeros(len(pairs), longest, dtype=torch.long), torch.zeros(len(pairs), longest)
        for at, pair in enumerate(pairs):
            token_ids[at, : len(pair)] = torch.tensor(pair)
            mask[at, : len(pair)] = 1
        return token_ids, mask


class _Changed(nn.Module):  # type: ignore[misc]
    """A linear layer of the encoder, parts of it side by side, with its low-rank change."""

    def __init__(self, weights: E5Weights, names: Sequence[str], rank: int, *, is_changed: bool) -> None:
        super().__init__()
        biases = [weights.vector(f"{name}.b") for name in names]
        matrices = [weights.matrix(f"{name}.w", len(bias)) for name, bias in zip(names, biases, strict=True)]
        whole = torch.from_numpy(np.concatenate(matrices))
        self.register_buffer("whole", whole.to(TYPE), persistent=False)
        self.register_buffer("bias", torch.from_numpy(np.concatenate(biases)).to(TYPE), persistent=False)
        self.right = nn.Parameter(torch.randn(rank, whole.shape[1]) / math.sqrt(whole.shape[1])) if is_changed else None
        self.left = nn.Parameter(torch.zeros(whole.shape[0], rank)) if is_changed else None

    def forward(self, hidden: Any) -> Any:
        output = functional.linear(hidden, self.whole, self.bias)
        if self.left is None or self.right is None:
            return output
        return output + functional.linear(functional.linear(hidden, self.right.to(TYPE)), self.left.to(TYPE))


class _Norm(nn.Module):  # type: ignore[misc]
    def __init__(self, weights: E5Weights, name: str, *, is_changed: bool) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.from_numpy(weights.vector(f"{name}.w").copy()), requires_grad=is_changed)
        self.b = nn.Parameter(torch.from_numpy(weights.vector(f"{name}.b").copy()), requires_grad=is_changed)
        self.epsilon = weights.shape.epsilon

    def forward(self, hidden: Any) -> Any:
        return functional.layer_norm(hidden, hidden.shape[-1:], self.w.to(TYPE), self.b.to(TYPE), self.epsilon)


class _ChangedLayer(nn.Module):  # type: ignore[misc]
    def __init__(self, weights: E5Weights, number: int, *, is_changed: bool) -> None:
        super().__init__()
        self.heads = weights.shape.heads
        names = {ATTENTION: [f"l{number}.{part}" for part in ATTENTION]}
        names |= {part: [f"l{number}.{part}"] for part in ("ao", "fi", "fo")}
        self.parts = nn.ModuleDict(
            {
                name: _Changed(weights, of, RANK + RANK // 2 if len(of) > 1 else RANK, is_changed=is_changed)
                for name, of in names.items()
            }
        )
        self.norms = nn.ModuleDict(
            {name: _Norm(weights, f"l{number}.{name}", is_changed=is_changed) for name in ("aln", "oln")}
        )

    def forward(self, hidden: Any, beyond: Any) -> Any:
        count, tokens, width = hidden.shape
        parts = self.parts[ATTENTION](hidden).view(count, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        # written out: torch's fused attention is many times slower backwards on processors
        weight = ((query * (width // self.heads) ** -0.5) @ key.transpose(2, 3) + beyond).softmax(-1)
        mixed = (weight @ value).transpose(1, 2).reshape(count, tokens, width)
        hidden = self.norms["aln"](self.parts["ao"](mixed) + hidden)
        return self.norms["oln"](self.parts["fo"](functional.gelu(self.parts["fi"](hidden))) + hidden)

    def changes(self) -> dict[str, Any]:
        changes = {
            f"{name}.{side}": getattr(part, side) for name, part in self.parts.items() for side in ("left", "right")
        }
        return changes | {f"{name}.{kind}": getattr(norm, kind) for name, norm in self.norms.items() for kind in "wb"}


def pairs_fit(
    model: PairModel, lists: Sequence[PairList], tables: Sequence[PairList], training: PairTraining
) -> Iterator[tuple[int, int, float]]:
    """Train a model; after each step its number, how many there are, and the loss."""
    draw, names = random.Random(training.seed), names_in(lists)
    learnt = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=training.rate, weight_decay=0.01)
    steps = int(training.epochs * len(lists) / QUESTIONS)
    remaining: list[int] = []
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = training.rate * min(1.0, (step + 1) / WARM_UP) * max(LEAST_RATE, 1 - step / steps)
        if len(remaining) < QUESTIONS:
            remaining = draw.sample(range(len(lists)), len(lists))
        read = [drawn(lists[remaining.pop()], names, draw) for _ in range(QUESTIONS)]
        if tables and step % TABLE_EVERY == 0:
            read.append(drawn(draw.choice(tables), names, draw))
        read = [pair_list for pair_list in read if pair_list.sentences]
        loss = listwise_loss(model.scores_of(read), read)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learnt, 1.0)
        optimiser.step()
        yield step + 1, steps, float(loss.detach())


def listwise_loss(scores: Any, lists: Sequence[PairList]) -> Any:
    """Mean of -log of the share that the right sentences of a list have, or "none of these" where it has none."""
    losses, start = [], 0
    for pair_list in lists:
        list_scores = torch.cat([torch.zeros(1), scores[start : start + len(pair_list.sentences)]])
        start += len(pair_list.sentences)
        right = torch.tensor([not pair_list.has_answer, *(s.is_right for s in pair_list.sentences)])
        losses.append(torch.logsumexp(list_scores, 0) - torch.logsumexp(list_scores[right], 0))
    return torch.stack(losses).mean()


def first_right(model: PairModel, lists: Sequence[PairList]) -> Mapping[str, float]:
    """Of each set the share of the questions whose best sentence is a right one."""
    hits: dict[str, list[bool]] = {}
    with torch.no_grad():
        for pair_list in lists:
            best = pair_list.sentences[int(model.scores(pair_list).argmax())]
            hits.setdefault(pair_list.group, []).append(best.is_right)
    return {group: round(float(np.mean(firsts)), 4) for group, firsts in hits.items()}


def told(steps: Iterator[tuple[int, int, float]], *, every: int = 25) -> None:
    """Run the steps and print the mean loss of every few of them."""
    begun, losses = time.monotonic(), list[float]()
    for step, of, loss in steps:
        losses.append(loss)
        if step % every == 0:
            print(f"{step}/{of}: {np.mean(losses[-every:]):.3f}, {time.monotonic() - begun:.0f} s", flush=True)


def _batches(order: Sequence[int], pairs: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    part: list[int] = []
    for at in order:
        if part and (len(part) + 1) * len(pairs[at]) > BATCH_TOKENS:
            yield part
            part = []
        part.append(at)
    if part:
        yield part
