"""The short form of `make bench-ingest`."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from bench.ingest.figures import Figure, table
from bench.ingest.parsing import parsing_figures
from bench.ingest.store import store_figures
from bench.ingest.texts import texts_made, texts_read
from knowledge.models import IndexEntry
from ragsite.env import PROJECT_ROOT
from tests.factories import make_user
from tests.services_plugin import models_folder

NOT_INHERITED = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DATA_DIR", "DJANGO_SETTINGS_MODULE")


@pytest.mark.full
def test_the_same_seed_makes_the_same_texts_in_both_languages_and_natural_lengths():
    texts = texts_made(60)

    assert texts == texts_made(60)
    assert texts != texts_made(60, seed=2)
    chinese = [text for text in texts if not text.text.isascii()]
    assert 0.25 < len(chinese) / len(texts) < 0.55
    lengths = [text.text.count(".") for text in texts if text.text.isascii()]
    assert 8 < np.median(lengths) < 25
    assert max(lengths) > 2 * np.median(lengths), "a few are long"


def test_a_public_set_gives_the_texts_that_answer_a_question(tmp_path):
    rows = [{"id": "a", "title": "A", "text": "first"}, {"id": "b", "text": "second"}]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"id": "q", "text": "which one?"}) + "\n")
    (tmp_path / "qrels.tsv").write_text("q\tb\t1\n")

    (found,) = texts_read(tmp_path, limit=10)

    assert (found.text, found.question) == ("second", "which one?")


def test_a_figure_says_whether_its_median_meets_the_goal():
    speed = Figure(part="d", name="speed", unit="pages/s", values=[50, 70, 61], goal=60)
    memory = Figure(part="f", name="memory", unit="GB", values=[1.6], goal=1.5, less_is_better=True)

    rows = table([speed, memory]).splitlines()[2:]

    assert (speed.is_met, memory.is_met) == (True, False)
    assert speed.interval == (50, 70)
    assert rows[0] == "| d | speed | 61 (50–70) | pages/s | ≥ 60 | yes |"
    assert rows[1].endswith("| ≤ 1.5 | **no** |")


@pytest.mark.django_db
def test_storing_is_measured_and_nothing_is_kept():
    make_user()

    copy, bulk, ratio = store_figures(rows=50, repeat=1)

    assert copy.median > 0
    assert ratio.median == pytest.approx(copy.median / bulk.median)
    assert not IndexEntry.objects.exists()


@pytest.mark.full
def test_pages_with_text_and_with_tables_are_read():
    text, tables = parsing_figures(pages=3, repeat=1)

    assert text.median > 0
    assert tables.median > 0


@pytest.mark.full
@pytest.mark.slow
def test_the_whole_pipeline_is_measured_with_real_workers(tmp_path):
    out = tmp_path / "figures.json"
    command = [sys.executable, "-m", "bench.ingest", "--size", "0.01", "--repeat", "1", "--parts", "abf"]
    environment = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}

    done = subprocess.run(
        [*command, "--models", str(models_folder()), "--out", str(out)],
        cwd=PROJECT_ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    figures = json.loads(out.read_text())["figures"]
    assert {figure["part"] for figure in figures} == {"a", "b", "f"}
    assert all(figure["median"] > 0 for figure in figures)
    assert done.stdout.count("\n") == len(figures) + 2 + done.stdout.count("Admin")
