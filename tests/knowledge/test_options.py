"""Options of sets and sites, and where each value comes from."""

from __future__ import annotations

import pytest

from accounts.errors import NotAllowedError
from knowledge.models import Document, SiteOptions
from knowledge.selectors.options import GROUPS, options_shown, pipeline_options
from knowledge.services.options import set_options_update, site_options_update
from knowledge.services.reingest import document_rebuild
from ragcore.errors import InvalidOptionsError
from ragcore.options import ChunkingOptions
from tests.factories import make_admin, make_set, make_user, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db


def shown(groups, group, name):
    return next(o for g in groups if g.code == group for o in g.options if o.name == name)


def test_every_option_has_words_for_its_form():
    wanted = {(code, name) for code, group in GROUPS.items() for name in group.__dataclass_fields__}
    groups = options_shown(scope=scope_of(make_admin()), is_lab=True)

    assert {(group.code, option.name) for group in groups for option in group.options if option.label} == wanted
    assert [group.code for group in groups if group.name] == list(GROUPS)


def test_versions_for_comparing_are_options_of_the_lab_and_no_settings():
    admin = make_admin()
    kept = make_set(owners=[admin])
    pinned = {"retrieval": {"query_adapter": 0, "top_k": 5}}

    with pytest.raises(InvalidOptionsError, match="query_adapter"):
        set_options_update(scope=scope_of(admin), actor=admin, set_id=kept.pk, options=pinned)
    with pytest.raises(InvalidOptionsError, match="query_adapter"):
        site_options_update(scope=scope_of(admin), actor=admin, options=pinned)

    names = [
        {option.name for group in options_shown(scope=scope_of(admin), is_lab=is_lab) for option in group.options}
        for is_lab in (True, False)
    ]
    assert names[0] - names[1] == {"query_adapter", "set_embedder", "embedder_switch"}


def test_a_value_says_whether_it_is_the_default_the_sites_or_the_sets_own():
    admin = make_admin()
    kept = make_set(owners=[admin])
    site_options_update(
        scope=scope_of(admin), actor=admin, options={"chunking": {"max_tokens": 600, "min_tokens": 100}}
    )
    set_options_update(scope=scope_of(admin), actor=admin, set_id=kept.pk, options={"chunking": {"max_tokens": 300}})

    groups = options_shown(scope=scope_of(admin), set_id=kept.pk)

    own, inherited, default = (shown(groups, "chunking", n) for n in ("max_tokens", "min_tokens", "overlap"))
    assert (own.value, own.own, own.inherited, own.origin) == (300, 300, 600, f"set {kept.code}")
    assert (inherited.value, inherited.own, inherited.origin) == (100, None, "site")
    assert (default.value, default.own, default.origin) == (0.12, None, "default")
    assert (own.kind, own.low, own.high) == ("int", 64, 8000)


def test_taking_an_own_value_back_inherits_again():
    owner = make_user()
    kept = make_set(owners=[owner])
    set_options_update(scope=scope_of(owner), actor=owner, set_id=kept.pk, options={"chunking": {"max_tokens": 300}})

    changed = set_options_update(
        scope=scope_of(owner), actor=owner, set_id=kept.pk, options={"chunking": {"max_tokens": None}}
    )

    assert changed.options == {}


@pytest.mark.parametrize(
    "options",
    [
        {"chunking": {"max_tokens": 7}},
        {"chunking": {"size": 300}},
        {"cutting": {"max_tokens": 300}},
        {"parsing": {"recognise_pages": 1}},
    ],
)
def test_unknown_or_impossible_options_are_refused_and_change_nothing(options):
    owner = make_user()
    kept = make_set(owners=[owner])

    with pytest.raises(InvalidOptionsError):
        set_options_update(scope=scope_of(owner), actor=owner, set_id=kept.pk, options=options)

    kept.refresh_from_db()
    assert kept.options == {}


def test_only_owners_change_a_set_and_only_administrators_the_site():
    stranger = make_user()
    kept = make_set(owners=[make_user()])

    with pytest.raises(NotAllowedError):
        set_options_update(scope=scope_of(stranger), actor=stranger, set_id=kept.pk, options={})
    with pytest.raises(NotAllowedError):
        site_options_update(scope=scope_of(stranger), actor=stranger, options={"chunking": {"max_tokens": 300}})

    assert not SiteOptions.objects.exists()


def configured_sets(owner):
    """One that inherits everything, and two with options of their own."""
    plain, first, second = (make_set(owners=[owner]) for _ in range(3))
    set_options_update(scope=scope_of(owner), actor=owner, set_id=first.pk, options={"chunking": {"max_tokens": 300}})
    set_options_update(
        scope=scope_of(owner),
        actor=owner,
        set_id=second.pk,
        options={"chunking": {"max_tokens": 400}, "representations": {"tables": False}},
    )
    return plain, first, second


@pytest.mark.parametrize(
    ("order", "max_tokens", "tables"),
    [((1, 2, 0), 300, True), ((2, 1, 0), 400, False), ((0, 1, 2), ChunkingOptions().max_tokens, True)],
)
def test_the_set_that_an_upload_names_first_decides_about_the_document(order, max_tokens, tables):
    owner = make_user()
    sets = configured_sets(owner)
    named = [sets[at] for at in order]
    document = upload(owner, *named).document

    options = pipeline_options(documents=[document])[document.pk]

    assert (options.chunking.max_tokens, options.representations.tables) == (max_tokens, tables)
    assert options.sets == (named[0].pk,)
    upload(owner, *reversed(named))  # the same bytes again: it stays with the set that it is in already
    document.refresh_from_db()
    assert pipeline_options(documents=[document])[document.pk] == options


def test_without_the_set_that_was_named_first_the_first_one_that_configures_a_group_decides():
    owner = make_user()
    plain, first, second = configured_sets(owner)
    document = upload(owner, plain, first, second).document
    document.sets.remove(plain)

    options = pipeline_options(documents=[document])[document.pk]

    assert options.chunking.max_tokens == 300
    assert options.representations.tables is False
    assert options.sets == (first.pk, second.pk)
    upload(owner, second)  # sent again, into a set that leads it from now on
    document.refresh_from_db()
    assert pipeline_options(documents=[document])[document.pk].chunking.max_tokens == 400


def test_a_version_says_whose_options_it_was_made_with_also_when_it_is_made_again():
    owner = make_user()
    _plain, first, second = configured_sets(owner)
    result = upload(owner, second, first)
    run_job(result.job.pk)
    document = Document.objects.get(pk=result.document.pk)
    former = document.live_version
    assert former.pipeline_sets == [second.pk]
    assert former.pipeline == pipeline_options(documents=[document])[document.pk].sha256

    document.sets.remove(second)
    job = document_rebuild(scope=scope_of(owner), actor=owner, document_id=document.pk)
    run_job(job.pk)

    document.refresh_from_db()
    assert document.live_version.pipeline_sets == [first.pk]
    assert document.live_version.pipeline != former.pipeline


def test_a_document_that_is_not_cut_overrules_its_sets():
    owner = make_user()
    document = upload(owner, make_set(owners=[owner])).document
    Document.objects.filter(pk=document.pk).update(is_whole=True)
    document.refresh_from_db()

    assert pipeline_options(documents=[document])[document.pk].chunking.split is False
