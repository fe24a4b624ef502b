import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.http import UnreadablePostError

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from knowledge.indexes.graph_triples import NewTriple, names_clean, triples_store
from knowledge.model_registry import tokenizer
from knowledge.models import Triple, TripleImport, TripleName, TripleVector
from knowledge.selectors.triples import imports_listed, triples_askable, triples_listed
from knowledge.services import document_delete, triple_files
from knowledge.services.sets import set_delete
from knowledge.services.triple_files import TripleFileError, import_start
from knowledge.services.triple_search import triple_index, triples_retrieve_and_rewrite
from knowledge.services.triples import (
    import_delete,
    triple_delete,
    triples_delete_all,
    triples_import,
)
from ragcore.graph.triples import Triple as Fact
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.knowledge.fills import triples_tend
from tests.knowledge.imports import import_job, import_read
from tests.migrating import long_released, migrations_apply, migrations_unapply
from tests.work.contract import KindContract
from work.models import Job
from work.services import job_act_now

pytestmark = pytest.mark.django_db

FACTS = (
    ("Amsterdam Airport", "location", "Haarlemmermeer"),
    ("Amsterdam Airport", "runwayLength", "3800"),
    ("Belgium", "leaderName", "Charles Michel"),
    ("Charles Michel", "birthPlace", "Namur"),
    ("随机接入", "属于", "MAC 层"),
)


def line(subject, relation, object_, **more):
    return json.dumps({"subject": subject, "relation": relation, "object": object_, **more}).encode()


def load(owner, into, facts=FACTS, **given):
    lines = [line(*fact) for fact in facts]
    return triples_import(
        scope=scope_of(owner), actor=owner, lines=lines, form="jsonl", set_id=into.pk, name="facts.jsonl", **given
    )


@pytest.fixture
def owner():
    return make_user()


@pytest.fixture
def into(owner):
    return make_set(owners=[owner], visibility="members")


def ask(user, question, **given):
    return triples_retrieve_and_rewrite(scope=scope_of(user), question=question, **given)


def fact_of_passage(owner, into, document, text="A secret | is kept in | Vault 7"):
    subject, relation, object_ = text.split(" | ")
    chunk = document.live_version.chunks.first()
    triples_store(
        [
            NewTriple(
                set_id=into.pk,
                triple=Fact(subject=subject, relation=relation, object=object_),
                document=document.pk,
                version=document.live_version_id,
                chunk=chunk.pk,
                sentence="A secret is kept in Vault 7.",
            )
        ],
        tenant_id=into.tenant_id,
        source_id=None,
        tokenizer=tokenizer(),
    )


def test_imported_facts_are_found_by_words_at_once_and_by_vectors_after_the_background_work(owner, into):
    taken = load(owner, into)

    assert (taken.accepted, taken.duplicates, taken.rejected_count) == (5, 0, 0)
    assert ask(owner, "Who is the leader of Belgium?").answer.chain.answers == ("Charles Michel",)
    assert TripleVector.objects.count() == 0

    triples_tend()

    assert TripleVector.objects.count() == 5
    best = ask(owner, "Where is Amsterdam Airport located?").answer.triples[0]
    assert best.triple.object == "Haarlemmermeer"
    assert best.detailed_scores["meaning"] > 0.5
    assert ask(owner, "随机接入属于什么层？").answer.triples[0].triple.object == "MAC 层"


def test_answers_over_two_facts_are_found(owner, into):
    load(owner, into)

    [path] = ask(owner, "Where was Belgium's leader born?").paths[:1]

    assert (path.answer, len(path.path)) == ("Namur", 2)


def test_the_same_file_again_stores_nothing_twice(owner, into):
    load(owner, into)
    again = load(owner, into)

    assert (again.accepted, again.duplicates) == (0, 5)
    assert Triple.objects.count() == 5


def test_faulty_lines_are_named_and_lines_name_their_sets(owner, into):
    other, foreign = make_set(owners=[owner]), make_set(owners=[make_user()])
    lines = [
        line("a", "b", "c"),
        line("a", "b", "c", set=other.pk),
        b"nonsense",
        line("a", "b", "c", set=foreign.pk),
        line("a", "b", "c", set=10**12),
    ]

    taken = triples_import(scope=scope_of(owner), actor=owner, lines=lines, form="jsonl", set_id=None, name="x")

    assert (taken.accepted, taken.rejected_count) == (1, 4)
    assert [(r["line"], r["code"]) for r in taken.rejected] == [
        (1, "set_needed"),
        (3, "invalid_triple"),
        (4, "not_allowed"),
        (5, "not_found"),
    ]
    assert TripleImport.objects.get().state == "partial"


