"""The lexicon: editing, publishing without a gap, and what searches make of it."""

import pytest
from django.db import OperationalError

from accounts.errors import MissingRightError, NameTakenError, NotAllowedError, NotFoundError
from accounts.selectors import scope_for
from knowledge.indexes.statements import fetch
from knowledge.jobs import build_lexicon
from knowledge.jobs.build_lexicon import BuildLexicon
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconChange, LexiconTerm, LexiconVersion
from knowledge.selectors.lexicon import lexicon_of_person
from knowledge.services import retrieve
from knowledge.services.lexicon import (
    change_undo,
    lexicon_publish,
    lexicon_publish_cancel,
    lexicon_roll_back,
    synonym_add,
    synonym_undo,
    term_delete,
    term_save,
    terms_decide,
)
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, scope_of
from tests.knowledge.lexicons import build_of, lexicon_build
from tests.knowledge.owned_rows import owned
from tests.migrating import long_released, migrations_apply, migrations_unapply
from tests.work.contract import KindContract
from work.models import Job
from work.services import work_cancel, work_retry

EN = "Beam management keeps the narrow beams of terminal and base station aligned while the terminal moves."
OTHER = "A cake of apples needs flour, butter, sugar and forty minutes in the oven."
ZH = "波束赋形把能量集中到一个方向，从而提高边缘用户的速率。"


def save(person, **values):
    set_id = values.pop("set_id", None)
    return term_save(scope=scope_of(person), actor=person, set_id=set_id, values=values)


def publish(person, set_id=None):
    version = lexicon_publish(scope=scope_of(person), actor=person, set_id=set_id)
    lexicon_build(version_id=version.pk)
    version.refresh_from_db()
    return version


def found(person, query, **request):
    result = retrieve(scope=scope_of(person), request=RetrievalRequest(query=query, mode="bm25", **request))
    return [c.passage.external_id for c in result.state.candidates]


def frequency(text):
    return dict(fetch("SELECT text, frequency FROM knowledge_term WHERE text = %(text)s", {"text": text})).get(text, 0)


def corpus_make(owner, common):
    return ingest(owner, common, en=EN, cake=OTHER, zh=ZH)


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(corpus_make))]


@pytest.fixture
def corpus(kept_rows):
    return kept_rows[2]


def test_a_question_in_the_other_language_finds_the_passage_once_published(owner, common, corpus):
    save(owner, text="波束管理", translations=["beam management"], set_id=common.pk)
    assert "en" not in found(owner, "波束管理怎么做")

    publish(owner, common.pk)

    assert found(owner, "波束管理怎么做")[0] == "en"


def test_a_person_has_the_terms_of_a_version_as_soon_as_it_is_published(owner, common, corpus):
    save(owner, text="波束管理", translations=["beam management"], set_id=common.pk)
    assert lexicon_of_person(scope=scope_of(owner)) is None  # which is remembered until something changes

    publish(owner, common.pk)

    assert lexicon_of_person(scope=scope_of(owner)).knows("波束管理")


def test_publishing_adds_whole_names_to_the_passages_that_have_them(owner, common, corpus):
    save(owner, text="波束赋形", set_id=common.pk)
    save(owner, text="narrow beam", set_id=common.pk)

    version = publish(owner, common.pk)

    assert (version.state, version.names, version.names_done, version.passages) == ("live", 2, 2, 2)
    assert (frequency("波束赋形"), frequency("narrow beam"), frequency("波束")) == (1, 1, 1)
    lexicon_build(version_id=version.pk)
    assert frequency("波束赋形") == 1


def test_statistics_stay_those_of_the_entries(owner, common, corpus):
    save(owner, text="波束赋形", set_id=common.pk)
    publish(owner, common.pk)

    rows = fetch(
        "SELECT s.language, s.total_length, (SELECT sum(e.length) FROM knowledge_indexentry e"
        " WHERE e.language = s.language) FROM knowledge_lexicalstatistics s",
        {},
    )
    assert rows
    assert all(total == counted for _, total, counted in rows)


