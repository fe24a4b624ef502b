"""Training all weights of a model: batches, steps that go on after a kill, and what comes of it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ragcore
from ragcore.training.whole_model import plan as plans
from ragcore.training.whole_model.grading import discrimination, ranked
from ragcore.training.whole_model.plan import (
    Example,
    HeldOut,
    TuneData,
    TunePlan,
    TuneSettings,
    batches,
    conflicts,
    fitting_scale,
    negatives,
    plan_read,
    plan_write,
)
from tests.ragcore.embedding.bert_folders import bert_folder

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from ragcore.training.whole_model import __main__ as program  # noqa: E402
from ragcore.training.whole_model.encoder import TunedEncoder  # noqa: E402
from ragcore.training.whole_model.loop import Tuning, widths  # noqa: E402

LETTERS = "abcdefghilmnoprstu"
SETTINGS = TuneSettings(epochs=4, batch=4, rate=5e-3, tokens=32)


def made_data(count: int = 16) -> TuneData:
    """Each letter of a question is answered by a passage with the next letter; the last ones are held out."""
    pairs = [(f"{a}{a} {a}", f"{b}{b} {b}{a}") for a, b in zip(LETTERS, LETTERS[1:], strict=False)]
    passages = [passage for _question, passage in pairs]
    examples = [
        Example(question=question, passage=passage, documents=(place,), negatives=(passages[(place + 5) % len(pairs)],))
        for place, (question, passage) in enumerate(pairs[:count])
    ]
    held_out = [HeldOut(question=f"{a} {a}{a}", passages=(place,)) for place, a in enumerate(LETTERS[:-1])]
    return TuneData(examples=examples, held_out=held_out, passages=passages, documents=list(range(len(passages))))


@pytest.fixture
def begin(tmp_path) -> Path:
    folder = tmp_path / "begin"
    folder.mkdir()
    torch.manual_seed(3)
    return Path(bert_folder(folder, hidden=64))


@pytest.fixture(autouse=True)
def _few_general_texts(monkeypatch):
    few = (("an antenna", "its tilt is adjusted"), ("a battery", "it is charged"))
    monkeypatch.setattr("ragcore.training.whole_model.grading.general_pairs", lambda: few)


def plan_of(begin: Path) -> TunePlan:
    return TunePlan(folder=str(begin), settings=SETTINGS, query_prefix="q ", document_prefix="p ")


def test_the_defaults_are_those_of_the_usual_recipe():
    settings = TuneSettings()

    assert (settings.epochs, settings.batch, settings.rate, settings.warm_up) == (3, 16, 2e-5, 0.1)
    assert settings.examples == 1000
    assert (widths(1024), widths(768), widths(384)) == ([1024, 768, 384], [768, 384], [384])


# ── batches ─────────────────────────────────────────────────────────────────────────────────────


def test_questions_that_are_alike_and_those_about_the_same_document_never_meet():
    examples = [Example(question=str(n), passage=str(n), documents=(n // 3 if n < 3 else n,)) for n in range(12)]
    vectors = np.eye(12, dtype=np.float32)
    vectors[5] = vectors[4] * 0.9 + vectors[5] * 0.436

    related = conflicts(examples, vectors)

    assert [related[0, 1], related[1, 2], related[4, 5]] == [True] * 3
    assert [related[0, 4], related[3, 4]] == [False] * 2
    for made in (batches(related, size=4, seed=1), batches(related, size=4, seed=2)):
        assert sorted(place for batch in made for place in batch) == list(range(12))
        assert all(len(batch) <= 4 for batch in made)
        assert not any(related[a, b] for batch in made for a in batch for b in batch if a != b)
    assert batches(related, size=4, seed=1) != batches(related, size=4, seed=2)
    assert batches(related, size=4, seed=1) == batches(related, size=4, seed=1)


def test_the_wrong_passage_is_a_hard_one_or_that_of_an_unrelated_question():
    examples = [Example(question=str(n), passage=f"passage {n}", documents=(n,)) for n in range(4)]
    examples[0] = Example(question="0", passage="passage 0", documents=(0,), negatives=("hard", "harder"))
    related = np.eye(4, dtype=bool)
    related[1, 2] = related[2, 1] = True

    told = [list(negatives(examples, related, [0, 1], epoch=epoch, seed=1)) for epoch in range(3)]

    assert [one[0] for one in told] == ["hard", "harder", "hard"]
    assert {one[1] for one in told} == {"passage 3"}  # 2 is related to 1, and 0 and 1 are in the batch
    assert list(negatives(examples[:1], np.eye(1, dtype=bool), [0], epoch=0, seed=1)) == ["hard"]
    assert list(negatives(examples[1:2], np.eye(1, dtype=bool), [0], epoch=0, seed=1)) == [""]


def test_what_is_written_is_read_again(tmp_path):
    data = made_data()

    plan_write(tmp_path, plan_of(tmp_path), data)

    assert plan_read(tmp_path) == (plan_of(tmp_path), data)
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(("between", "scale"), [(0.02, 70), (0.4, 20)], ids=["vectors in one corner", "vectors apart"])
def test_the_scale_of_the_loss_is_that_of_the_model(between, scale):
    """Right passages are nearer by as much as noise, as with a model whose cosines differ by so much."""
    draw = np.random.default_rng(1)
    cosines = (0.5 + between * (draw.normal(size=(48, 48)) * 0.6 + 0.4 * np.eye(48))).astype(np.float32)
    related = np.eye(48, dtype=bool)
    cosines[3, 4], related[3, 4] = 1.0, True  # one that may be right as well does not count

    assert fitting_scale(cosines, related) == scale


# ── judging ─────────────────────────────────────────────────────────────────────────────────────


def test_documents_are_ranked_by_their_best_passage_and_right_ones_stand_apart():
    data = TuneData(
        examples=[], held_out=[HeldOut(question="q", passages=(1,))], passages=["a", "b", "c"], documents=[7, 8, 7]
    )
    questions = np.array([[1.0, 0.0]], np.float32)
    passages = np.array([[0.0, 1.0], [0.8, 0.6], [1.0, 0.0]], np.float32)

    recall, ndcg = ranked(data, questions, passages)

    assert recall == [1.0]
    assert ndcg[0] == pytest.approx(1 / np.log2(3))
    assert discrimination(data, questions, passages) == pytest.approx(0.8 - 0.5, abs=1e-4)


# ── steps ───────────────────────────────────────────────────────────────────────────────────────


def tuning_of(begin: Path) -> Tuning:
    return program._prepared(plan_of(begin), made_data(), begin)


def test_a_training_that_is_broken_off_goes_on_with_the_same_numbers(begin, tmp_path):
    whole = tuning_of(begin)
    while not whole.is_over:
        whole.advance()
    first = tuning_of(begin)
    for _ in range(5):
        first.advance()
    first.save(tmp_path / "state.pt")
    first.advance()  # is lost with its process

    second = tuning_of(begin)
    second.load(tmp_path / "state.pt")
    assert second.step == 5
    while not second.is_over:
        second.advance()

    assert second.losses == whole.losses
    for name, parameter in whole.parameters.items():
        torch.testing.assert_close(second.parameters[name], parameter)
    assert whole.epoch_losses()[-1] < whole.epoch_losses()[0]


def test_the_rate_rises_and_falls(begin):
    tuning = tuning_of(begin)
    steps = len(tuning.batches)

    scales = [tuning.rate_share(step) for step in range(steps)]

    top = round(steps * SETTINGS.warm_up) - 1
    assert top >= 1  # questions that are alike are apart, so there are more batches than 4 an epoch
    assert max(scales) == scales[top] == 1
    assert scales[: top + 1] == sorted(scales[: top + 1])
    assert scales[top:] == sorted(scales[top:], reverse=True)
    assert scales[-1] > 0


def test_rows_of_words_that_do_not_occur_stay_as_they_were(begin, tmp_path):
    tuning = tuning_of(begin)
    before = tuning.encoder.words.table.weight.detach().clone()
    used = tuning.encoder.words.used.tolist()
    while not tuning.is_over:
        tuning.advance()

    vector = tuning.encoder.passages(["ab c"])
    tuning.encoder.save(tmp_path / "model")
    loaded = TunedEncoder(tmp_path / "model", plan_of(begin), [])

    after = loaded.words.table.weight.detach()
    changed = (after != before).any(dim=1).nonzero().flatten().tolist()
    assert set(changed) <= set(used)
    assert len(changed) > len(LETTERS)
    assert len(used) < len(before)
    np.testing.assert_allclose(loaded.passages(["ab c"]), vector, atol=1e-5)


# ── the process ─────────────────────────────────────────────────────────────────────────────────


def in_process(folder: Path, way: str, capsys, monkeypatch) -> list[dict]:
    monkeypatch.setattr(program, "_watch_parent", lambda: None)
    monkeypatch.setattr(program, "NICE", 0)
    assert program.main([str(folder), way, str(folder)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]


def test_a_training_finds_more_and_tells_right_passages_further_apart(begin, tmp_path, capsys, monkeypatch):
    work = tmp_path / "work"
    plan_write(work, plan_of(begin), made_data())

    estimate = in_process(work, "estimate", capsys, monkeypatch)[-1]["over"]
    lines = in_process(work, "train", capsys, monkeypatch)

    assert estimate["steps"] >= 16
    assert estimate["seconds"] >= 0
    assert estimate["memory_bytes"] > 10_000_000
    assert (estimate["device"] in ("cpu", "cuda"), estimate["dimensions"]) == (True, 64)
    assert lines[-1] == {"over": {}}
    steps = [line for line in lines if line.get("phase") == "steps"]
    assert [line["done"] for line in steps] == list(range(1, estimate["steps"] + 1))
    assert steps[-1]["saved"] == estimate["steps"]
    before, after = plans.json_read(work / "before.json"), plans.json_read(work / "after.json")
    assert after["discrimination"] > before["discrimination"] + 0.05
    assert sum(after["ndcg"]) > sum(before["ndcg"])
    assert len(after["losses"]) == SETTINGS.epochs
    assert (work / "model" / "modules.json").is_file()
    assert in_process(work, "train", capsys, monkeypatch)[-1] == {"over": {}}  # it is over already


def test_a_folder_that_is_no_model_is_refused_with_the_reason(tmp_path, capsys, monkeypatch):
    (tmp_path / "nothing").mkdir()
    plan_write(tmp_path / "work", plan_of(tmp_path / "nothing"), made_data())

    line = in_process(tmp_path / "work", "train", capsys, monkeypatch)[-1]

    assert line["refused"] == "not_loaded"
    assert line["data"]["problem"]


def test_what_does_not_fit_into_memory_is_refused_before_it_is_loaded(begin, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(program, "available_bytes", lambda: 1_000_000)
    monkeypatch.setattr(program, "_has_gpu", lambda: False)
    plan_write(tmp_path / "work", plan_of(begin), made_data())

    line = in_process(tmp_path / "work", "train", capsys, monkeypatch)[-1]

    assert line["refused"] == "memory"
    assert line["data"]["needed"] > line["data"]["available"]


def test_the_process_ends_when_who_started_it_does(begin, tmp_path):
    """Its input is at an end at once, so it ends before it has trained."""
    work = tmp_path / "work"
    plan_write(work, plan_of(begin), made_data())

    done = subprocess.run(
        [sys.executable, "-m", "ragcore.training.whole_model", str(work), "train", str(tmp_path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=Path(ragcore.__file__).parents[1],
        check=False,
        timeout=120,
    )

    assert done.returncode == 1
    assert not (work / "after.json").exists()
