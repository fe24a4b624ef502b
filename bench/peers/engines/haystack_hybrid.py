"""Haystack's hybrid retrieval over its in-memory store: BM25 and embeddings, joined by reciprocal rank fusion."""

from __future__ import annotations

from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from bench.peers.exchange import Task
from bench.peers.worker import Search

DISTRIBUTIONS = ("haystack-ai",)


def build(task: Task, variant: str) -> Search:
    store = InMemoryDocumentStore()
    rows = zip(task.ids, task.passages, task.passage_vectors, strict=True)
    store.write_documents([Document(id=i, content=text, embedding=vector.tolist()) for i, text, vector in rows])
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(store))
    pipeline.add_component("vectors", InMemoryEmbeddingRetriever(store))
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipeline.connect("words", "joiner")
    pipeline.connect("vectors", "joiner")

    def search(number: int) -> list[str]:
        vector = task.question_vectors[number].tolist()
        found = pipeline.run({"words": {"query": task.questions[number]}, "vectors": {"query_embedding": vector}})
        return [document.id for document in found["joiner"]["documents"]]

    return search
