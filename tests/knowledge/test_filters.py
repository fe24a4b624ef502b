"""Narrowing a search by sets, tags and attributes: always within one's rights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from knowledge.errors import InvalidFilterError, UnknownFilterError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Attribute, Document, KnowledgeSet
from knowledge.selectors import documents_askable
from knowledge.selectors.filters import SHOWN, filter_choices, filters_check, filters_known
from knowledge.services import retrieve
from knowledge.services.filters import filters_count
from knowledge.services.registration import source_ensure
from knowledge.types import Filters, RetrievalRequest
from tests.factories import ingest, make_set, make_tenant, make_user, numbers, scope_of
from tests.forms_plugin import examples

pytestmark = pytest.mark.django_db


def make_document(*sets: KnowledgeSet, **fields: Any) -> Document:
    """A live document without a text: filters look at rows only."""
    tenant_id = sets[0].tenant_id
    key = f"d{next(numbers)}"
    made = Document.objects.create(
        tenant_id=tenant_id,
        source=source_ensure(tenant_id=tenant_id, name="uploads"),
        external_id=key,
        title=key,
        sha256="0" * 64,
        state="live",
        **fields,
    )
    made.sets.set(sets)
    return made


def found(user: User, **filters: Any) -> set[int]:
    rows = documents_askable(scope=scope_of(user), filters=Filters(**filters))
    return set(rows.values_list("pk", flat=True))


# ── the law: what is found is what an oracle finds in the same documents ────────────────────────

TEXTS = st.sampled_from(
    ["16", "17", "17.5", "-3", "BTS", "2024-01-31", "2024-01-31T10:00", "2024-02-01（草案）", "", "中"]
)
SCALARS = st.one_of(TEXTS, st.integers(-3, 20), st.sampled_from([16.0, 17.5, -2.5]), st.booleans())
NAMES = st.sampled_from(["release", "5", "a.b", "q\"uo'te", "版本", "$x", "-> 0"])
METADATA = st.dictionaries(
    NAMES, st.one_of(SCALARS, st.none(), st.lists(SCALARS, max_size=3), st.just({"gte": 1})), max_size=4
)
NUMBER_RANGES = st.dictionaries(
    st.sampled_from(["gte", "gt", "lte", "lt"]), st.one_of(st.integers(-4, 20), st.just(17.5)), min_size=1, max_size=2
)
DAY_RANGES = st.dictionaries(
    st.sampled_from(["gte", "gt", "lte", "lt"]),
    st.sampled_from(["2024-01-30", "2024-01-31", "2024-02-01"]),
    min_size=1,
    max_size=2,
)
WANTED = st.dictionaries(
    NAMES,
    st.one_of(SCALARS, st.lists(SCALARS, min_size=1, max_size=3), NUMBER_RANGES, DAY_RANGES),
    min_size=1,
    max_size=2,
)
TAGS = st.lists(st.sampled_from(["5G", "4G", "核心网"]), max_size=2, unique=True)


def same(a: Any, b: Any) -> bool:
    """JSON's idea: true is no number, "16" is not 16."""
    return isinstance(a, bool) == isinstance(b, bool) and isinstance(a, str) == isinstance(b, str) and a == b


def number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def day(value: Any) -> str | None:
    match = re.match(r"\d{4}-\d{2}-\d{2}", value) if isinstance(value, str) else None
    return match[0] if match else None


def lies_between(value: Any, bounds: Mapping[str, Any]) -> bool:
    is_day = any(isinstance(bound, str) for bound in bounds.values())
    one = day(value) if is_day else number(value)
    tests = {
        "gte": lambda a, b: a >= b,
        "gt": lambda a, b: a > b,
        "lte": lambda a, b: a <= b,
        "lt": lambda a, b: a < b,
    }
    return one is not None and all(tests[sign](one, bound) for sign, bound in bounds.items())


