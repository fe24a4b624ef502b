"""The short form of `make bench-retrieval`. Peers are skipped where their environment is missing."""

import json
import os
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psycopg
import pytest
from django.db import connection

from bench.ingest.texts import texts_made
from bench.peers.catalogue import GROUPS, System, systems
from bench.peers.exchange import Answer, Task, answer_read, answer_write, task_read, task_write
from bench.peers.goals import beside, best_arm, goals
from bench.peers.loading import set_load
from bench.peers.measure import Measured, PeerFailedError, SetResult, measured_of, reason_of, task_of, worker_run
from bench.peers.page import SECTION, About, page_section
from bench.peers.sets import Passage, PublicSet, Question, set_read
from bench.peers.vectors import set_embed
from bench.peers.worker import answer
from bench.report import section_read, table_read
from ragsite.env import PROJECT_ROOT
from tests.factories import make_admin

PYTHON = PROJECT_ROOT / ".venv-bench" / "bin" / "python"
needs_peers = pytest.mark.skipif(not PYTHON.is_file(), reason="the environment of the peers is not there")
BOTH_KINDS = ("minilm", "own")


def public_set(count=14, *, chinese=False):
    """Texts of one language, and for each a question made of its rare words."""
    texts = [text for text in texts_made(6 * count, seed=3) if text.text.isascii() != chinese][:count]
    return PublicSet(
        name="tiny",
        label="Tiny",
        passages=[Passage(id=f"p{n}", title=t.title, text=t.text[:700]) for n, t in enumerate(texts)],
        questions=[Question(text=t.title, relevant=frozenset({f"p{n}"})) for n, t in enumerate(texts)],
    )


def task_for(public, **access):
    """With vectors that cost nothing: a passage and its question point the same way."""
    directions = np.random.default_rng(1).standard_normal((len(public.passages), 8)).astype(np.float32)
    vectors = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    from knowledge.model_registry import tokenizer

    return Task(
        ids=[p.id for p in public.passages],
        passages=[p.indexed for p in public.passages],
        passage_terms=[tokenizer().terms(p.indexed) for p in public.passages],
        passage_vectors=vectors,
        questions=[q.text for q in public.questions],
        question_terms=[tokenizer().terms(q.text) for q in public.questions],
        question_vectors=vectors,
        access=access,
    )


