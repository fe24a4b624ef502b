"""What PostgreSQL is and holds, beside the processes that ask it."""

from __future__ import annotations

from pathlib import Path

from django.db import connection

from bench.process_figures import family_of, resident_bytes
from knowledge.model_registry import embedder


def database_versions() -> dict[str, str]:
    """PostgreSQL, pgvector in it, and our embedder."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        server = cursor.fetchone()[0].split()[0]
        cursor.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        vector = cursor.fetchone()[0]
    return {"PostgreSQL": server, "pgvector extension": vector, "our embedder": embedder().model}


def database_bytes() -> int:
    """All processes of the server, shared memory counted once; 0 where it runs elsewhere or may not be looked into."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = int(cursor.fetchone()[0])
    status = Path(f"/proc/{backend}/status")
    if not status.is_file():
        return 0
    lines = dict(line.split(":\t", 1) for line in status.read_text(encoding="utf-8").splitlines() if ":\t" in line)
    if lines.get("Name") != "postgres":
        return 0
    return sum(map(resident_bytes, family_of([int(lines["PPid"])])))
