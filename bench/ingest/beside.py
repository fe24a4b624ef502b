"""How long others' small files wait while large texts without ends of sentences are ingested by the real product.

python -m bench.ingest.beside [MEGABYTES] [FILES] [chinese|marks]: starts the product with its workers in a folder of
its own, uploads FILES large texts at once and a small one every few seconds, and tells when each became searchable, in
seconds.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import httpx

from tests.faults.product import Product
from tests.services_plugin import models_folder

SMALL_EVERY_SECONDS = 5.0
PATIENCE_SECONDS = 1800
ASK_SECONDS = 0.5


def large_text(megabytes: float, kind: str) -> bytes:
    """Random Chinese characters in one line, or open Markdown marks again and again."""
    if kind == "marks":
        return ("*a_b [" * int(megabytes * 2**20 / 6)).encode()
    chosen = random.Random(9)  # noqa: S311
    han = [chr(code) for code in range(0x4E00, 0x5E00)]
    return "".join(chosen.choices(han, k=int(megabytes * 2**20 / 3))).encode()


def upload(client: httpx.Client, set_id: int, name: str, content: bytes) -> int:
    files = {"file": (name, content, "text/markdown")}
    answer = client.post("/documents", data={"sets": str(set_id), "title": name}, files=files, timeout=300)
    answer.raise_for_status()
    return int(answer.json()["document_id"])


def main() -> None:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 9.0
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    kind = sys.argv[3] if len(sys.argv) > 3 else "chinese"
    with tempfile.TemporaryDirectory() as folder:
        product = Product(Path(folder) / "data", models_folder(), web_processes=1)
        product.start()
        try:
            with product.client() as client:
                measure(client, large_text(megabytes, kind), count)
        finally:
            product.stop()


def measure(client: httpx.Client, text: bytes, count: int) -> None:
    set_id = client.post("/knowledge-sets", json={"name": "Beside", "axis": "1", "code": "beside"}).json()["id"]
    begun = time.monotonic()
    sent = {upload(client, set_id, f"large-{n}.md", text + bytes([65 + n])): begun for n in range(count)}
    large, waits, number = set(sent), [], 0
    while sent and time.monotonic() - begun < PATIENCE_SECONDS:
        if large & set(sent) and time.monotonic() - begun >= number * SMALL_EVERY_SECONDS:
            content = f"# File {number}\n\nA filter of kind {number} has a loss of {number} dB.".encode()
            sent[upload(client, set_id, f"small-{number}.md", content)] = time.monotonic()
            number += 1
        for document, since in list(sent.items()):
            state = client.get(f"/documents/{document}").json()["state"]
            if state in ("live", "failed"):
                del sent[document]
                waited = time.monotonic() - since
                print(f"{'large' if document in large else 'small'} {state} {waited:.1f} s", flush=True)
                waits += [waited] if document not in large else []
        time.sleep(ASK_SECONDS)
    waits = waits or [0.0]
    print(f"small files: {len(waits)}, median {median(waits):.1f} s, longest {max(waits):.1f} s", flush=True)


if __name__ == "__main__":
    main()
