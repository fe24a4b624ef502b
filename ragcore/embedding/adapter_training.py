"""Training of a query adapter: a closed form, then multiple negatives ranking; documents keep their vectors.

Closed form: what questions have that their passages have not is noise: "what", "which of the following", how people
ask. Its covariance over the pairs is shrunk towards a multiple of the identity, and a question is filtered with its
inverse square root (within-class covariance normalisation, Hatch et al. 2006, of one side). Only the directions with
the most noise are kept: a residual of low rank, and the mean question as a shift.

From there AdamW (Loshchilov and Hutter 2019) goes on with small steps, in numpy: cross-entropy of the softmax of
cosines by a temperature over the passages that questions were trained with (Henderson et al. 2017, arXiv:1705.00652,
there over a batch), the first 384 numbers jointly with all of them (Kusupati et al. 2022, Matryoshka).
Passages of documents without a question among the pairs are no negatives: a question about them would learn that they
are wrong.

Held out are whole documents, in folds; each fold has a model of its own, trained in step with the one that is kept, so
that every question is judged once by a model that has not seen its documents. The order of the pairs follows from seed
and round alone: a training that was broken off and goes on from its checkpoint ends with the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from ragcore.embedding.query_adapter import QueryAdapter
from ragcore.ports import FloatArray

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.floating[Any]]
BETAS, EPSILON = (0.9, 0.999), 1e-8
NAMES = ("down", "up", "shift")
MINUS = np.float32(-1e9)  # the score of a passage that does not compete
COMPARED_AT_ONCE = 128  # questions, with all passages: all of both together would take gigabytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterSettings:
    """Chosen on public sets that no goal is measured on; see docs/decisions/026."""

    rank: int = 128
    shrinkage: float = 3.0  # of the covariance of noise, times its mean eigenvalue
    passage_share: float = 0.5  # of a passage, as far as it differs from others, in a question about it
    rounds: int = 25  # the first one is the closed form
    batches: int = 5  # of a round
    batch: int = 256
    temperature: float = 0.08
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    prefix: int = 384  # trained jointly; 0: not at all
    prefix_share: float = 0.2  # of the loss
    negatives: int = 4096  # passages that compete in a batch, at most
    seed: int = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPairs:
    """Questions with their passages, as arrays.

    `questions`: float32[q, d]; `passages`: float32[p, d]; `right`: for each question the rows of its passages;
    `masked`: rows that may be right as well and therefore do not compete; `hard`: rows that retrieval confuses with it;
    `touches`: bool[q, f], the folds of the question's documents. It trains the models of the other folds, and is held
    out where all of its documents are in one fold.
    """

    questions: FloatArray
    passages: FloatArray
    right: Sequence[Sequence[int]]
    touches: Flags
    masked: Sequence[Sequence[int]] = ()
    hard: Sequence[Sequence[int]] = ()

    @property
    def held_out(self) -> npt.NDArray[np.int64]:
        """int64[h]: the questions that one model has not seen the documents of."""
        return np.flatnonzero(self.touches.sum(axis=1) == 1)


@dataclass(slots=True)
class _Model:
    """Weights of one fold, or of the model that is kept, with the moments of Adam."""

    weights: dict[str, FloatArray]
    first: dict[str, FloatArray]
    second: dict[str, FloatArray]
    steps: int = 0

    @classmethod
    def of_weights(cls, weights: dict[str, FloatArray]) -> _Model:
        """Before the first step."""
        first, second = ({name: np.zeros_like(matrix) for name, matrix in weights.items()} for _moment in range(2))
        return cls(weights, first, second)

    def adapter(self) -> QueryAdapter:
        down, up, shift = (self.weights[name].copy() for name in NAMES)
        return QueryAdapter(down=down, up=up, shift=shift)

    def update(self, gradients: dict[str, FloatArray], settings: AdapterSettings) -> None:
        """One step of AdamW."""
        self.steps += 1
        for name, gradient in gradients.items():
            self.first[name] = BETAS[0] * self.first[name] + (1 - BETAS[0]) * gradient
            self.second[name] = BETAS[1] * self.second[name] + (1 - BETAS[1]) * gradient**2
            mean = self.first[name] / (1 - BETAS[0] ** self.steps)
            spread = np.sqrt(self.second[name] / (1 - BETAS[1] ** self.steps)) + EPSILON
            step = mean / spread + settings.weight_decay * self.weights[name]
            self.weights[name] = (self.weights[name] - settings.learning_rate * step).astype(np.float32)


@dataclass(slots=True)
class AdapterTraining:
    """A training that goes on round by round, and may be stored after each of them.

    Model 0 sees all pairs; model f + 1 all but those of fold f. Before the first round all leave questions as they are.
    """

    pairs: TrainingPairs
    settings: AdapterSettings = field(default_factory=AdapterSettings)
    round: int = 0
    models: list[_Model] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.models:
            unchanged = unchanged_weights(self.pairs.questions.shape[1], self.settings.rank)
            self.models = [_Model.of_weights(dict(unchanged)) for _number in range(self.folds + 1)]

    @property
    def folds(self) -> int:
        """Number of folds."""
        return int(self.pairs.touches.shape[1])

    @property
    def is_over(self) -> bool:
        """Whether the last round is done."""
        return self.round >= self.settings.rounds

    def advance(self) -> float | None:
        """One round of every model; the mean loss of the one that is kept, None after the closed form."""
        losses: list[float] = []
        for number in range(len(self.models)):
            rows = np.flatnonzero(~self.pairs.touches[:, number - 1]) if number else np.arange(len(self.pairs.right))
            if not len(rows):
                continue
            if self.round == 0:
                self.models[number] = _Model.of_weights(noise_filter(self.pairs, rows, self.settings))
                continue
            random = np.random.default_rng([self.settings.seed, self.round, number])
            passages = np.unique([row for question in rows.tolist() for row in self.pairs.right[question]])
            for _batch in range(self.settings.batches):
                batch = random.choice(rows, min(self.settings.batch, len(rows)), replace=False)  # nosec B311 - training
                model = self.models[number]
                loss, gradients = _gradients(self.pairs, batch, passages, model.weights, self.settings, random)
                model.update(gradients, self.settings)
                losses += [loss] if number == 0 else []
        self.round += 1
        return float(np.mean(losses)) if losses else None

    def kept(self) -> QueryAdapter:
        """The adapter that all pairs have trained, as it is after this round."""
        return self.models[0].adapter()

    def held_out(self) -> FloatArray:
        """float32[h, d]: the questions that are held out, each through the model that has not seen its documents."""
        rows = self.pairs.held_out
        adapted = np.empty((len(rows), self.pairs.questions.shape[1]), np.float32)
        for fold in range(self.folds):
            of_fold = self.pairs.touches[rows, fold]
            adapted[of_fold] = self.models[fold + 1].adapter().apply(self.pairs.questions[rows[of_fold]])
        return adapted

    # ── checkpoints ─────────────────────────────────────────────────────────────────────────────

    def checkpoint(self) -> bytes:
        """Everything that the next round depends on, without the pairs."""
        arrays: dict[str, npt.NDArray[np.generic]] = {"round": np.array([self.round, len(self.models)])}
        for number, model in enumerate(self.models):
            arrays[f"{number}.steps"] = np.array([model.steps])
            for name in NAMES:
                for part in ("weights", "first", "second"):
                    arrays[f"{number}.{part}.{name}"] = getattr(model, part)[name]
        stream = BytesIO()
        np.savez(stream, **arrays)  # type: ignore[arg-type]  # numpy's stubs know no names
        return stream.getvalue()

    @classmethod
    def resumed(cls, pairs: TrainingPairs, settings: AdapterSettings, checkpoint: bytes) -> AdapterTraining:
        """Where `checkpoint` was made of the same pairs and settings."""
        with np.load(BytesIO(checkpoint), allow_pickle=False) as stored:
            rounds, number = map(int, stored["round"])
            models = []
            for at in range(number):
                parts = [
                    {name: stored[f"{at}.{part}.{name}"] for name in NAMES} for part in ("weights", "first", "second")
                ]
                models.append(_Model(parts[0], parts[1], parts[2], steps=int(stored[f"{at}.steps"][0])))
        return cls(pairs, settings, rounds, models)


def unchanged_weights(dimensions: int, rank: int) -> dict[str, FloatArray]:
    """An adapter that leaves every question as it is."""
    return {
        "down": np.zeros((dimensions, rank), np.float32),
        "up": np.zeros((rank, dimensions), np.float32),
        "shift": np.zeros(dimensions, np.float32),
    }


def noise_filter(pairs: TrainingPairs, rows: npt.NDArray[np.int64], settings: AdapterSettings) -> dict[str, FloatArray]:
    """The closed form: the question less the mean one, and less most of what lies in the noisiest directions."""
    questions = pairs.questions[rows]
    passages = np.stack([pairs.passages[list(pairs.right[row])].mean(axis=0) for row in rows.tolist()])
    mean = questions.mean(axis=0)
    noise = (questions - mean) - settings.passage_share * (passages - passages.mean(axis=0))
    values, directions = np.linalg.eigh((noise.T @ noise / len(rows)).astype(np.float64))
    rank = min(settings.rank, len(values))
    values, down = np.maximum(values[::-1], 0.0), directions[:, ::-1][:, :rank].astype(np.float32)
    floor = settings.shrinkage * values.mean()
    rest = floor + values[rank:].mean() if rank < len(values) else floor
    shares = np.minimum(1.0, np.sqrt(rest / np.maximum(values[:rank] + floor, 1e-12)))
    up = -((1.0 - shares)[:, None] * down.T).astype(np.float32)
    return {"down": down, "up": up, "shift": np.asarray(-(mean + (mean @ down) @ up), dtype=np.float32)}


def _gradients(
    pairs: TrainingPairs,
    batch: npt.NDArray[np.int64],
    passages_of_model: npt.NDArray[np.int64],
    weights: dict[str, FloatArray],
    settings: AdapterSettings,
    random: np.random.Generator,
) -> tuple[float, dict[str, FloatArray]]:
    """The loss of a batch, and its gradients by name of weights; `passages_of_model`: rows of passages that compete."""
    rows = _competing(pairs, batch, passages_of_model, settings.negatives, random)
    targets, barred = _targets(pairs, batch, rows)
    plain, passages = pairs.questions[batch], pairs.passages[rows]
    hidden = plain @ weights["down"]
    moved = plain + hidden @ weights["up"] + weights["shift"]
    loss, slope = _ranking_loss(moved, passages, targets, barred, settings.temperature)
    if settings.prefix and settings.prefix < moved.shape[1]:
        cut, share = settings.prefix, np.float32(settings.prefix_share)
        short = passages[:, :cut]
        short = short / np.maximum(np.linalg.norm(short, axis=1, keepdims=True), 1e-6)
        part, part_slope = _ranking_loss(moved[:, :cut], short, targets, barred, settings.temperature)
        loss = (1 - float(share)) * loss + float(share) * part
        slope = (1 - share) * slope
        slope[:, :cut] += share * part_slope
    return loss, {
        "up": hidden.T @ slope,
        "down": plain.T @ (slope @ weights["up"].T),
        "shift": slope.sum(axis=0),
    }


def _ranking_loss(
    moved: Floats, passages: Floats, targets: FloatArray, barred: Flags, temperature: float
) -> tuple[float, FloatArray]:
    """Cross-entropy over passages of float32[b, d] against float32[p, d], and its slope by the former, [b, d]."""
    norms = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-6)
    units = moved / norms
    scores = np.where(barred, MINUS, (units @ passages.T) / np.float32(temperature))
    scores -= scores.max(axis=1, keepdims=True)
    powers = np.exp(scores)
    totals = powers.sum(axis=1, keepdims=True)
    loss = -float(np.sum(targets * (scores - np.log(totals)))) / len(moved)
    by_unit = ((powers / totals - targets) @ passages) / np.float32(temperature * len(moved))
    slope = (by_unit - (by_unit * units).sum(axis=1, keepdims=True) * units) / norms
    return loss, np.asarray(slope, dtype=np.float32)


def _competing(
    pairs: TrainingPairs,
    batch: npt.NDArray[np.int64],
    passages_of_model: npt.NDArray[np.int64],
    most: int,
    random: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Rows of passages that compete: all that a question of this model has; of many the batch's own, those that it is
    confused with, and some others. Passages that are held out from this model do not compete.
    """
    if len(passages_of_model) <= most:
        return passages_of_model
    rows = {row for question in batch.tolist() for row in pairs.right[question]}
    if pairs.hard:
        rows |= {row for question in batch.tolist() for row in pairs.hard[question]}.intersection(
            passages_of_model.tolist()
        )
    return np.unique(np.concatenate([np.fromiter(rows, np.int64), random.permutation(passages_of_model)[:most]]))