def fits(metadata: Mapping[str, Any], name: str, wanted: Any) -> bool:
    if name not in metadata:
        return False
    held = metadata[name] if isinstance(metadata[name], list) else [metadata[name]]
    if isinstance(wanted, dict):
        return any(lies_between(value, wanted) for value in held)
    values = wanted if isinstance(wanted, list) else [wanted]
    return any(same(one, value) for one in held for value in values)


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    documents=st.lists(st.tuples(METADATA, TAGS), min_size=1, max_size=6), wanted=WANTED, tags=TAGS, plain=st.booleans()
)
def test_a_filter_finds_what_an_oracle_finds(owner, common, documents, wanted, tags, plain):
    Document.objects.all().delete()
    rows = [make_document(common, metadata=metadata, tags=own) for metadata, own in documents]

    wanted = {} if plain else wanted
    expected = {
        row.pk
        for row in rows
        if (not tags or set(tags) & set(row.tags))
        and all(fits(row.metadata, name, value) for name, value in wanted.items())
    }

    assert found(owner, tags=tuple(tags), metadata=wanted) == expected


def test_a_last_day_is_a_whole_day(owner, common):
    row = make_document(common, metadata={"approved": "2024-12-31T23:59:59+08:00"})

    assert found(owner, metadata={"approved": {"lte": "2024-12-31"}}) == {row.pk}
    assert found(owner, metadata={"approved": {"gt": "2024-12-31"}}) == set()
    assert found(owner, metadata={"approved": {"gte": date(2024, 12, 31).isoformat()}}) == {row.pk}


@pytest.mark.every_row
@pytest.mark.parametrize(
    "hostile",
    [
        "'; DROP TABLE knowledge_document; --",
        "%s",
        "%(v0)s",
        "%",
        "{0}",
        '"} || true',
        '") || exists($',
        "$.*",
        "\\",
        "\u0027",
    ],
)
def test_names_and_values_are_data_and_never_commands(owner, common, hostile):
    mine = make_document(common, metadata={hostile: hostile, "n": 5}, tags=[hostile[:64]])
    make_document(common, metadata={"other": "x"}, tags=["y"])

    assert found(owner, metadata={hostile: hostile}) == {mine.pk}
    assert found(owner, metadata={hostile: [hostile, "z"]}) == {mine.pk}
    assert found(owner, metadata={hostile: {"gte": 1}}) == set()
    assert found(owner, tags=(hostile,)) == {mine.pk}
    filters = Filters(metadata={hostile: {"gte": 1}, "n": {"lt": 9}}, tags=(hostile,))
    assert filters_count(scope=scope_of(owner), sets=(), filters=filters).documents == 0
    assert found(owner, metadata={"n": {"lt": 9}}) == {mine.pk}


def test_what_cannot_be_understood_is_an_error_even_behind_the_door(owner):
    with pytest.raises(InvalidFilterError) as raised:
        found(owner, metadata={"year": {"between": [1, 2]}})

    assert "unknown operator 'between'" in raised.value.data["fault"]


# ── codes ───────────────────────────────────────────────────────────────────────────────────────


def test_a_code_that_no_set_has_on_this_axis_is_refused(owner):
    make_set("bts", axis="Y", owners=[owner])

    for filters in (Filters(capability=("bts",)), Filters(organisation=("bts", "nothing"))):
        with pytest.raises(UnknownFilterError):
            filters_check(scope=scope_of(owner), filters=filters)
    filters_check(scope=scope_of(owner), filters=Filters(organisation=("bts",)))


def test_a_closed_set_is_no_error_and_holds_nothing(owner):
    stranger = make_user()
    closed = make_set("secret", axis="X", owners=[owner], visibility="members")
    ingest(owner, closed, plan="The plan of the year.")

    counted = filters_count(scope=scope_of(stranger), sets=(), filters=Filters(capability=("secret",)))

    assert (counted.documents, counted.passages) == (0, 0)
    assert [warning.code for warning in counted.warnings] == ["no_match"]


def test_codes_of_another_tenant_are_unknown():
    make_set("theirs", axis="X", owners=[make_user(tenant=make_tenant())])

    with pytest.raises(UnknownFilterError):
        filters_check(scope=scope_of(make_user()), filters=Filters(capability=("theirs",)))


def test_kept_filters_lose_codes_of_sets_that_are_gone(owner):
    make_set("bts", axis="Y", owners=[owner])
    kept = Filters(axis="Y", organisation=("bts", "gone"), capability=("gone",), tags=("5G",), metadata={"a": 1})

    assert filters_known(scope=scope_of(owner), filters=kept) == Filters(
        axis="Y", organisation=("bts",), tags=("5G",), metadata={"a": 1}
    )


# ── how much is left, and why nothing ───────────────────────────────────────────────────────────


