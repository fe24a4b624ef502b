"""How far a registered model is trusted, by script (decision 042)."""

from __future__ import annotations

import re
import zlib

import numpy as np
import pytest

from knowledge import model_registry
from knowledge.embedder_fit import trust_refresh
from knowledge.model_setup import setup_forget
from knowledge.models import EmbedderFit
from tests.scripted_llm import Reply, serving

pytestmark = pytest.mark.django_db


def english_only(texts):
    """Vectors that count Latin words in 400 numbers; of Chinese they see nothing but the length."""
    rows = np.full((len(texts), 400), 0.01)
    for row, text in zip(rows, texts, strict=True):
        for word in re.findall(r"[a-z]+", text.lower()):
            row[zlib.crc32(word.encode()) % 400] += 1.0
        row[len(text) % 7] += 0.5
    return rows


def test_a_model_is_trusted_for_the_script_that_it_reads(settings):
    with serving() as server:
        server.respond = lambda asked: Reply(vectors=tuple(map(tuple, english_only(asked.body["input"]).tolist())))
        settings.EMBEDDER, settings.EMBEDDING_BASE_URL = "openai:bge-m3", server.url
        model_registry.embedder_of.cache_clear()
        embedder = model_registry.embedder()
        assert embedder.trust(1.0) == 1.0  # nothing is known yet

        embedder.embed_queries(["one"])

        row = EmbedderFit.objects.get()
        assert row.trust_latin > 0.8
        assert row.trust_cjk < 0.25  # some are found by chance among the messages of a release
        assert (embedder.trust(0.0), embedder.trust(1.0)) == pytest.approx((row.trust_latin, row.trust_cjk))

        # measured by an earlier version: *Test* does it now
        EmbedderFit.objects.update(trust_latin=None, trust_cjk=None)
        trust_refresh(embedder)
        assert EmbedderFit.objects.get().trust_latin == row.trust_latin
    model_registry.embedder_of.cache_clear()
    setup_forget()
