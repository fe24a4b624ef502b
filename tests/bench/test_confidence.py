"""The short form of `make bench-calibration`, and the fitting of the confidence."""

import json

import numpy as np
import pytest

from bench.calibration import Reliability
from bench.confidence.__main__ import main
from bench.confidence.fitting import Answered, errors, fitted
from ragcore.answerability.confidence import confidence_by


def answers(name, offset, count=400, seed=0):
    """Answers that are right as often as sigmoid(.5 read + .4 lead + offset)."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        read, lead = random.uniform(-5, 5), random.uniform(-3, 5)
        chance = 1 / (1 + np.exp(-(0.5 * min(max(read, -4), 2) + 0.4 * min(max(lead, -2), 3) + offset)))
        made.append(Answered(name=name, evidence={"read": read, "lead": lead}, is_right=random.random() < chance))
    return made


def test_the_weights_are_those_by_which_the_answers_were_right():
    record = fitted([*answers("one", 1.0), *answers("two", 1.0, seed=1)])

    assert record["weights"] == [pytest.approx(0.5, abs=0.12), pytest.approx(0.4, abs=0.12)]
    assert record["offset"] == pytest.approx(1.0, abs=0.25)
    assert record["answers"] == {"one": 400, "two": 400}


def test_a_large_set_counts_no_more_than_a_small_one():
    small, large = answers("small", 2.0, count=200), answers("large", 0.0, count=2000, seed=2)

    assert 0.6 < fitted([*small, *large])["offset"] < 1.4


def test_each_set_has_its_error_by_the_others_alone():
    sure, doubtful = answers("sure", 4.0), answers("doubtful", -1.0, seed=3)

    rows = {name: (size, error, alone) for name, size, error, alone in errors([*sure, *doubtful])}

    assert rows["sure"][0] == 400
    assert rows["sure"][1] < rows["sure"][2]


def test_nothing_can_be_fitted_where_every_answer_is_right():
    with pytest.raises(ValueError, match="right and wrong"):
        fitted([Answered(name="a", evidence={"read": 1.0, "lead": 1.0}, is_right=True)])


def test_rows_are_fitted_from_files(tmp_path, capsys):
    file = tmp_path / "rows.jsonl"
    rows = [{"set": a.name, "right": bool(a.is_right), **a.evidence} for a in answers("one", 1.0, count=60)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))

    main(["fit", str(file)])

    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert 0 < confidence_by(record, {"read": 0.0, "lead": 0.0}) < 1


def test_a_line_of_the_table_says_how_many_answers_were_right():
    reliability = Reliability()
    reliability.add(0.9, is_right=True)
    reliability.add(0.7, is_right=False)

    assert reliability.summary() == "2 | 0.500 | 0.800 | 0.400"
    assert Reliability().summary() == "0 | 0.000 | 0.000 | 0.000"
