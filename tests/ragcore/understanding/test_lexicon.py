import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.understanding.lexicon import DataLexicon, term_spans
from tests.ragcore.understanding.stage_ports import tokenizer


@pytest.mark.parametrize(
    ("term", "first"),
    [
        ("CA", "载波聚合"),
        ("ca", "载波聚合"),
        ("载波聚合", "CA"),
        ("carrier aggregation", "载波聚合"),
        ("ＶＰＮ", "虚拟专用网络"),
        ("大规模 MIMO", "大规模天线"),
    ],
)
def test_abbreviations_and_full_forms_lead_to_each_other(term, first):
    assert DataLexicon().alternatives(term)[0] == first


def test_a_name_of_two_things_has_the_alternatives_of_both():
    assert {"carrier aggregation", "certificate authority"} <= set(DataLexicon().alternatives("CA"))


def test_an_unknown_term_has_none():
    assert DataLexicon().alternatives("蓝色沙发") == ()


def test_entries_of_an_organisation_come_first():
    lexicon = DataLexicon([("客户分析", "CA")])

    assert lexicon.alternatives("CA")[:2] == ("客户分析", "载波聚合")


def test_no_name_is_its_own_alternative_and_every_name_leads_back():
    lexicon = DataLexicon()

    for name in ("RSRP", "发票", "standalone", "5G NR", "R&D"):
        others = lexicon.alternatives(name)
        assert others
        assert name not in others
        assert all(name.lower() in {back.lower() for back in lexicon.alternatives(other)} for other in others)


@given(text=st.text(max_size=40))
def test_spans_are_places_of_the_text(text):
    assert all(0 <= start < end <= len(text) for start, end in term_spans(text, tokenizer()))
