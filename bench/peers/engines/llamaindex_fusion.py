"""LlamaIndex's QueryFusionRetriever over a vector index and BM25, without generated questions.

Variant: the fusion mode. `simple` is the default (the higher score of the two), `reciprocal_rerank` the usual advice.
"""

from __future__ import annotations

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.retrievers.bm25 import BM25Retriever
from pydantic import PrivateAttr

from bench.peers.exchange import TOP_K, FloatArray, Task
from bench.peers.worker import Search

DISTRIBUTIONS = ("llama-index-core", "llama-index-retrievers-bm25")


class KnownVectors(BaseEmbedding):
    """Looks vectors up; nothing is computed or downloaded."""

    _known: dict[str, FloatArray] = PrivateAttr()

    def __init__(self, known: dict[str, FloatArray]) -> None:
        super().__init__()
        self._known = known

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(number) for number in self._known[text]]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def build(task: Task, variant: str) -> Search:
    nodes = [TextNode(id_=i, text=text) for i, text in zip(task.ids, task.passages, strict=True)]
    top_k = min(TOP_K, len(nodes))
    index = VectorStoreIndex(nodes, embed_model=KnownVectors(task.vectors_of_texts()))
    retriever = QueryFusionRetriever(
        [
            index.as_retriever(similarity_top_k=top_k),
            BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=top_k),
        ],
        llm=MockLLM(),  # never asked: one question, the given one
        num_queries=1,
        similarity_top_k=top_k,
        mode=variant,
        use_async=False,
    )

    def search(number: int) -> list[str]:
        return [found.node.node_id for found in retriever.retrieve(task.questions[number])]

    return search