def test_an_import_whose_sender_goes_away_is_over_and_keeps_what_came(owner, into, monkeypatch):
    monkeypatch.setattr("knowledge.services.triples.BATCH", 1)

    def lines():
        yield line("a", "b", "c")
        raise UnreadablePostError("the connection was closed")

    with pytest.raises(UnreadablePostError):
        triples_import(scope=scope_of(owner), actor=owner, lines=lines(), form="jsonl", set_id=into.pk, name="x")

    assert TripleImport.objects.values_list("state", "accepted").get() == ("failed", 1)
    assert Triple.objects.count() == 1
    assert AuditEvent.objects.filter(action="triples.import", data__triples=1).exists()


@pytest.mark.parametrize("name", ["facts.csv", "facts.nt", "facts.jsonl"])
def test_a_file_is_read_in_the_background(owner, into, name):
    content = {
        "facts.csv": b"subject,relation,object\nA,is part of,B\nA,broken\n",
        "facts.nt": b"<http://x.org/A> <http://x.org/isPartOf> <http://x.org/B> .\nbroken\n",
        "facts.jsonl": line("A", "is part of", "B") + b"\nbroken\n",
    }[name]

    started = import_start(scope=scope_of(owner), actor=owner, set_id=into.pk, name=name, content=io.BytesIO(content))
    assert (started.state, Triple.objects.count()) == ("queued", 0)
    import_read(started)

    done = TripleImport.objects.get()
    assert (done.state, done.accepted, done.rejected, done.progress) == ("partial", 1, 1, 100)
    assert done.faults[0]["code"] == "invalid_triple"
    stored = Triple.objects.get()
    assert (stored.subject_key, stored.object_key) == ("a", "b")


def test_a_file_is_stored_in_parts_with_the_faults_of_all_of_them(owner, into, monkeypatch):
    monkeypatch.setattr("knowledge.services.triple_files.BATCH_ROWS", 40)
    facts = [line(f"Part {n}", "belongs to", f"Hub {n % 7}") for n in range(200)]
    facts[150] = facts[30] = b"broken"
    facts[90] = b'{"subject": "a", "relation": "b", "object": "' + b"x" * (10 << 20) + b'"}'
    content = io.BytesIO(b"\n".join(facts))
    started = import_start(scope=scope_of(owner), actor=owner, set_id=into.pk, name="a.jsonl", content=content)

    import_read(started)
    triples_tend()

    done = TripleImport.objects.get(pk=started.pk)
    assert (done.state, done.accepted, done.rejected, done.duplicates) == ("partial", 197, 3, 0)
    assert [fault["line"] for fault in done.faults] == [31, 91, 151]
    assert ask(owner, "What does Part 199 belong to?").answer.chain.answers == ("Hub 3",)


def test_an_import_that_is_deleted_while_it_is_read_stores_nothing_more(owner, into, monkeypatch):
    monkeypatch.setattr("knowledge.services.triple_files.BATCH_ROWS", 10)
    content = io.BytesIO(b"\n".join(line(f"Part {n}", "belongs to", "Hub") for n in range(100)))
    started = import_start(scope=scope_of(owner), actor=owner, set_id=into.pk, name="a.jsonl", content=content)
    store, stored = triple_files.batch_store, []

    def delete_before_the_third(one, batch):
        if len(stored) == 2:
            import_delete(scope=scope_of(owner), actor=owner, import_id=started.pk)
        store(one, batch)
        stored.append(Triple.objects.count())

    monkeypatch.setattr("knowledge.jobs.import_triples.batch_store", delete_before_the_third)
    import_read(started)

    assert stored[:4] == [10, 20, 0, 0]
    assert (Triple.objects.count(), TripleImport.objects.count()) == (0, 0)


def test_a_file_that_is_read_twice_counts_the_same(owner, into):
    started = import_start(
        scope=scope_of(owner), actor=owner, set_id=into.pk, name="a.csv", content=io.BytesIO(b"A,b,C\nA,b,C\n")
    )
    triples_store(
        [NewTriple(set_id=into.pk, triple=Fact(subject="A", relation="b", object="C"))],
        tenant_id=into.tenant_id,
        source_id=started.pk,
        tokenizer=tokenizer(),
    )  # a worker was killed after its first batch

    import_read(started)

    done = TripleImport.objects.get()
    assert (done.state, done.accepted, done.duplicates, Triple.objects.count()) == ("succeeded", 1, 1, 1)