def test_a_passage_that_comes_later_has_whole_names_from_the_start(owner, common, corpus):
    save(owner, text="波束赋形", set_id=common.pk)
    publish(owner, common.pk)

    ingest(owner, common, later="波束赋形需要信道信息。")

    assert frequency("波束赋形") == 2


def test_while_a_version_is_built_the_one_before_answers(owner, common, corpus):
    save(owner, text="波束管理", translations=["beam management"], set_id=common.pk)
    publish(owner, common.pk)
    save(owner, text="甜点", translations=["cake"], set_id=common.pk)

    lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)

    assert found(owner, "波束管理怎么做")[0] == "en"
    assert "cake" not in found(owner, "甜点怎么做")


def test_an_older_build_is_overtaken_by_a_newer_one(owner, common, corpus):
    save(owner, text="波束管理", translations=["beam management"], set_id=common.pk)
    first = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)
    save(owner, text="甜点", translations=["cake"], set_id=common.pk)
    second = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)

    lexicon_build(version_id=second.pk)
    lexicon_build(version_id=first.pk)

    states = dict(LexiconVersion.objects.values_list("pk", "state"))
    assert states == {first.pk: "retired", second.pk: "live"}


def test_going_back_is_a_new_version_of_the_former_terms(owner, common, corpus):
    save(owner, text="波束管理", translations=["beam management"], set_id=common.pk)
    first = publish(owner, common.pk)
    term = LexiconTerm.objects.get()
    term_save(scope=scope_of(owner), actor=owner, term_id=term.pk, values={"translations": []})
    publish(owner, common.pk)
    assert "en" not in found(owner, "波束管理怎么做")

    again = lexicon_roll_back(scope=scope_of(owner), actor=owner, version_id=first.pk)
    lexicon_build(version_id=again.pk)

    assert found(owner, "波束管理怎么做")[0] == "en"
    with pytest.raises(LexiconTermError):
        lexicon_roll_back(scope=scope_of(owner), actor=owner, version_id=again.pk)


def test_publishing_without_a_change_makes_no_version(owner, common, corpus):
    save(owner, text="波束管理", set_id=common.pk)
    first = publish(owner, common.pk)

    assert publish(owner, common.pk).pk == first.pk


def test_going_back_to_what_is_in_use_ends_the_version_that_is_being_built(owner, common, corpus):
    save(owner, text="波束管理", translations=["beam management"], set_id=common.pk)
    first = publish(owner, common.pk)
    term = save(owner, text="甜点", translations=["cake"], set_id=common.pk)
    second = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)
    term_delete(scope=scope_of(owner), actor=owner, term_id=term.pk)

    assert lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk).pk == first.pk

    lexicon_build(version_id=second.pk)
    assert "cake" not in found(owner, "甜点怎么做")


def test_a_version_that_is_being_built_can_be_given_up(owner, common, corpus):
    save(owner, text="甜点", translations=["cake"], set_id=common.pk)
    version = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)
    stranger = make_user(tenant=owner.tenant)
    with pytest.raises(NotFoundError):
        lexicon_publish_cancel(scope=scope_of(stranger), actor=stranger, version_id=version.pk)

    lexicon_publish_cancel(scope=scope_of(owner), actor=owner, version_id=version.pk)
    lexicon_build(version_id=version.pk)

    assert "cake" not in found(owner, "甜点怎么做")
    with pytest.raises(LexiconTermError, match="no longer being published"):
        lexicon_publish_cancel(scope=scope_of(owner), actor=owner, version_id=version.pk)


class TestBuildLexicon(KindContract):
    @pytest.fixture(autouse=True)
    def _term(self, owner, common, corpus, monkeypatch):
        self.owner, self.common = owner, common
        monkeypatch.setattr(build_lexicon, "NAMES_AT_ONCE", 1)
        save(owner, text="波束赋形", translations=["beam management"], set_id=common.pk)

    def start(self):
        self.version = lexicon_publish(scope=scope_of(self.owner), actor=self.owner, set_id=self.common.pk)
        return build_of(self.version.pk)

    def outcome(self, job):
        self.version.refresh_from_db()
        is_found = "en" in found(self.owner, "波束赋形")
        return self.version.state == "live", self.version.passages, is_found

    def whole(self):
        return True, 2, True


