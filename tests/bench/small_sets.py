"""Retrieval sets of a few sentences, as the benches read them."""

from __future__ import annotations

import json
from pathlib import Path

WORDS = ("antenna", "battery", "carrier", "downlink", "encoder", "filter", "gateway", "handover")


def set_of_words(folder: Path) -> list[str]:
    """A set with a document and a question about each of WORDS in a new folder; all texts of it."""
    folder.mkdir()
    documents = [{"id": word, "text": f"The {word} unit is checked by the {word} crew."} for word in WORDS]
    questions = [{"id": f"q-{word}", "text": f"Who checks the {word} unit?"} for word in WORDS]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    (folder / "qrels.tsv").write_text("".join(f"q-{word}\t{word}\t1\n" for word in WORDS))
    return [row["text"] for row in (*documents, *questions)]