class TestImportsOfFacts(KindContract):
    """A file with a faulty line, in parts of one fact."""

    @pytest.fixture(autouse=True)
    def _file(self, owner, into, monkeypatch):
        monkeypatch.setattr(triple_files, "BATCH_ROWS", 1)
        self.owner, self.into = owner, into

    def start(self) -> Job:
        content = io.BytesIO(line("A", "is part of", "B") + b"\nbroken\n" + line("B", "is part of", "C"))
        values = {"set_id": self.into.pk, "name": "a.jsonl", "content": content}
        return import_job(import_start(scope=scope_of(self.owner), actor=self.owner, **values))

    def outcome(self, job: Job) -> Any:
        row = TripleImport.objects.get(pk=job.arguments["import_id"])
        facts = Triple.objects.filter(source=row).order_by("subject_key").values_list("subject_key", "object_key")
        return list(facts), row.accepted, row.rejected, row.duplicates

    def whole(self) -> Any:
        return [("a", "b"), ("b", "c")], 2, 1, 0


def test_a_cancelled_import_says_so_and_can_be_tried_again(owner, into):
    content = io.BytesIO(line("A", "is part of", "B"))
    started = import_start(scope=scope_of(owner), actor=owner, set_id=into.pk, name="a.jsonl", content=content)
    job_act_now(import_job(started), "cancel")
    assert TripleImport.objects.get().state == "failed"

    job_act_now(import_job(started), "retry")
    import_read(started)

    assert TripleImport.objects.get().state == "succeeded"


@long_released
@pytest.mark.django_db(transaction=True)
def test_files_that_waited_before_imports_were_jobs_are_read(owner, into):
    content = io.BytesIO(line("A", "is part of", "B"))
    started = import_start(scope=scope_of(owner), actor=owner, set_id=into.pk, name="a.jsonl", content=content)
    try:
        migrations_unapply("knowledge", "0075")
        assert not Job.objects.exists()
    finally:
        migrations_apply("knowledge", "0075")

    import_read(started)

    assert (TripleImport.objects.get().state, import_job(started).author) == ("succeeded", owner)


def test_other_endings_and_sets_of_others_are_refused(owner, into):
    with pytest.raises(TripleFileError):
        import_start(scope=scope_of(owner), actor=owner, set_id=into.pk, name="a.pdf", content=io.BytesIO(b""))
    with pytest.raises(NotAllowedError):
        load(make_user(), into)


# ── rights ──────────────────────────────────────────────────────────────────────────────────────


def seen(user):
    return set(triples_askable(scope=scope_of(user)).values_list("subject", flat=True))


def test_imported_facts_have_the_rights_of_their_set(owner, into):
    load(owner, into)
    member, stranger = make_user(), make_user()
    into.members.add(member)
    abroad = make_user(tenant=make_tenant())

    assert "Belgium" in seen(member)
    for outside in (stranger, abroad):
        found = ask(outside, "Who is the leader of Belgium?")
        assert (seen(outside), found.answer.triples, found.paths) == (set(), (), ())
        assert triple_index(scope=scope_of(outside)).rarity(["belgium"]) == {}
        assert triple_index(scope=scope_of(outside)).names(["belgium"]) == set()


def test_facts_of_passages_have_the_rights_of_their_document(owner):
    open_set = make_set(owners=[owner])
    document = ingest(owner, open_set, clearance=3, doc="A secret is kept in Vault 7.")["doc"]
    fact_of_passage(owner, open_set, document)
    cleared, low = make_user(clearance=3), make_user(clearance=2)

    assert seen(cleared) == {"A secret"}
    assert seen(low) == set()
    assert ask(low, "Where is a secret kept?").answer.triples == ()
    assert ask(low, "A secret's secret").paths == ()

    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)
    assert seen(cleared) == set()


def test_a_question_within_some_sets_sees_their_facts_only(owner, into):
    other = make_set(owners=[owner])
    load(owner, into)
    load(owner, other, [("Belgium", "leaderName", "Somebody Else")])

    found = ask(owner, "Who is the leader of Belgium?", sets=[other.pk])

    assert [t.triple.object for t in found.answer.triples] == ["Somebody Else"]


def test_the_same_name_in_two_tenants_is_two_entities(owner, into):
    abroad = make_user(tenant=make_tenant())
    theirs = make_set(owners=[abroad], tenant=abroad.tenant)
    load(owner, into, [("Belgium", "leaderName", "Ours")])
    load(abroad, theirs, [("Belgium", "leaderName", "Theirs")])

    assert ask(owner, "Who is the leader of Belgium?").answer.chain.answers == ("Ours",)
    assert ask(abroad, "Who is the leader of Belgium?").answer.chain.answers == ("Theirs",)