def test_documents_and_passages_that_a_filter_leaves_are_counted(owner, common):
    rows = ingest(owner, common, a="Alpha goes first.", b="Beta goes second.")
    Document.objects.filter(pk=rows["a"].pk).update(tags=["5G"])

    counted = filters_count(scope=scope_of(owner), sets=(common.pk,), filters=Filters(tags=("5G",)))

    assert (counted.documents, counted.passages, counted.warnings) == (1, 1, ())


def test_two_long_filters_that_begin_alike_are_counted_apart(owner, common):
    rows = ingest(owner, common, a="Alpha goes first.", b="Beta goes second.")
    long = "a text that is much longer than what the driver shows of it "
    Document.objects.filter(pk=rows["a"].pk).update(metadata={"x": f"{long}1"})

    counted = [
        filters_count(scope=scope_of(owner), sets=(), filters=Filters(metadata={"x": f"{long}{end}"})).passages
        for end in (1, 2)
    ]

    assert counted == [1, 0]


def test_a_search_says_why_its_filters_left_nothing(owner, common):
    ingest(owner, common, a="Alpha goes first.")
    filters = Filters(tags=("6G",), metadata={"relaese": "17"})

    result = retrieve(scope=scope_of(owner), request=RetrievalRequest(query="alpha", filters=filters))

    assert result.state.candidates == ()
    assert [(warning.code, warning.field) for warning in result.warnings] == [
        ("no_match", "filters"),
        ("unknown_attribute", "filters.metadata.relaese"),
        ("unknown_tag", "filters.tags"),
    ]


def test_an_attribute_of_closed_documents_counts_as_unknown(owner):
    closed = make_set("closed", owners=[owner], visibility="members")
    make_document(closed, metadata={"codename": "x"})
    filters = Filters(metadata={"codename": "x"})

    theirs, own = (filters_count(scope=scope_of(who), sets=(), filters=filters) for who in (make_user(), owner))

    assert [warning.code for warning in theirs.warnings] == ["no_match", "unknown_attribute"]
    assert own.documents == 1


def test_a_search_whose_filters_left_something_warns_of_nothing(owner, common):
    rows = ingest(owner, common, a="Alpha goes first.")
    Document.objects.filter(pk=rows["a"].pk).update(tags=["5G"])

    result = retrieve(scope=scope_of(owner), request=RetrievalRequest(query="alpha", filters=Filters(tags=("5G",))))

    assert (len(result.state.candidates), result.warnings) == (1, ())


# ── what can be chosen ──────────────────────────────────────────────────────────────────────────


def plain(user: User, words: str = "") -> dict[str, Any]:
    """The choices as plain values."""
    choices = filter_choices(scope=scope_of(user), words=words)
    return {
        "sets": {one.code: one.documents for axis in choices.axes for one in axis.sets},
        "tags": {one.value: one.documents for one in choices.tags.values},
        "attributes": {
            one.name: {str(value.value): value.documents for value in one.values.values}
            for one in choices.attributes.attributes
        },
    }


def test_tags_and_values_are_counted_by_document(owner, common):
    make_document(common, tags=["5G", "core"], metadata={"release": ["16", "17"], "year": 2023})
    make_document(common, tags=["5G"], metadata={"release": "17", "note": None, "deep": {"a": 1}})

    assert plain(owner) == {
        "sets": {common.code: 2},
        "tags": {"5G": 2, "core": 1},
        "attributes": {"release": {"17": 2, "16": 1}, "year": {"2023": 1}},
    }


def test_values_keep_their_kind_so_that_they_can_be_asked_for(owner, common):
    make_document(common, metadata={"a": 17, "b": "17", "c": True, "d": "2024-01-31", "e": "2024-01-31T10:00"})
    make_document(common, metadata={"a": "soon"})

    facets = {one.name: one for one in filter_choices(scope=scope_of(owner)).attributes.attributes}

    assert {name: one.kind for name, one in facets.items()} == {
        "a": "text",
        "b": "number",
        "c": "text",
        "d": "day",
        "e": "day",
    }
    for name in "abcde":
        for value in facets[name].values.values:
            assert len(found(owner, metadata={name: value.value})) == value.documents