def test_a_version_whose_build_is_cancelled_by_an_administrator_is_given_up_and_comes_back_with_it(
    owner, common, corpus
):
    save(owner, text="甜点", translations=["cake"], set_id=common.pk)
    version = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)
    job, admin = build_of(version.pk), make_admin("root", tenant=owner.tenant)
    states = []

    for act in (work_cancel, work_retry):
        act(scope=scope_for(admin), actor=admin, job_id=job.pk)
        version.refresh_from_db()
        states.append(version.state)

    assert states == ["retired", "building"]
    lexicon_build(version_id=version.pk)
    assert "cake" in found(owner, "甜点怎么做")


def test_a_version_that_cannot_be_built_is_given_up_with_its_reason(owner, common, corpus, monkeypatch):
    save(owner, text="波束管理", set_id=common.pk)
    version = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)

    def broken(**_):
        raise ValueError("nobody knows")

    with monkeypatch.context() as patched:
        patched.setattr(build_lexicon, "passages_with_parts", broken)
        for _ in range(BuildLexicon.most_unknown_failures):
            assert LexiconVersion.objects.get(pk=version.pk).state == "building"
            job = lexicon_build(version_id=version.pk)

    version.refresh_from_db()
    assert (version.state, job.state, job.error_code) == ("failed", "failed", "internal")
    assert publish(owner, common.pk).state == "live"


def test_what_passes_by_itself_does_not_give_a_version_up(owner, common, corpus, monkeypatch):
    save(owner, text="波束管理", set_id=common.pk)
    version = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)

    def broken(**_):
        raise OperationalError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(build_lexicon, "passages_with_parts", broken)
        for _ in range(2 * BuildLexicon.most_unknown_failures):
            job = lexicon_build(version_id=version.pk)

    assert (job.state, job.error_code) == ("queued", "store_unavailable")
    assert lexicon_build(version_id=version.pk).state == "done"
    version.refresh_from_db()
    assert version.state == "live"


BUILDS = ("knowledge", "0067")


@long_released
@pytest.mark.django_db(transaction=True)
def test_builds_of_before_become_jobs_and_go_on(owner, common, corpus):
    save(owner, text="甜点", translations=["cake"], set_id=common.pk)
    version = lexicon_publish(scope=scope_of(owner), actor=owner, set_id=common.pk)
    Job.objects.all().delete()
    try:
        versions = migrations_unapply(*BUILDS).get_model("knowledge", "LexiconVersion").objects
        versions.filter(pk=version.pk).update(failures=1, problem="ValueError", names=4, names_done=2)
        of_tenant = {"tenant_id": owner.tenant_id, "entries": []}
        versions.create(**of_tenant, number=1, state="building", measured={"change": 7})
        versions.create(**of_tenant, number=2, state="failed", failures=3, problem="ValueError")
    finally:
        migrations_apply(*BUILDS)

    rows = Job.objects.order_by("pk").values_list("subject", "state", "done", "total", "failures", "error_code")
    failed = LexiconVersion.objects.get(knowledge_set=None, number=2)
    assert list(rows) == [
        (f"version:{version.pk}", "queued", 2, 4, 1, "internal"),
        (f"version:{failed.pk}", "failed", 0, 0, 3, "internal"),
    ]
    assert lexicon_build(version_id=version.pk).state == "done"
    assert "cake" in found(owner, "甜点怎么做")
    try:
        versions = migrations_unapply(*BUILDS).get_model("knowledge", "LexiconVersion").objects
        back = list(versions.order_by("pk").values_list("failures", "problem"))
    finally:
        migrations_apply(*BUILDS)
    assert back == [(0, ""), (0, ""), (3, "internal")]