def test_a_misspelt_name_is_found_and_names_of_hidden_facts_are_not(owner, into):
    load(owner, into)
    question = "Who is the leader of Belgum?"

    found = ask(owner, question)
    assert found.answer.chain.answers == ("Charles Michel",)
    assert [(one.key, one.how) for one in found.entities] == [("belgium", "spelling")]
    assert found.answer.question == question
    hidden = ask(make_user(), question)
    assert (hidden.entities, hidden.answer.triples) == ((), ())

    triples_delete_all(scope=scope_of(owner), actor=owner, set_id=into.pk)
    assert names_clean() > 0
    assert TripleName.objects.count() == 0


# ── deleting ────────────────────────────────────────────────────────────────────────────────────


def test_facts_and_vectors_go_with_their_import_their_set_or_alone(owner, into):
    load(owner, into)
    triples_tend()
    one = triples_listed(scope=scope_of(owner), name="belgium").get()

    triple_delete(scope=scope_of(owner), actor=owner, triple_id=one.pk)
    assert (Triple.objects.count(), TripleVector.objects.count()) == (4, 4)

    assert (
        import_delete(scope=scope_of(owner), actor=owner, import_id=imports_listed(scope=scope_of(owner)).get().pk) == 4
    )
    assert (Triple.objects.count(), TripleVector.objects.count()) == (0, 0)

    load(owner, into)
    assert triples_delete_all(scope=scope_of(owner), actor=owner, set_id=into.pk) == 5

    load(owner, into)
    set_delete(scope=scope_of(owner), actor=owner, set_id=into.pk)
    assert (Triple.objects.count(), TripleImport.objects.count()) == (0, 0)


def test_only_who_curates_the_set_deletes(owner, into):
    load(owner, into)
    member = make_user()
    into.members.add(member)
    one = Triple.objects.first()

    with pytest.raises(NotAllowedError):
        triple_delete(scope=scope_of(member), actor=member, triple_id=one.pk)
    with pytest.raises(NotFoundError):
        triple_delete(scope=scope_of(make_user()), actor=member, triple_id=one.pk)
    with pytest.raises(NotFoundError):
        import_delete(scope=scope_of(member), actor=member, import_id=TripleImport.objects.get().pk)


def test_facts_go_when_their_document_is_removed_for_good(owner):
    into = make_set(owners=[owner])
    document = ingest(owner, into, doc="A secret is kept in Vault 7.")["doc"]
    fact_of_passage(owner, into, document)

    document.delete()

    assert Triple.objects.count() == 0


# ── odd input ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name", ["SELECT", "'; DROP TABLE x; --", "a & b | !c", "\\", "'quoted'", "<b>", "🜚", "x" * 2000, "A\tB"]
)
def test_names_of_any_kind_are_stored_and_found(owner, into, name):
    taken = load(owner, into, [(name, "loves", name), ("Plain", "knows", name)])

    assert taken.accepted == 2
    assert triples_listed(scope=scope_of(owner), name=name).count() == 2
    ask(owner, f"Who knows {name[:200]}?")
    ask(owner, name[:100])


def test_loops_circles_and_crowded_entities_are_answered(owner, into):
    crowd = [("Hub", "has part", f"Part {n}") for n in range(10_000)]
    load(owner, into, [*crowd, ("Hub", "has part", "Hub"), ("Part 7", "owner", "Hub"), ("Part 7", "owner", "Ann")])

    found = ask(owner, "Who is the owner of Part 7?")

    assert found.answer.chain.answers
    assert set(found.answer.chain.answers) <= {"Hub", "Ann"}
    assert len(ask(owner, "What are the parts of Hub?").answer.triples) == 5


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def test_the_command_imports_a_file_and_names_faulty_lines(owner, into, tmp_path, capsys):
    file = tmp_path / "facts.csv"
    file.write_text("subject,relation,object\nA,is part of,B\nbroken\n", encoding="utf-8")

    with pytest.raises(SystemExit):
        call_command("triples", "import", str(file), "--set", into.code, "--user", owner.username)

    said = capsys.readouterr()
    assert "1 imported, 0 already there, 1 faulty lines." in said.out
    assert "line 3:" in said.err
    with pytest.raises(CommandError, match="curates no knowledge set"):
        call_command("triples", "import", str(file), "--set", into.code, "--user", make_user().username)
