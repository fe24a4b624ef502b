"""Typos, profiles, styles, titles and several questions at once, through the real search."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge import model_registry
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, IndexEntry
from knowledge.services import retrieve
from knowledge.services.retrieval import forms_of, retrieve_many
from knowledge.types import RetrievalRequest
from ragcore.types import Profile
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.forms_plugin import examples
from tests.knowledge.owned_rows import owned

ENGLISH = {
    "preamble": "Random access begins with a preamble that the terminal transmits on a shared channel.",
    "handover": "During handover the source cell forwards buffered packets to the neighbouring cell.",
    "aggregation": "Carrier aggregation combines several component carriers to raise throughput.",
    "scheduler": "The scheduler distributes resource blocks according to channel quality reports.",
    "paging": "Paging wakes sleeping devices when downlink traffic arrives for them.",
    "timing": "Timing advance compensates the propagation delay between terminal and antenna.",
}
CHINESE = {
    "zh-access": "终端发送前导码之后，在窗口内等待随机接入响应消息。",
    "zh-handover": "切换过程中，源小区把缓存的数据包转发给目标小区。",
    "zh-power": "上行功率控制根据路径损耗调整终端的发射功率。",
    "zh-paging": "寻呼消息用于唤醒处于空闲状态的设备。",
}


def search(user, query, *, limited_by=None, **request):
    scope = scope_of(user).limited_to(scope_of(limited_by or user))
    return retrieve(scope=scope, request=RetrievalRequest(query=query, **request))


def names(result):
    return [c.passage.external_id for c in result.state.candidates]


def note(result, stage):
    return next(record.note for record in result.state.records if record.stage == stage)


def corpus_make(owner, common):
    return ingest(owner, common, **ENGLISH, **CHINESE)


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(corpus_make))]


@pytest.fixture
def corpus(kept_rows):
    return kept_rows[2]


# ── with errors ───────────────────────────────────────────────────────────────────────────


def misspelt(word, pick):
    """The word with two neighbours swapped, a letter doubled, lost or replaced; its first letter stays."""
    at = pick.randrange(1, len(word) - 1)
    return {
        "swapped": word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        "doubled": word[:at] + word[at] + word[at:],
        "lost": word[:at] + word[at + 1 :],
        "replaced": word[:at] + "x" + word[at + 1 :],
    }[pick.choice(["swapped", "doubled", "lost", "replaced"])]


@pytest.mark.usefixtures("corpus")
def test_misspelt_english_words_find_their_passages(owner):
    pick = random.Random(1)
    words = {"preamble": "preamble", "neighbouring": "handover", "throughput": "aggregation", "resource": "scheduler"}
    words |= {"sleeping": "paging", "propagation": "timing", "antenna": "timing", "component": "aggregation"}
    typos = [(misspelt(word, pick), passage) for word, passage in words.items() for _ in range(3)]

    with_help = [names(search(owner, typo, mode="bm25"))[:1] == [passage] for typo, passage in typos]
    without = [bool(names(search(owner, typo, mode="bm25", options={"fuzzy": False}))) for typo, _ in typos]

    assert sum(with_help) >= 0.85 * len(typos)
    assert sum(without) < 0.2 * len(typos)


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("随机接人响应", "zh-access"),
        ("路经损耗", "zh-power"),
        ("唤腥设备", "zh-paging"),
        ("缓存的数距包", "zh-handover"),
    ],
)
def test_one_wrong_chinese_character_does_not_lose_the_passage(owner, question, passage):
    assert names(search(owner, question, mode="bm25"))[0] == passage


@pytest.mark.usefixtures("corpus")
def test_a_correction_counts_less_than_the_word_itself(owner):
    right, wrong = (search(owner, f"{word} random", mode="bm25").state for word in ("preamble", "premable"))

    assert wrong.query.corrections["premabl"].keys() == {"preambl"}
    assert wrong.query.weights["preambl"] < right.query.weights["preambl"]
    assert wrong.candidates[0].scores["lexical"] < right.candidates[0].scores["lexical"]


def test_the_trace_never_tells_a_word_of_a_hidden_passage(owner, common):
    ingest(owner, common, open=ENGLISH["preamble"])
    ingest(owner, common, clearance=3, secret="The codename is Zanzibar.")

    seen = [search(user, "zanzibra", mode="bm25") for user in (make_user(clearance=0), make_user(clearance=4))]

    assert [result.state.query.corrections for result in seen] == [{}, {"zanzibra": {"zanzibar": 0.875}}]
    assert "zanzibar" not in repr(seen[0].state.records)


@pytest.mark.usefixtures("corpus")
def test_a_question_without_an_unknown_word_costs_one_look_up(owner, django_assert_num_queries):
    from knowledge.backends.postgres import ScopedFuzzyIndex
    from knowledge.indexes.visibility import visible_sql
    from knowledge.selectors import documents_askable
    from knowledge.wiring import query_of
    from ragcore.retrieval.stages.search import CorrectTerms
    from ragcore.types import State
    from tests.ragcore.states import ports

    scope = scope_of(owner)
    index = ScopedFuzzyIndex(scope, visible_sql(documents_askable(scope=scope)))
    state = State(query=query_of("random access preamble"))

    with django_assert_num_queries(3):  # with its savepoint
        CorrectTerms()(state, ports(fuzzy=index, tokenizer=model_registry.tokenizer()))


def test_a_misspelt_title_that_no_word_explains_brings_its_document(owner, common):
    document = ingest(owner, common, manual="Volts and amperes.", other="Litres and metres.")["manual"]
    Document.objects.filter(pk=document.pk).update(title="基站电源操作手册")

    result = search(owner, "基占电源操作手册")

    assert names(result)[0] == "manual"
    best = result.state.candidates[0]
    assert best.detail["boost"]["why"] == ["title"]
    assert best.scores["title"] > 0.3
    assert 1 < best.detail["boost"]["factor"] <= 1.2


# ── weights by style and language ──────────────────────────────────────────────────────


@pytest.mark.usefixtures("corpus")
def test_a_precise_answer_is_searched_by_meaning_up_to_the_trust_in_the_embedder(owner):
    fused = note(search(owner, "random access", style="precise"), "fuse.rsf")

    assert (fused["formula"], fused["by"], fused["style"]) == (0.8, "style", "precise")
    assert fused["alpha"] == min(0.8, model_registry.embedder().trust(0.0))


@pytest.mark.usefixtures("corpus")
def test_a_set_that_is_asked_alone_has_weights_of_its_own(owner, common):
    common.options = {"retrieval": {"vector_weight": 0.2}}
    common.save()

    alone = note(search(owner, "random access", sets=(common.pk,)), "fuse.rsf")
    everywhere = note(search(owner, "random access"), "fuse.rsf")

    assert (alone["alpha"], everywhere["by"]) == (0.2, "formula")


def test_words_in_the_title_lift_a_passage(owner, common):
    documents = ingest(owner, common, a="Voltage of the rectifier.", b="Voltage of the rectifier and more.")

    plain = search(owner, "rectifier voltage", rerank=False)
    Document.objects.filter(pk=documents["b"].pk).update(title="Rectifier")
    epoch_advance(tenant_id=owner.tenant_id)
    titled = search(owner, "rectifier voltage", rerank=False)

    gain = [
        {c.passage.external_id: c.scores["fuse.rsf"] for c in result.state.candidates} for result in (plain, titled)
    ]
    assert gain[1]["b"] - gain[0]["b"] > gain[1]["a"] - gain[0]["a"]


# ── profile ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def products(owner, common):
    """Two passages that are the same but for the product they belong to."""
    documents = ingest(owner, common, alpha="The fan of the unit turns.", beta="The fan of a unit turns.")
    for name, document in documents.items():
        Document.objects.filter(pk=document.pk).update(metadata={"product": name}, title="Fan")
    return documents


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("product", ["alpha", "beta"])
def test_passages_of_ones_product_come_a_little_earlier(owner, product):
    options = {"deduplicate": False}

    result = search(owner, "fan of the unit", profile=Profile(product=product), rerank=False, options=options)

    assert names(result)[0] == product
    best = result.state.candidates[0]
    assert best.detail["boost"]["why"] == [f"product: {product}"]
    assert best.scores["fuse.rsf"] == pytest.approx(best.detail["boost"]["raw"] * best.detail["boost"]["factor"], 1e-3)
    assert note(result, "boost.profile")["matched"] == {f"product: {product}": 1}


@pytest.mark.usefixtures("products")
def test_the_profile_can_be_switched_off_for_a_set(owner, common):
    common.options = {"retrieval": {"profile": False}}
    common.save()

    result = search(owner, "fan of the unit", profile=Profile(product="beta"), sets=(common.pk,))

    assert all("boost" not in c.detail for c in result.state.candidates)
    assert "boost.profile" not in [record.stage for record in result.state.records]


@pytest.mark.usefixtures("products")
def test_without_a_profile_nothing_is_boosted(owner):
    plain = search(owner, "fan of the unit")
    nobody = search(owner, "fan of the unit", profile=Profile(product="gamma"))

    assert [c.scores for c in plain.state.candidates] == [c.scores for c in nobody.state.candidates]


def test_a_profile_never_shows_more_than_the_rights_allow(owner, common):
    closed = make_set("closed", owners=[owner], visibility="members", axis="Y")
    documents = ingest(owner, common, open="The fan turns.") | ingest(owner, closed, secret="The fan turns fast.")
    documents["open"].sets.add(closed)
    profile = Profile(department="closed", recent_sets=(closed.pk,))

    result = search(make_user(), "fan", profile=profile)

    assert names(result) == ["open"]
    assert "boost" not in result.state.candidates[0].detail


# ── representations ────────────────────────────────────────────────────────────────────────


def test_a_passage_counts_once_however_many_entries_it_has(owner, common):
    ingest(owner, common, a="The fan turns quickly.", b="The fan turns slowly.", c="The fan stands still.")
    first = IndexEntry.objects.get(version__document__external_id="a")
    for _ in range(4):
        IndexEntry.objects.filter(pk=first.pk).update(representation="question")
        IndexEntry.objects.bulk_create([copied(first)])

    result = search(owner, "fan turns", rerank=False, options={"deduplicate": False})

    assert sorted(names(result)) == ["a", "b", "c"]
    assert {c.passage.external_id for c in result.state.candidates if "dense" in c.scores} == {"a", "b", "c"}


def copied(entry):
    """An unsaved copy of an index entry, as its body."""
    values = {f.attname: getattr(entry, f.attname) for f in IndexEntry._meta.fields if f.name not in ("id",)}
    return IndexEntry(**{**values, "representation": "body"})


def test_the_kind_of_entry_that_was_hit_is_told(owner, common):
    ingest(owner, common, a="The fan turns quickly.", b="A pump stands still.")
    IndexEntry.objects.filter(version__document__external_id="a").update(representation="question")

    found = {c.passage.external_id: c for c in search(owner, "fan turns").state.candidates}

    assert found["a"].detail["via"]["lexical"] == "question"
    assert "via" not in found["b"].detail


# ── several questions ──────────────────────────────────────────────────────────────────────

QUESTIONS = ["random access preamble", "随机接入响应", "premable", "handover packets", "zzzz", "?!"]


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("mode", ["hybrid", "vector", "bm25"])
def test_many_questions_find_what_each_finds_alone(owner, mode):
    request = RetrievalRequest(query="", mode=mode)
    together = retrieve_many(scope=scope_of(owner), request=request, queries=QUESTIONS)

    for question, result in zip(QUESTIONS, together, strict=True):
        alone = search(owner, question, mode=mode)
        assert names(result) == names(alone), question
        assert result.relevant == alone.relevant
        assert result.state.query.text == question


@pytest.mark.usefixtures("corpus")
def test_an_advanced_answer_asks_in_several_forms_and_gives_each_a_place(owner):
    result = search(owner, "What happens with the premable in random access?", style="advanced", top_k=6)

    merged = note(result, "merge.queries")
    assert len(merged["queries"]) == 3
    assert merged["queries"][1] == "happens premable random access"
    assert "preambl" in merged["queries"][2]
    assert merged["places"] == 2
    chunks = [c.chunk for c in result.state.candidates]
    assert len(set(chunks)) == len(chunks) <= 6
    assert names(result)[0] == "preamble"
    assert all(set(c.detail["queries"]) <= {0, 1, 2} for c in result.state.candidates)


@pytest.mark.usefixtures("corpus")
def test_an_abbreviation_that_is_written_out_takes_no_form_from_an_advanced_answer(owner):
    request = RetrievalRequest(
        query="What happens in RA?", forms=("What happens in random access?",), style="advanced", top_k=6
    )

    result = retrieve(scope=scope_of(owner), request=request)

    assert note(result, "merge.queries")["queries"] == [
        "What happens in RA?",
        "What happens in random access?",
        "happens ra",
    ]


@pytest.mark.usefixtures("corpus")
def test_an_advanced_question_of_topic_words_only_is_asked_once(owner):
    result = search(owner, "random access preamble", style="advanced")

    assert forms_of("random access preamble") == ["random access preamble"]
    assert "merge.queries" not in [record.stage for record in result.state.records]


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("style", ["simple", "report", ""])
def test_other_styles_are_plain(owner, style):
    plain, styled = search(owner, "What is random access?"), search(owner, "What is random access?", style=style)

    assert [c.scores for c in plain.state.candidates] == [c.scores for c in styled.state.candidates]


# ── the rights of two people ───────────────────────────────────────────────────────────────


@pytest.fixture
def worlds(owner, common):
    """Passages about fans: open, above clearance 2, of a set of one's, of a set of the other's."""
    one, other = make_user("one", clearance=4), make_user("other", clearance=1)
    mine = make_set("mine", owners=[owner], members=[one], visibility="members")
    theirs = make_set("theirs", owners=[owner], members=[other], visibility="members")
    ingest(owner, common, open="The fan turns.")
    ingest(owner, common, clearance=2, high="The fan turns fast.")
    ingest(owner, mine, mine="The fan turns left.")
    ingest(owner, theirs, theirs="The fan turns right.")
    return one, other


@pytest.mark.parametrize("mode", ["hybrid", "vector", "bm25"])
def test_with_a_second_person_only_what_both_may_see_is_found(worlds, mode):
    one, other = worlds
    options = {"deduplicate": False}

    assert set(names(search(one, "fan turns", mode=mode, options=options))) == {"open", "high", "mine"}
    assert set(names(search(other, "fan turns", mode=mode, options=options))) == {"open", "theirs"}
    for first, second in ((one, other), (other, one)):
        both = search(first, "fan turns", limited_by=second, mode=mode, options=options)
        assert names(both) == ["open"]
        assert both.searched == 1


def test_people_of_two_tenants_have_nothing_in_common(worlds):
    stranger = make_user(tenant=make_tenant())

    assert names(search(worlds[0], "fan turns", limited_by=stranger)) == []
    assert names(search(stranger, "fan turns", limited_by=worlds[0])) == []


def test_misspelt_words_do_not_lead_around_the_second_persons_rights(owner, common):
    low = make_user(clearance=0)
    ingest(owner, common, clearance=3, secret="The codename is Zanzibar.")

    assert search(owner, "zanzibra", mode="bm25").state.query.corrections
    assert search(owner, "zanzibra", mode="bm25", limited_by=low).state.query.corrections == {}


# ── odd questions ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("corpus")
@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), min_size=1, max_size=60))
def test_whatever_is_asked_is_answered(owner, text):
    request = RetrievalRequest(query=text, style="advanced", profile=Profile(product=text, interests=(text,)))

    result = retrieve(scope=scope_of(owner), request=request)

    assert all(record.error is None for record in result.state.records)
