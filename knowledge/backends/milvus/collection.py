"""The collection in Milvus: connection, fields, and how rows are written and read. Every call may be repeated.

The connection is loaded on first use, has short time limits, and is left alone for a while when the server is down.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from importlib import import_module
from typing import Any

import numpy as np
from django.conf import settings

from knowledge.backends.errors import BackendRefusedError, BackendUnavailableError
from knowledge.indexes.backend_outbox import LiveEntry
from knowledge.models.index import COARSE_DIMENSIONS, FINE_DIMENSIONS

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 2.0
SEARCH_SECONDS = 3.0
WRITE_SECONDS = 60.0
REST_SECONDS = 10.0  # after a failure nobody waits for it again, that long; a process each
REFUSALS = {1, 6, 100, 700, 1100, 1101, 1102, 1804}  # codes of requests that will fail again: faults in what was asked

_lock = threading.Lock()
_clients: dict[tuple[int, str, str], Any] = {}  # by process: channels do not survive a fork
_resting: dict[str, float] = {}  # uri -> until when

ARRAY_CAPACITY = 4096  # sets or tags of a document, the most that Milvus takes
HNSW = {"M": 32, "efConstruction": 256}
NUMBERS = ("chunk", "document", "version", "clearance", "model")
FILTERED = ("document", "chunk")  # with an index of their own
COMPARED: Sequence[str] = ("tenant", *NUMBERS, "representation", "sets", "tags")
MAX_ROWS = 500  # a request: some 3 MB


def call(method: str, *, seconds: float, **arguments: Any) -> Any:
    """Call a method of MilvusClient. Raises BackendUnavailableError or BackendRefusedError, nothing else of its own."""
    uri = settings.MILVUS_URI
    if _resting.get(uri, 0.0) > time.monotonic():
        raise BackendUnavailableError
    package = _package()
    try:
        return getattr(_client(uri), method)(timeout=seconds, **arguments)
    except package.MilvusException as error:
        raise _translated(error, uri=uri, method=method) from error
    except (package.client.grpc_handler.grpc.RpcError, OSError) as error:
        raise _unavailable(uri, method, error) from error


def rested() -> None:
    """Forget that it was down: the next call tries."""
    _resting.clear()


def is_lite() -> bool:
    """Whether it is Milvus Lite, which runs inside this process and knows fewer types."""
    return not settings.MILVUS_URI.startswith(("http://", "https://"))


def builders() -> Any:
    """The class whose static methods make schemas and indexes."""
    return _package().MilvusClient


def data_types() -> Any:
    return _package().DataType


def _package() -> Any:
    """pymilvus, loaded on first use: only those who search there have it.

    While it is loaded it reads MILVUS_URI by itself, and refuses files there, and any `.env` that it finds above its
    folder into our environment; so it is kept from both.
    """
    with _lock:
        if "pymilvus" in sys.modules:
            return sys.modules["pymilvus"]
        before = dict(os.environ)
        os.environ.pop("MILVUS_URI", None)
        os.environ["PYTHON_DOTENV_DISABLED"] = "1"
        try:
            return import_module("pymilvus")
        finally:
            os.environ.pop("PYTHON_DOTENV_DISABLED")
            os.environ.update(before)


def _client(uri: str) -> Any:
    key, make = (os.getpid(), uri, settings.MILVUS_TOKEN), builders()
    with _lock:
        if key not in _clients:
            _quieten()
            extra: Mapping[str, Any] = {"token": settings.MILVUS_TOKEN} if settings.MILVUS_TOKEN else {}
            _clients[key] = make(uri=uri, timeout=CONNECT_SECONDS, **extra)
        return _clients[key]


def _quieten() -> None:
    """Every failure is logged here, once, in words; Lite runs in this process and says much that nobody needs."""
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    if is_lite():
        logging.getLogger("milvus_lite").setLevel(logging.ERROR)
        logging.getLogger("grpc._server").setLevel(logging.CRITICAL)


def _translated(error: Any, *, uri: str, method: str) -> Exception:
    faults = _package().exceptions
    if error.code in REFUSALS or isinstance(error, (faults.ParamError, faults.DataNotMatchException)):
        return BackendRefusedError("milvus", method=method, problem=str(error.message)[:500])
    return _unavailable(uri, method, error)


def _unavailable(uri: str, method: str, error: Exception) -> BackendUnavailableError:
    logger.warning("Milvus does not answer (%s); not asked again for %.0f s: %s", method, REST_SECONDS, error)
    _resting[uri] = time.monotonic() + REST_SECONDS
    return BackendUnavailableError()


def collection_name() -> str:
    """`MILVUS_COLLECTION`; installations that share a Milvus need different ones."""
    return str(settings.MILVUS_COLLECTION)


def collection_ensure(name: str) -> bool:
    """Make the collection with its indexes and load it; returns whether it is new. Idempotent."""
    if call("has_collection", seconds=WRITE_SECONDS, collection_name=name):
        call("load_collection", seconds=WRITE_SECONDS, collection_name=name)
        return False
    call(
        "create_collection",
        seconds=WRITE_SECONDS,
        collection_name=name,
        schema=_schema(),
        index_params=_indexes(),
        consistency_level="Bounded",
    )
    return True


def number_of(text: str) -> int:
    """A stable number in [0, 2^63) for a tag or the name of a model."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def row_of(entry: LiveEntry) -> dict[str, Any]:
    """An entry as Milvus takes it."""
    kind = np.float32 if is_lite() else np.float16
    return {
        "id": entry.id,
        "tenant": entry.tenant_id,
        "chunk": entry.chunk_id,
        "document": entry.document_id,
        "version": entry.version_id,
        "clearance": entry.clearance,
        "sets": _capped(entry, "sets", sorted(entry.sets)),
        "tags": _capped(entry, "tags", sorted(number_of(tag) for tag in entry.tags)),
        "representation": entry.representation,
        "language": entry.language,
        "model": number_of(entry.embedding_model),
        "coarse": entry.vector[:COARSE_DIMENSIONS].astype(kind),
        "fine": entry.vector.astype(kind),
        "sparse": dict(entry.weights) or {0: 0.0},  # id 0 is no term
    }


