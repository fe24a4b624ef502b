"""What the asker works on."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.retrieval.stages.fusion import BoostProfile, FuseRsf
from ragcore.types import DocumentFacts, Profile
from tests.ragcore.states import ports, state_with

words = st.sampled_from(["", "RAN", "BTS 3900", "test", "测试", "载波聚合", "5G", "handover", "x"])
profiles = st.builds(
    Profile,
    department=words,
    product=words,
    role=words,
    interests=st.lists(words, max_size=6).map(tuple),
    recent_sets=st.lists(st.integers(1, 4), max_size=3).map(tuple),
)
kinds = st.sampled_from(["axis 1", "axis X", "axis Y", "tag", "product", "Product_Line", "topic", "department"])
facts = st.builds(
    DocumentFacts,
    sets=st.lists(st.integers(1, 4), max_size=3).map(tuple),
    values=st.dictionaries(kinds, st.lists(words, max_size=3).map(tuple), max_size=5),
)


class Facts:
    """Facts of documents as a table."""

    def __init__(self, table):
        self.table = table

    def documents(self, documents):
        return {document: self.table[document] for document in documents if document in self.table}

    def heads(self, chunks):
        return {}


def asked(text="How does it work?", profile=None, **arms):
    state = state_with(**(arms or {"dense": {1: 0.9, 2: 0.85}}))
    return replace(state, query=replace(state.query, text=text, profile=profile))


def boosted(profile, table, text="How does it work?", **options):
    return BoostProfile(**options)(asked(text, profile), ports(facts=Facts(table)))


def of(**values):
    return DocumentFacts(values={kind.replace("_", " "): (value,) for kind, value in values.items()})


@pytest.mark.parametrize(
    ("profile", "fact", "reason"),
    [
        (Profile(department="RAN"), of(axis_Y="ran"), "department: RAN"),
        (Profile(department="RAN"), of(department="RAN Munich"), "department: RAN"),
        (Profile(product="ＢＴＳ-3900"), of(product="BTS 3900"), "product: ＢＴＳ-3900"),
        (Profile(role="test engineer"), of(axis_X="Test"), "role: test engineer"),
        (Profile(interests=("载波聚合",)), of(tag="载波聚合"), "interest: 载波聚合"),
        (Profile(recent_sets=(7,)), DocumentFacts(sets=(7, 8)), "recent set"),
    ],
)
def test_a_fact_that_the_profile_names_lifts_its_document_and_says_why(profile, fact, reason):
    state = boosted(profile, {1: of(tag="other"), 2: fact})

    assert list(state.boosts) == [2]
    assert 1 < state.boosts[2] <= 1.15
    assert state.reasons == {2: (reason,)}
    assert state.pending_note["matched"] == {reason: 1}


@pytest.mark.parametrize("fact", [of(tag="RANDOM"), of(author="RAN"), of(topic="RAN"), of(tag="R"), of(tag="")])
def test_parts_of_words_and_other_attributes_mean_nothing(fact):
    assert boosted(Profile(department="RAN"), {1: fact}).boosts == {}


def test_more_in_common_is_a_larger_boost_up_to_its_bound():
    table = {
        1: of(axis_Y="RAN"),
        2: replace(of(axis_Y="RAN", product="BTS", axis_X="test", tag="beam", topic="power"), sets=(3,)),
    }
    profile = Profile(department="RAN", product="BTS", role="test", interests=("beam", "power"), recent_sets=(3,))

    state = boosted(profile, table)

    assert state.boosts[1] < state.boosts[2] == pytest.approx(1.15)


@given(profile=profiles, table=st.dictionaries(st.integers(1, 2), facts), text=words, boost=st.floats(0, 0.5))
def test_boosts_and_shift_stay_within_their_bounds_for_any_profile(profile, table, text, boost):
    state = boosted(profile, table, text, boost=boost)

    assert all(1 <= factor <= 1 + boost + 1e-9 for factor in state.boosts.values())
    assert -0.1 <= state.alpha_shift <= 0.1
    assert set(state.reasons) == set(state.boosts)


@given(table=st.dictionaries(st.integers(1, 2), facts))
def test_without_a_profile_the_ranking_is_the_same(table):
    state = asked(dense={1: 0.9, 2: 0.85}, lexical={2: 4.0})
    given_ports = ports(facts=Facts(table))

    through = FuseRsf()(BoostProfile()(state, given_ports), given_ports)

    assert through.candidates == FuseRsf()(state, given_ports).candidates


@pytest.mark.parametrize(
    ("profile", "text", "shift"),
    [
        (Profile(product="BTS"), "What is the power of the BTS?", -0.05),
        (Profile(product="BTS", interests=("power",)), "What is the power of the BTS?", -0.1),
        (Profile(interests=("handover",)), "How warm is the cabinet?", 0.05),
        (Profile(interests=("handover",), department="cabinet"), "How warm is the cabinet?", 0.0),
        (Profile(department="RAN"), "How warm is the cabinet?", 0.0),
        (Profile(interests=("载波聚合",)), "载波聚合怎么配置", -0.05),
    ],
)
def test_who_uses_the_words_of_a_field_is_searched_by_words_and_who_does_not_by_meaning(profile, text, shift):
    assert boosted(profile, {}, text).alpha_shift == pytest.approx(shift)


def test_documents_of_either_arm_are_looked_at_once():
    class Counting(Facts):
        def documents(self, documents):
            self.asked = documents
            return {}

    found = Counting({})
    state = asked(profile=Profile(product="BTS"), dense={1: 0.9, 2: 0.8, 3: 0.7}, lexical={3: 9.0, 4: 8.0, 5: 7.0})

    BoostProfile(each=2)(state, ports(facts=found))

    assert found.asked == [1, 2, 3, 4]