def _targets(
    pairs: TrainingPairs, batch: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> tuple[FloatArray, Flags]:
    """float32[b, p], the shares of the right passages, and bool[b, p], which do not compete."""
    place = {int(row): at for at, row in enumerate(rows)}
    targets = np.zeros((len(batch), len(rows)), np.float32)
    barred = np.zeros((len(batch), len(rows)), bool)
    for at, question in enumerate(batch.tolist()):
        right = [place[row] for row in pairs.right[question]]
        targets[at, right] = 1.0 / len(right)
        if pairs.masked:
            barred[at, [place[row] for row in pairs.masked[question] if row in place]] = True
            barred[at, right] = False
    return targets, barred


def plain_scale(
    plain: FloatArray, adapted: FloatArray, passages: FloatArray, *, nearest: int = 20
) -> tuple[float, float]:
    """(slope, level) that map cosines of adapted questions onto those of plain ones.

    By mean and spread of the `nearest` cosines of each question of float32[q, d] to float32[p, d].
    """
    levels = []
    for questions in (plain, adapted):
        best = np.concatenate([_nearest(questions[block], passages, nearest) for block in blocks(len(questions))])
        levels.append((float(best.mean()), float(best.std())))
    (plain_mean, plain_spread), (mean, spread) = levels
    slope = plain_spread / spread if spread > 1e-6 and plain_spread > 1e-6 else 1.0
    return slope, plain_mean - slope * mean


def blocks(number: int) -> Iterator[slice]:
    """Rows of so many questions in their order, as many at a time as are compared with all passages at once."""
    for start in range(0, number, COMPARED_AT_ONCE):
        yield slice(start, start + COMPARED_AT_ONCE)


def _nearest(questions: FloatArray, passages: FloatArray, number: int) -> FloatArray:
    """float32[q, number], or fewer where there are fewer passages; in no order."""
    cosines = questions @ passages.T
    return -np.partition(-cosines, min(number, cosines.shape[1]) - 1, axis=1)[:, :number]
