"""The short form of `make bench-lexicon`."""

import json

import numpy as np
import pytest

from bench.lexicon import searches
from bench.lexicon.documents import measure_bilingual, measure_document
from bench.lexicon.synonyms import measure_synonyms
from ragcore.text.tokenise import JiebaTokenizer

GLOSSARY = """# 3 Terms

**Packet gateway:** a gateway for packets.

# 4 Abbreviations

PGW\tPacket Gateway
BER\tBit Error Rate
QoS\tQuality of Service

# 5 Text

The packet gateway works. A packet gateway fails. The packet gateway is quick.
"""


def test_a_glossary_is_compared_with_what_was_found_in_it():
    figures = measure_document(GLOSSARY)

    assert (figures["abbreviations"], figures["abbreviations_found"]) == (3, 1.0)
    assert figures["terms_precision_at_200"] == 1.0


def test_the_bilingual_document_gives_its_pairs():
    figures = measure_bilingual()

    assert figures["precision"] >= 0.9
    assert figures["recall"] >= 0.9


def test_names_that_got_a_second_one_are_looked_for():
    texts = [
        "The Packet Gateway (PGW) forwards traffic of subscribers.",
        "A Packet Gateway charges roaming subscribers monthly.",
        "Operators place every Packet Gateway behind redundant routers.",
        "Carrier Aggregation (CA) is old. Operators join bands by Carrier Aggregation for higher peak rates.",
        "Bit Error Rate (BER) is old. Laboratories measure flipped bits as Bit Error Rate of received frames.",
        "Radio Link Control (RLC) is old. Duplicates are discarded by Radio Link Control in restored order.",
    ]

    figures = measure_synonyms(texts * 12, JiebaTokenizer(), lambda names: np.eye(len(names), dtype=np.float32))

    assert figures["abbreviations_contexts"]["known"] == 4
    assert figures["renamed_contexts"]["right"] >= 1
    assert figures["abbreviations_contexts_and_vectors"]["suggested"] == 0  # the vectors of all are far apart


@pytest.mark.django_db
@pytest.mark.full
def test_a_set_is_measured_without_and_with_its_lexicon(tmp_path, monkeypatch):
    folder = tmp_path / "tiny_set"
    folder.mkdir()
    texts = {
        "a": "The hybrid automatic repeat request (HARQ) corrects errors. HARQ is quick.",
        "b": "The hybrid automatic repeat request is stopped by the timer.",
        "c": "The antenna has four ports.",
    }
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"id": k, "text": v}) + "\n" for k, v in texts.items()))
    question = {"id": "q", "text": "What stops the hybrid automatic repeat request?"}
    (folder / "queries.jsonl").write_text(json.dumps(question) + "\n")
    (folder / "qrels.tsv").write_text("q\tb\t1\n")
    for name, value in (("TERMS", 50), ("ROUNDS", 1), ("LEAST_CROSS", 1)):
        monkeypatch.setattr(searches, name, value)

    figures = searches.measure_sets([folder], limit=5, texts=[])["tiny_set"]

    assert figures["terms"] > 0
    assert figures["ndcg10_after"] == figures["ndcg10_before"] == 1.0
    assert figures["abbreviated"]["questions"] == 1
    assert figures["cross_language"]["recall10_after"] == 1.0