def test_whole_names_leave_the_length_of_a_passage_as_it_is(owner, common, corpus):
    lengths = "SELECT sum(length) FROM knowledge_indexentry"
    before = fetch(lengths, {})
    save(owner, text="波束赋形", set_id=common.pk)

    publish(owner, common.pk)
    assert fetch(lengths, {}) == before

    ingest(owner, common, later=ZH.replace("能量", "信号"))
    both = "SELECT length FROM knowledge_indexentry WHERE language = 'zh' AND representation = 'body'"
    assert len({row[0] for row in fetch(both, {})}) == 1


# ── whose terms ─────────────────────────────────────────────────────────────────────────────────


def test_terms_of_a_set_serve_only_searches_in_it_by_its_readers(owner, common, corpus):
    private = make_set(owners=[owner], visibility="members")
    save(owner, text="波束管理", translations=["beam management"], set_id=private.pk)
    publish(owner, private.pk)
    colleague = make_user(tenant=owner.tenant)

    assert found(owner, "波束管理怎么做")[0] == "en"
    assert "en" not in found(owner, "波束管理怎么做", sets=[common.pk])
    assert "en" not in found(colleague, "波束管理怎么做")


def test_terms_from_documents_above_the_clearance_are_not_used(owner, common, corpus):
    term = save(owner, text="波束管理", translations=["beam management"], set_id=common.pk)
    LexiconTerm.objects.filter(pk=term.pk).update(clearance=3)
    publish(owner, common.pk)

    assert "en" in found(owner, "波束管理怎么做")
    assert "en" not in found(make_user(tenant=owner.tenant, clearance=1), "波束管理怎么做")


def test_editors_change_the_lexicon_of_their_set_and_administrators_that_of_the_tenant(owner, common):
    editor, other = make_user(tenant=owner.tenant), make_user(tenant=owner.tenant)
    common.editors.add(editor)
    admin = make_admin(tenant=owner.tenant)

    save(editor, text="波束", set_id=common.pk)
    save(admin, text="波束")
    for person, error in ((editor, MissingRightError), (other, MissingRightError)):
        with pytest.raises(error):
            save(person, text="别的")
    with pytest.raises(NotAllowedError):
        save(other, text="别的", set_id=common.pk)
    with pytest.raises(NotFoundError):
        term_delete(scope=scope_of(other), actor=other, term_id=LexiconTerm.objects.first().pk)
    stranger = make_admin(tenant=make_tenant())
    with pytest.raises(NotFoundError):
        save(stranger, text="别的", set_id=common.pk)


# ── changes ─────────────────────────────────────────────────────────────────────────────────────


def test_every_change_can_be_undone_in_its_order(owner, common):
    term = save(owner, text="CA", long_form="carrier aggregation", set_id=common.pk)
    term_save(scope=scope_of(owner), actor=owner, term_id=term.pk, values={"synonyms": ["bonding"]})
    term_delete(scope=scope_of(owner), actor=owner, term_id=term.pk)
    added, changed, deleted = LexiconChange.objects.order_by("pk")

    with pytest.raises(LexiconTermError):
        change_undo(scope=scope_of(owner), actor=owner, change_id=changed.pk)
    assert change_undo(scope=scope_of(owner), actor=owner, change_id=deleted.pk).synonyms == ["bonding"]
    assert change_undo(scope=scope_of(owner), actor=owner, change_id=changed.pk).synonyms == []
    assert change_undo(scope=scope_of(owner), actor=owner, change_id=added.pk) is None
    assert not LexiconTerm.objects.exists()


def test_deciding_about_many_is_undone_together(owner, common):
    terms = [save(owner, text=text, status="candidate", set_id=common.pk) for text in ("甲乙", "丙丁")]

    changes = terms_decide(scope=scope_of(owner), actor=owner, term_ids=[term.pk for term in terms], status="approved")
    change_undo(scope=scope_of(owner), actor=owner, change_id=changes[0].pk)

    assert set(LexiconTerm.objects.values_list("status", flat=True)) == {"candidate"}


