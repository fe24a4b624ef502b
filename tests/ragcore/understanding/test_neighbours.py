import numpy as np
import pytest

from ragcore.understanding.lexicon import DataLexicon, lexicon_names
from ragcore.understanding.neighbours import MOST_NEIGHBOURS, add_neighbours
from tests.ragcore.understanding.stage_ports import tokenizer

LEXICON = DataLexicon()
VOCABULARY = ("吞吐量", "吞吐门限", "小区重选", "beamforming", "beam sweeping", "beam failure", "dream team")
MEANING = {
    "吞吐率": (1.0, 0.0, 0.0), "吞吐": (1.0, 0.0, 0.0), "吞吐量": (0.9, 0.4, 0.0), "吞吐门限": (0.2, 0.9, 0.0),
    "beam": (0.0, 0.0, 1.0), "beamforming": (0.0, 0.3, 0.9), "beam sweeping": (0.0, 0.2, 0.95),
    "beam failure": (0.0, 0.5, 0.8),
}  # fmt: skip


class Meaning:
    """An embedder of a few words."""

    def __init__(self, trust=1.0):
        self._trust = trust
        self.calls = []

    def trust(self, cjk_share):
        return self._trust

    def embed_queries(self, texts):
        self.calls.append(list(texts))
        vectors = np.array([MEANING.get(text, (0.5, 0.5, 0.5)) for text in texts], dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def added(query, *, lexicon=None, vocabulary=VOCABULARY, embedder=None):
    text = add_neighbours(query, tokenizer(), lexicon, vocabulary=vocabulary, embedder=embedder)
    assert text == "" or text.startswith(query)  # nothing is replaced
    return text.removeprefix(query).strip()


def test_the_nearest_terms_are_added_behind_the_question_all_embedded_at_once():
    embedder = Meaning()

    assert added("吞吐率是多少", embedder=embedder) == "吞吐量"  # the other one is too far
    assert len(embedder.calls) == 1


def test_a_keyword_gets_at_most_two_neighbours_the_nearest_ones():
    assert added("What is a beam?", embedder=Meaning()) == "beam sweeping beamforming"
    assert MOST_NEIGHBOURS == 2


def test_a_term_of_the_lexicon_gets_its_other_names():
    assert added("How do I configure the VPN?", lexicon=LEXICON) == "virtual private network 虚拟专用网络"


@pytest.mark.parametrize("embedder", [None, Meaning(trust=0.0)], ids=["none", "not trusted"])
def test_without_an_embedder_for_the_script_no_other_terms_are_added(embedder):
    assert added("吞吐率是多少", embedder=embedder) == ""


def test_a_name_that_the_question_has_is_not_added_again():
    assert added("What is beamforming of a beam, with beam sweeping?", embedder=Meaning()) in ("", "beam failure")


def test_terms_of_another_generation_are_not_neighbours():
    names = [name for name in lexicon_names() if "nodeb" in name.casefold()]

    assert "eNodeB" not in added("What does a 5G NodeB send?", vocabulary=names, embedder=Meaning())
