"""Embedders: texts to vectors. `EMBEDDERS` finds them by the setting `EMBEDDER`; one module each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragcore.client_registry import ClientRegistry

if TYPE_CHECKING:
    from ragcore.ports import Embedder

EMBEDDERS: ClientRegistry[Embedder] = ClientRegistry(__name__)
