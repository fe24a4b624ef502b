import pytest

from ragcore.graph.entity_types import entity_confidence, entity_type, entity_type_names


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("University of Ghent", "ORGANIZATION"), ("Dr. Ada Lovelace", "PERSON"), ("Adam algorithm", "METHOD"),
        ("SQuAD dataset", "DATASET"), ("F1 score", "METRIC"), ("LaTeX editor", "TOOL"), ("Orion gateway", "TECHNOLOGY"),
        ("Information theory", "CONCEPT"), ("RFC 8259", "PAPER"),
        ("北京邮电大学", "ORGANIZATION"), ("中文语料库", "DATASET"),
        ("随机接入流程", "METHOD"), ("召回率", "METRIC"), ("Belgium", ""),
    ],
)  # fmt: skip
def test_the_words_of_a_name_tell_its_type(name, kind):
    found = entity_type(name)

    assert (found.name, found.cue_share) == (kind, 1.0 if kind else 0.0)


def test_words_beside_a_name_tell_it_where_its_own_do_not():
    sentences = ["We use the simulator NS3 here.", "NS3 is a network simulator.", "NS3 was slow.", "Nothing at all."]

    found = entity_type("NS3", sentences)

    assert (found.name, found.cue_share) == ("TOOL", 0.5)
    assert entity_type("NS3", ["NS3 was slow."]).name == ""


def test_the_types_are_those_of_the_list():
    assert set(entity_type_names()) == {
        "PERSON", "ORGANIZATION", "CONCEPT", "METHOD", "TECHNOLOGY", "DATASET", "METRIC", "TOOL", "PAPER",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "count", "share", "confidence"),
    [("PRACH", 1, 0.0, 0.2), ("PRACH", 5, 0.0, 0.6), ("PRACH", 50, 1.0, 0.8), ("Random Access Channel", 5, 0.5, 0.9),
     ("随机接入信道", 10, 1.0, 1.0)],
)  # fmt: skip
def test_confidence_by_hand(name, count, share, confidence):
    assert entity_confidence(name, count=count, cue_share=share) == pytest.approx(confidence)