def folder_with(tmp_path, public):
    folder = tmp_path / "tiny" / "dev"
    folder.mkdir(parents=True)
    rows = [{"id": p.id, "title": p.title, "text": p.text} for p in public.passages]
    asked = [{"id": n, "text": q.text} for n, q in enumerate(public.questions)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    lines = [f"{n}\t{i}\t1\n" for n, q in enumerate(public.questions) for i in q.relevant]
    (folder / "qrels.tsv").write_text("".join(lines))
    return folder


# ── what goes in ────────────────────────────────────────────────────────────────────────────────


def test_a_set_gives_the_same_choice_of_questions_each_time(tmp_path):
    public = public_set()
    folder = folder_with(tmp_path, public)

    found = set_read(folder, limit=5)

    assert found == set_read(folder, limit=5)
    assert (found.name, len(found.passages), len(found.questions)) == ("tiny", 14, 5)
    assert list(set_read(folder, limit=100).questions[:5]) == list(found.questions), "a smaller limit is a beginning"
    assert [q.text for q in found.questions] != [q.text for q in public.questions[:5]], "not just the first ones"


def test_questions_without_an_answer_in_the_corpus_are_left_out(tmp_path):
    folder = folder_with(tmp_path, public_set(3))
    (folder / "qrels.tsv").write_text("0\tp1\t1\n1\telsewhere\t1\n0\talso elsewhere\t1\n")

    (question,) = set_read(folder, limit=10).questions

    assert question.relevant == {"p1"}


def test_a_set_with_an_id_twice_or_without_questions_is_refused(tmp_path):
    folder = folder_with(tmp_path, public_set(2))
    (folder / "qrels.tsv").write_text("")
    with pytest.raises(ValueError, match="no question"):
        set_read(folder, limit=5)
    rows = (folder / "corpus.jsonl").read_text()
    (folder / "corpus.jsonl").write_text(rows * 2)
    with pytest.raises(ValueError, match="twice"):
        set_read(folder, limit=5)


def test_tasks_and_answers_survive_the_files(tmp_path):
    task = task_for(public_set(4), user=3, set=5)
    given = Answer(ranked=[["a"], []], milliseconds=[1.5, 2.0], index_seconds=0.5, peak_bytes=9, versions={"x": "1"})

    task_write(tmp_path / "task", task)
    answer_write(tmp_path / "answer.json", given)

    found = task_read(tmp_path / "task")
    assert (found.ids, found.passages, found.question_terms) == (task.ids, task.passages, task.question_terms)
    assert np.array_equal(found.passage_vectors, task.passage_vectors)
    assert found.access == {"user": 3, "set": 5}
    assert answer_read(tmp_path / "answer.json") == given


def test_every_system_is_there_once_and_peers_can_be_chosen():
    every = systems(peers=GROUPS, kinds=BOTH_KINDS)

    assert len({system.key for system in every}) == len(every) == 18
    assert {system.group for system in every} == {"ours", *GROUPS}
    assert [s.key for s in systems(peers=[], kinds=BOTH_KINDS)] == [s.key for s in every if s.is_ours]
    with pytest.raises(ValueError, match="elastic"):
        systems(peers=["elastic"], kinds=BOTH_KINDS)


# ── ours ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.full
@pytest.mark.django_db
def test_every_arm_of_ours_finds_what_was_loaded_and_nothing_of_another_set():
    admin = make_admin()
    public = public_set()
    other = PublicSet(name="other", label="Other", passages=public.passages, questions=public.questions)
    set_load(other, admin=admin)
    loaded = set_load(public, admin=admin)
    task = task_for(public, user=loaded.user_id, set=loaded.set_id)

    found = {system.key: answer(system.engine, task) for system in systems(peers=[], kinds=())}

    assert loaded.refused == 0
    for key, one in found.items():
        firsts = [ranked[0] == i for ranked, i in zip(one.ranked, task.ids, strict=True)]
        assert np.mean(firsts) > 0.9, key
        assert len(one.milliseconds) == len(task.questions)
        assert all(len(ranked) == len(set(ranked)) <= 10 for ranked in one.ranked), key


def test_exact_search_is_the_order_of_the_inner_products():
    task = task_for(public_set())

    found = answer("exact", task)

    expected = np.argsort(-(task.question_vectors @ task.passage_vectors.T), axis=1)[:, :10]
    assert found.ranked == [[task.ids[at] for at in row] for row in expected]
    assert found.peak_bytes > 10_000_000


def test_vectors_for_peers_are_those_of_the_texts_and_embedding_is_added_to_their_times():
    public = public_set(6)
    (system,) = [s for s in systems(peers=["exact"], kinds=["own"]) if not s.is_ours]

    vectors = set_embed(public, kind="own")
    loaded = type("Loaded", (), {"seconds": 9.0, "refused": 0, "user_id": 1, "set_id": 1})()
    found = answer(system.engine, task_of(public, vectors, loaded))
    measured = measured_of(system, found, public, {"own": vectors}, loaded)

    assert vectors.passages.shape == (6, 768)
    assert np.allclose(np.linalg.norm(vectors.passages, axis=1), 1, atol=1e-3)
    assert measured.milliseconds == [a + b for a, b in zip(found.milliseconds, vectors.milliseconds, strict=True)]
    assert measured.index_seconds == found.index_seconds + vectors.seconds
    assert np.mean(measured.scores["recall@1"]) == 1


# ── peers ───────────────────────────────────────────────────────────────────────────────────────


@needs_peers
@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    "system",
    [system for system in systems(peers=GROUPS, kinds=["minilm"]) if not system.is_ours],
    ids=lambda system: system.label,
)
def test_a_peer_finds_the_passage_that_words_and_vectors_agree_on(system, tmp_path, monkeypatch):
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    monkeypatch.setenv("DATABASE_URL", database)
    task = task_for(public_set())
    task_write(tmp_path, task)

    try:
        found = worker_run(system, folder=tmp_path, python=PYTHON)
    finally:
        with psycopg.connect(database, autocommit=True) as direct:
            direct.execute("DROP SCHEMA IF EXISTS bench_peer CASCADE")

    assert [ranked[0] for ranked in found.ranked] == task.ids
    assert found.versions
    assert found.peak_bytes > 10_000_000
    assert min(found.milliseconds) > 0


@needs_peers
@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("chinese", [False, True], ids=["English", "Chinese"])
def test_our_bm25_ranks_as_bm25s_does_on_the_same_terms(chinese, tmp_path):
    public = public_set(30, chinese=chinese)
    loaded = set_load(public, admin=make_admin())
    task = task_for(public, user=loaded.user_id, set=loaded.set_id)
    task_write(tmp_path, task)
    reference = System(key="r", label="r", engine="bm25s_words:parity", group="bm25s")

    theirs = worker_run(reference, folder=tmp_path, python=PYTHON).ranked
    ours = answer("ours:bm25", task).ranked

    assert ours == theirs
    assert sum(len(ranked) > 1 for ranked in ours) > 5, "orders are compared, not only hits"


def test_a_peer_that_cannot_run_is_reported_with_its_reason(tmp_path):
    (system,) = [s for s in systems(peers=["exact"], kinds=["minilm"]) if not s.is_ours]
    unknown = System(key="u", label="u", engine="no_such_engine", group="ours", is_ours=True)
    task_write(tmp_path, task_for(public_set(2)))

    with pytest.raises(PeerFailedError, match="environment of the peers is not there"):
        worker_run(system, folder=tmp_path, python=Path("/nowhere/python"))
    with pytest.raises(PeerFailedError, match="not installed .*no_such_engine"):
        worker_run(unknown, folder=tmp_path, python=PYTHON)


