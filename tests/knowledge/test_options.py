"""Options of sets and sites, and where each value comes from."""

from __future__ import annotations

import pytest

from accounts.errors import NotAllowedError
from knowledge.models import Document, SiteOptions
from knowledge.selectors.options import GROUPS, options_shown, pipeline_options
from knowledge.services.options import set_options_update, site_options_update
from ragcore.errors import InvalidOptionsError
from tests.factories import make_admin, make_set, make_user, scope_of
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


def test_the_first_set_that_configures_a_group_decides_about_a_document():
    owner = make_user()
    plain, first, second = (make_set(owners=[owner]) for _ in range(3))
    set_options_update(scope=scope_of(owner), actor=owner, set_id=first.pk, options={"chunking": {"max_tokens": 300}})
    set_options_update(
        scope=scope_of(owner),
        actor=owner,
        set_id=second.pk,
        options={"chunking": {"max_tokens": 400}, "representations": {"tables": False}},
    )
    document = upload(owner, plain, first, second).document

    options = pipeline_options(documents=[document])[document.pk]

    assert options.chunking.max_tokens == 300
    assert options.representations.tables is False


def test_a_document_that_is_not_cut_overrules_its_sets():
    owner = make_user()
    document = upload(owner, make_set(owners=[owner])).document
    Document.objects.filter(pk=document.pk).update(is_whole=True)
    document.refresh_from_db()

    assert pipeline_options(documents=[document])[document.pk].chunking.split is False