def _capped(entry: LiveEntry, what: str, values: list[int]) -> list[int]:
    if len(values) > ARRAY_CAPACITY:
        logger.error("document %s has %d %s; Milvus takes %d", entry.document_id, len(values), what, ARRAY_CAPACITY)
    return values[:ARRAY_CAPACITY]


def _schema() -> Any:
    kinds = data_types()
    vector = kinds.FLOAT_VECTOR if is_lite() else kinds.FLOAT16_VECTOR
    schema = builders().create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", kinds.INT64, is_primary=True)
    schema.add_field("tenant", kinds.INT64, is_partition_key=True)
    for name in NUMBERS:
        schema.add_field(name, kinds.INT64)
    for name in ("sets", "tags"):
        schema.add_field(name, kinds.ARRAY, element_type=kinds.INT64, max_capacity=ARRAY_CAPACITY)
    schema.add_field("representation", kinds.VARCHAR, max_length=16)
    schema.add_field("language", kinds.VARCHAR, max_length=8)
    schema.add_field("coarse", vector, dim=COARSE_DIMENSIONS)
    schema.add_field("fine", vector, dim=FINE_DIMENSIONS, mmap_enabled=True)
    schema.add_field("sparse", kinds.SPARSE_FLOAT_VECTOR)
    return schema


def _indexes() -> Any:
    """HNSW where all are searched; `fine` is only read for chosen passages, exactly, so it may stay on disk."""
    indexes = builders().prepare_index_params()
    indexes.add_index("coarse", index_type="HNSW", metric_type="COSINE", params=HNSW)
    indexes.add_index("fine", index_type="FLAT", metric_type="COSINE", params={"mmap.enabled": "true"})
    indexes.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    for name in FILTERED if is_lite() else (*FILTERED, "sets"):  # Lite scans lists
        indexes.add_index(name, index_type="INVERTED")
    return indexes


def fields_compared(row: dict[str, Any]) -> tuple[Any, ...]:
    """What of a row says where it belongs and who may find it."""
    return tuple(list(row[name]) if name in ("sets", "tags") else row[name] for name in COMPARED)


# ── rows ──────────────────────────────────────────────────────────────────────────────────────────


def entries_upsert(collection: str, entries: Sequence[LiveEntry]) -> None:
    """Write entries; those with the same ids are replaced."""
    for start in range(0, len(entries), MAX_ROWS):
        rows = [row_of(entry) for entry in entries[start : start + MAX_ROWS]]
        call("upsert", seconds=WRITE_SECONDS, collection_name=collection, data=rows)


def entries_delete(collection: str, ids: Sequence[int]) -> None:
    """Remove entries; unknown ids are no fault."""
    for start in range(0, len(ids), 10 * MAX_ROWS):
        part = list(ids[start : start + 10 * MAX_ROWS])
        call("delete", seconds=WRITE_SECONDS, collection_name=collection, ids=part)


def ids_of_documents(collection: str, document_ids: Sequence[int]) -> set[int]:
    """Ids of all entries of these documents."""
    return _ids(collection, f"document in {sorted(document_ids)}")


def ids_between(collection: str, *, tenant_id: int, after: int, last: int) -> set[int]:
    """Ids in (after, last] of the entries of a tenant."""
    return _ids(collection, f"tenant == {tenant_id:d} and id > {after:d} and id <= {last:d}")


def entries_count(collection: str, *, tenant_id: int) -> int:
    """Entries of a tenant."""
    return int(_query(collection, f"tenant == {tenant_id:d}", ["count(*)"])[0]["count(*)"])


def rows_compared(collection: str, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What is stored about some entries, without their vectors, by id."""
    rows = _query(collection, f"id in {sorted(ids)}", ["id", *COMPARED]) if ids else []
    return {int(row["id"]): row for row in rows}


def _ids(collection: str, expression: str) -> set[int]:
    return {int(row["id"]) for row in _query(collection, expression, ["id"])}


def _query(collection: str, expression: str, fields: list[str]) -> Any:
    return call(
        "query",
        seconds=WRITE_SECONDS,
        collection_name=collection,
        filter=expression,
        output_fields=fields,
        consistency_level="Strong",
    )
