"""An embedding model in memory whose weights are trained. Of its word table the rows of the words that occur.

Rows of other words get no gradient, so training them changes nothing; without them the optimiser of a multilingual
model needs a fifth of the memory, and so does a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import SentenceTransformer
from torch import nn
from torch.nn import functional

from ragcore.training.whole_model.errors import TuneRefusedError
from ragcore.training.whole_model.plan import TunePlan

EMBEDDED_AT_ONCE = 16
FLOAT_BYTES = 4
TRAINED_BYTES = 4 * FLOAT_BYTES  # of a trained number: itself, its gradient, two of AdamW
SPARE_BYTES = 1_000_000_000  # torch, activations of a small step, texts

FloatArray = npt.NDArray[np.float32]


class UsedRows(nn.Module):  # type: ignore[misc]  # mypy does not read torch
    """A word table of which the rows `used` are trained."""

    def __init__(self, table: Any, used: Sequence[int]) -> None:
        super().__init__()
        self.table = table
        table.weight.requires_grad_(False)
        self.register_buffer("used", torch.tensor(used, dtype=torch.long), persistent=False)
        place = torch.full((len(table.weight),), -1, dtype=torch.long)
        place[self.used] = torch.arange(len(used))
        self.register_buffer("place", place, persistent=False)
        self.rows = nn.Parameter(table.weight.detach()[self.used].clone())

    @property
    def weight(self) -> Any:
        """Of the table; libraries ask for its type and device."""
        return self.table.weight

    def forward(self, token_ids: Any) -> Any:
        places = self.place[token_ids]
        trained = functional.embedding(places.clamp(min=0), self.rows)
        return torch.where((places >= 0)[..., None], trained, functional.embedding(token_ids, self.table.weight))

    def restored(self) -> Any:
        """The table with what was trained."""
        with torch.no_grad():
            self.table.weight[self.used] = self.rows
        return self.table


class TunedEncoder:
    """A model of sentence-transformers that is trained. Raises TuneRefusedError where it is none that can be."""

    def __init__(self, folder: Path, plan: TunePlan, texts: Iterable[str]) -> None:
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        # torch's fused attention is many times slower backwards on processors
        way = {"attn_implementation": "eager"} if self.device == "cpu" else {}
        try:
            self.model = SentenceTransformer(
                str(folder), device=self.device, model_kwargs={**way, "dtype": torch.float32}
            )
        except Exception as error:  # whatever a model's files may raise
            raise TuneRefusedError("not_loaded", problem=str(error) or type(error).__name__) from error
        self._pool(plan.pooling)
        inner = getattr(self.model[0], "auto_model", None)
        if inner is None or not hasattr(inner, "set_input_embeddings"):
            raise TuneRefusedError("not_a_transformer")
        self._inner, self.length = inner, self.model.max_seq_length
        most = plan.settings.tokens
        self.model.max_seq_length = min(self.length or most, most)
        self.plan = plan
        self.words = UsedRows(inner.get_input_embeddings(), self._used(texts))
        inner.set_input_embeddings(self.words)
        self.model.to(self.device)
        for name, parameter in self.model.named_parameters():
            parameter.requires_grad_(not name.endswith("table.weight"))

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.model.get_embedding_dimension())

    def trained(self) -> dict[str, Any]:
        """The parameters that are trained, by name."""
        return {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}

    def questions(self, texts: Sequence[str], alive: Callable[[int], None] = lambda count: None) -> FloatArray:
        """float32[n, d], L2-normalised. `alive` is called with the number that are done."""
        return self._embedded([self.plan.query_prefix + text for text in texts], alive)

    def passages(self, texts: Sequence[str], alive: Callable[[int], None] = lambda count: None) -> FloatArray:
        """The same of passages."""
        return self._embedded([self.plan.document_prefix + text for text in texts], alive)

    def _embedded(self, texts: Sequence[str], alive: Callable[[int], None]) -> FloatArray:
        self.model.eval()
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        order = np.argsort([len(text) for text in texts], kind="stable")  # of like length together
        for start in range(0, len(texts), EMBEDDED_AT_ONCE):
            places = order[start : start + EMBEDDED_AT_ONCE]
            some = [texts[place] for place in places]
            rows[places] = self.model.encode(
                some, batch_size=EMBEDDED_AT_ONCE, normalize_embeddings=True, show_progress_bar=False
            )
            alive(min(start + EMBEDDED_AT_ONCE, len(texts)))
        return rows

    def features(self, texts: Sequence[str]) -> dict[str, Any]:
        """Texts with their prefixes as the model reads them."""
        read = self.model.preprocess(list(texts))
        return {name: value.to(self.device) if hasattr(value, "to") else value for name, value in read.items()}

    def save(self, folder: Path) -> None:
        """Write the model as it is now; it cannot be trained on after that."""
        self._inner.set_input_embeddings(self.words.restored())
        self.model.max_seq_length = self.length
        self.model.save(str(folder), create_model_card=False)

    def _used(self, texts: Iterable[str]) -> list[int]:
        used: set[int] = set()
        prefixes = (self.plan.query_prefix, self.plan.document_prefix)
        for text in texts:
            used.update(self.model.tokenizer(text, truncation=True, max_length=self.model.max_seq_length)["input_ids"])
        for prefix in prefixes:
            used.update(self.model.tokenizer(prefix)["input_ids"])
        return sorted(used)

    def _pool(self, pooling: str) -> None:
        """The pooling that was named in the place of the model's."""
        if not pooling:
            return
        from sentence_transformers.models import Pooling

        at = next((place for place, part in enumerate(self.model) if isinstance(part, Pooling)), None)
        if at is None:
            raise TuneRefusedError("pooling", pooling=pooling)
        self.model[at] = Pooling(self.model[at].embedding_dimension, pooling_mode=pooling)


def needed_bytes(folder: Path) -> int:
    """Memory that a training of the model of a folder takes at least, by the sizes in its safetensors files.

    Half of the texts' words at most are counted as used: the table's rows weigh once. 0 where the folder has no
    safetensors, so that nothing is known.
    """
    from safetensors import safe_open

    total = table = 0
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118 -- not a dict
                numbers = int(np.prod(file.get_slice(name).get_shape()))
                total += numbers
                table = max(table, numbers) if "embeddings" in name or "embed_tokens" in name else table
    return TRAINED_BYTES * (total - table) + FLOAT_BYTES * table + SPARE_BYTES if total else 0