def test_a_reason_names_no_folder_of_the_machine():
    stderr = 'Traceback\n  File "x"\nOSError: cannot open /home/somebody/secret/place/libtorch.so: no space left\n\n'

    assert reason_of(stderr, 1) == "OSError: cannot open libtorch.so: no space left"
    assert reason_of("", -9) == "it ended with status -9"


# ── goals and the page ──────────────────────────────────────────────────────────────────────────

ROWS = systems(peers=["bm25s", "haystack", "exact"], kinds=BOTH_KINDS)
PLAIN = {"ours-bm25": 0.8, "ours-vectors": 0.6, "ours-fused": 0.82, "ours-reranked": 0.84, "exact@minilm": 0.95}


def result_of(label, means, failed=()):
    """Every question of a set scores its system's mean."""
    public = PublicSet(name=label, label=label, passages=[], questions=[])
    measured = {
        system.key: Measured(
            system=system,
            scores={name: [means.get(system.key, 0.5)] * 5 for name in ("recall@1", "recall@10", "ndcg@10")},
            milliseconds=[1.0] * 5,
            index_seconds=1.0,
            peak_bytes=1_000_000,
            versions={"system": "1"},
        )
        for system in ROWS
        if system.key not in failed
    }
    return SetResult(public=public, measured=measured, failed=dict.fromkeys(failed, "not installed"))


def met(results):
    return [goal.is_met for goal in goals(results, ROWS)]


def test_goals_compare_with_the_better_arm_and_with_every_peer_but_not_with_the_ceiling():
    assert best_arm(result_of("a", PLAIN)) == "ours-bm25"
    assert met([result_of("a", PLAIN), result_of("b", PLAIN)]) == [True, True, True, True]


def test_one_set_below_the_better_arm_fails_the_first_goal_only():
    worse = PLAIN | {"ours-vectors": 0.85}
    results = [result_of("a", PLAIN), result_of("b", PLAIN | {"ours-reranked": 0.9}), result_of("c", worse)]

    found = goals(results, ROWS)

    assert [goal.is_met for goal in found] == [False, True, True, True]
    assert "c -0.010" in found[0].found


def test_a_peer_above_us_on_average_fails_its_goal_and_is_named():
    results = [result_of("a", PLAIN | {"haystack_hybrid@own": 0.9}), result_of("b", PLAIN)]
    assert met(results) == [True, True, True, True]
    results = [result_of("a", PLAIN | {"bm25s_words": 0.9}), result_of("b", PLAIN | {"bm25s_words": 0.9})]

    found = goals(results, ROWS)

    assert [goal.is_met for goal in found] == [True, True, False, True]
    assert "not below us: bm25s -0.060" in found[2].found


def test_a_peer_that_could_not_be_measured_leaves_its_goal_open():
    results = [result_of("a", PLAIN), result_of("b", PLAIN, failed=["haystack_hybrid@minilm"])]

    found = goals(results, ROWS)

    assert [goal.is_met for goal in found] == [True, True, False, True]
    assert "not measured everywhere: Haystack hybrid (MiniLM)" in found[2].found
    assert beside(results, label="x", keys=["haystack_hybrid@minilm"] * 2).by_set[1] is None


ABOUT = About(command="make bench-retrieval", day=date(2026, 11, 20), versions={"PostgreSQL": "18"})


def test_the_page_says_everything_and_what_is_missing():
    results = [result_of("a", PLAIN), result_of("b", PLAIN, failed=["haystack_hybrid@minilm"])]

    text = page_section(results, ROWS, ABOUT)

    rows = table_read(text)
    assert ["Ragsite: fused and reranked", "0.840", "0.840", "0.840 (0.840 to 0.840)"] in rows
    assert ["Haystack hybrid (MiniLM)", "0.500", "–", "–"] in rows
    assert [row[:3] for row in rows if row[0] == "our better single arm"] == [
        ["our better single arm", "+0.040 (+0.040 to +0.040)", "+0.040 (+0.040 to +0.040)"]
    ]
    assert "- Haystack hybrid (MiniLM) on b: not installed" in text
    assert "PostgreSQL 18" in text


def test_the_committed_page_has_its_markers_and_tables_that_can_be_read():
    page = PROJECT_ROOT / "docs" / "benchmarks.md"
    retrieval = section_read(page, SECTION)
    section_read(page, "scale")

    headings = [line for line in retrieval.splitlines() if line.startswith("### ")]
    rows = table_read(retrieval)
    assert headings[:4] == ["### Goals", "### nDCG@10", "### Ours minus theirs", "### Time and memory"]
    assert [row for row in rows if row[0] == "Ragsite: fused and reranked"]
    assert not [path for path in ("/work", "/home", "/tmp", "/dev/") if path in page.read_text(encoding="utf-8")]