def test_only_the_most_frequent_are_listed_and_the_others_counted_and_found_by_words(owner, common):
    for place in range(SHOWN + 3):
        make_document(common, tags=[f"tag {place:02}", "every"], metadata={"n": f"value {place:02}"})

    choices = filter_choices(scope=scope_of(owner))

    assert (choices.tags.values[0].value, len(choices.tags.values), choices.tags.more) == ("every", SHOWN, 4)
    (facet,) = choices.attributes.attributes
    assert (len(facet.values.values), facet.values.more, facet.documents) == (SHOWN, 3, SHOWN + 3)
    assert plain(owner, "E 5")["attributes"] == {"n": {"value 50": 1, "value 51": 1, "value 52": 1}}
    assert plain(owner, "G 5")["tags"] == {"tag 50": 1, "tag 51": 1, "tag 52": 1}


def test_more_attributes_than_are_listed_are_counted(owner, common):
    make_document(common, metadata={f"n{place:02}": 1 for place in range(SHOWN + 2)})

    assert filter_choices(scope=scope_of(owner)).attributes.more == 2


def test_of_very_many_documents_the_newest_are_counted_and_that_is_told(owner, common, monkeypatch):
    monkeypatch.setattr("knowledge.selectors.filters.COUNTED", 2)
    for name in ("old", "newer", "newest"):
        make_document(common, tags=[name])

    choices = filter_choices(scope=scope_of(owner))

    assert (choices.counted, choices.is_sample) == (2, True)
    assert {one.value for one in choices.tags.values} == {"newer", "newest"}


def test_choices_follow_the_corpus(owner, common):
    make_document(common, tags=["old"])
    assert plain(owner)["tags"] == {"old": 1}

    make_document(common, tags=["new"])
    epoch_advance(tenant_id=common.tenant_id)

    assert plain(owner)["tags"] == {"old": 1, "new": 1}


def test_attributes_are_named_in_the_language_of_the_reader(owner, common):
    Attribute.objects.create(tenant=common.tenant, code="release", name="Release", name_zh="版本")
    make_document(common, metadata={"release": "17"})

    assert filter_choices(scope=scope_of(owner)).names == {"release": "Release"}


RIGHTS = st.fixed_dictionaries({"clearance": st.integers(0, 4), "member": st.booleans(), "abroad": st.booleans()})
SECRETS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["open", "closed", "both", "foreign"])), max_size=6)


@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rights=RIGHTS, secrets=SECRETS, deleted=st.booleans())
def test_nothing_leaks_whatever_the_rights(owner, rights, secrets, deleted):
    foreign = make_tenant()
    reader = make_user(clearance=rights["clearance"], **({"tenant": foreign} if rights["abroad"] else {}))
    members = [reader] if rights["member"] and not rights["abroad"] else []
    sets = {
        "open": make_set(owners=[owner]),
        "closed": make_set(owners=[owner], members=members, visibility="members", axis="X"),
        "foreign": make_set(owners=[make_user(tenant=foreign)]),
    }
    own = "foreign" if rights["abroad"] else "open"
    readable = {own} | ({"closed"} if members else set())
    expected: dict[str, int] = {}
    for place, (clearance, where) in enumerate(secrets):
        inside = ["open", "closed"] if where == "both" else [where]
        row = make_document(
            *(sets[name] for name in inside), clearance=clearance, tags=[f"t{place}"], metadata={f"a{place}": place}
        )
        if deleted and place == 0:
            Document.objects.filter(pk=row.pk).update(deleted="2024-01-01T00:00Z", state="deleted")
        elif clearance <= rights["clearance"] and readable & set(inside):
            expected[f"t{place}"] = 1

    got = plain(reader)
    codes = {sets[name].code for name in readable}

    assert {tag: count for tag, count in got["tags"].items() if tag in {f"t{p}" for p in range(6)}} == expected
    assert set(got["attributes"]) == {name.replace("t", "a") for name in expected}
    assert {code for code in got["sets"] if code in {one.code for one in sets.values()}} <= codes
    Document.objects.all().delete()
    for one in sets.values():
        epoch_advance(tenant_id=one.tenant_id)


def test_json_in_the_rights_of_a_search_is_told_in_full(owner):
    long = {"x": "y" * 500}

    visible = visible_sql(documents_askable(scope=scope_of(owner), filters=Filters(metadata=long)))

    assert "y" * 500 in repr(visible.params)