def test_a_batch_with_terms_above_the_clearance_is_undone_only_by_who_may_see_them(owner, common):
    terms = [save(owner, text=text, status="candidate", set_id=common.pk) for text in ("open", "confidential")]
    LexiconTerm.objects.filter(pk=terms[1].pk).update(clearance=3)
    changes = terms_decide(scope=scope_of(owner), actor=owner, term_ids=[term.pk for term in terms], status="approved")
    editor = make_user(clearance=1)
    common.owners.add(editor)

    with pytest.raises(LexiconTermError) as refused:
        change_undo(scope=scope_of(editor), actor=editor, change_id=changes[0].pk)

    assert "confidential" not in f"{refused.value} {refused.value.message_data()}"
    assert set(LexiconTerm.objects.values_list("status", flat=True)) == {"approved"}
    change_undo(scope=scope_of(owner), actor=owner, change_id=changes[0].pk)
    assert set(LexiconTerm.objects.values_list("status", flat=True)) == {"candidate"}


def test_a_batch_over_several_lexicons_is_undone_by_who_keeps_all_of_them(owner, common):
    other = make_set("other", owners=[owner])
    terms = [save(owner, text="beam", status="candidate", set_id=one.pk) for one in (common, other)]
    changes = terms_decide(scope=scope_of(owner), actor=owner, term_ids=[term.pk for term in terms], status="approved")

    change_undo(scope=scope_of(owner), actor=owner, change_id=changes[0].pk)

    assert set(LexiconTerm.objects.values_list("status", flat=True)) == {"candidate"}


@pytest.mark.parametrize(
    "values",
    [
        {"text": ""},
        {"text": "…"},
        {"text": "长" * 201},
        {"text": "x", "synonyms": [f"s{n}" for n in range(51)]},
        {"text": "x", "kind": "poem"},
    ],
)
def test_terms_that_cannot_be_kept_are_refused(owner, common, values):
    with pytest.raises(LexiconTermError):
        save(owner, set_id=common.pk, **values)


def test_a_term_is_kept_once_with_each_long_form(owner, common):
    save(owner, text="CA", long_form="carrier aggregation", set_id=common.pk)
    save(owner, text="CA", long_form="certificate authority", set_id=common.pk)

    with pytest.raises(NameTakenError):
        save(owner, text="ca", long_form="carrier aggregation", set_id=common.pk)


def test_a_remedy_adds_a_synonym_and_takes_it_back(owner, common, corpus):
    added = synonym_add(
        scope=scope_of(owner), actor=owner, set_id=common.pk, term="beam management", synonym="ray care"
    )
    lexicon_build(version_id=added.version.pk)
    assert found(owner, "how is ray care done")[0] == "en"

    version = synonym_undo(scope=scope_of(owner), actor=owner, change_id=added.change_id)
    lexicon_build(version_id=version.pk)

    assert "en" not in found(owner, "how is ray care done")


def test_a_remedy_publishes_its_own_term_alone(owner, common, corpus):
    save(owner, text="甜点", translations=["cake"], set_id=common.pk)  # approved, not published

    added = synonym_add(
        scope=scope_of(owner), actor=owner, set_id=common.pk, term="beam management", synonym="ray care"
    )
    lexicon_build(version_id=added.version.pk)

    assert found(owner, "how is ray care done")[0] == "en"
    assert "cake" not in found(owner, "甜点怎么做")
    undone = synonym_undo(scope=scope_of(owner), actor=owner, change_id=added.change_id)
    assert undone.entries == []


def test_a_remedy_does_not_approve_what_somebody_has_rejected(owner, common):
    term = save(owner, text="beam management", set_id=common.pk)
    term_save(scope=scope_of(owner), actor=owner, term_id=term.pk, values={"status": "rejected"})

    with pytest.raises(LexiconTermError, match="has rejected"):
        synonym_add(scope=scope_of(owner), actor=owner, set_id=common.pk, term="Beam management", synonym="ray care")


def test_adding_the_same_synonym_twice_changes_nothing(owner, common, corpus):
    synonym_add(scope=scope_of(owner), actor=owner, set_id=common.pk, term="beam management", synonym="ray care")

    again = synonym_add(
        scope=scope_of(owner), actor=owner, set_id=common.pk, term="Beam Management", synonym="Ray care"
    )

    assert again.change_id is None
    assert LexiconTerm.objects.get().synonyms == ["ray care"]
