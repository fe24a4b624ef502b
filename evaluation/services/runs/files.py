"""Comparisons as files: CSV for spreadsheets, JUnit XML for build servers, JSON as a baseline of later runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml  # nosec B405 - writes only

from evaluation.errors import InvalidBaselineError
from evaluation.models import RunConfiguration
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs.asking import run_cases
from evaluation.services.runs.comparison import (
    MOST_LOST,
    ComparedCase,
    Comparison,
    GateFault,
    GateVerdict,
    configuration_failures,
    configuration_means,
    gate_judge,
    scores_compare,
)
from ragcore.text.csv_rows import BOM, csv_line

FORMAT = "ragsite-baseline-1"
MAX_BYTES = 64 * 1024 * 1024


def comparison_csv(comparison: Comparison, *, hidden: Set[int]) -> str:
    """A line a case with both values of each metric; questions of hidden cases are left out."""
    names = list(comparison.metrics)
    lines = [csv_line(["case", "question", *(f"{name} {which}" for name in names for which in ("first", "second"))])]
    for row in comparison.cases:
        values = [scores.get(name, "") for name in names for scores in (row.first, row.second)]
        lines.append(csv_line([row.case, "" if row.case in hidden else row.question, *values]))
    return BOM + "".join(lines)


def comparison_junit(
    comparison: Comparison, *, name: str, floors: Mapping[str, float], candidate: RunConfiguration
) -> bytes:
    """The verdict of the gate as JUnit XML."""
    verdict = gate_judge(
        means=configuration_means(candidate),
        floors=floors,
        comparison=comparison,
        failures=[configuration_failures(candidate)],
    )
    return verdict_junit(verdict, name=name, comparison=comparison)


def verdict_junit(verdict: GateVerdict, *, name: str, comparison: Comparison | None) -> bytes:
    """One test case for each metric that decided, failed where it does not pass."""
    name = "".join(letter for letter in name if letter.isprintable())  # XML knows no control characters
    failed = dict.fromkeys(fault.metric for fault in verdict.faults)
    checked = dict.fromkeys([*failed, *verdict.checked])
    suite = Xml.Element("testsuite", name=name, tests=str(len(checked)), failures=str(len(failed)))
    for metric in checked:
        case = Xml.SubElement(suite, "testcase", classname=name, name=metric or "cases")
        for fault in (each for each in verdict.faults if each.metric == metric):
            Xml.SubElement(case, "failure", type=fault.reason, message=fault_words(fault))
        if comparison is not None and metric in comparison.metrics:
            each = comparison.metrics[metric]
            means = f"{each.first:.4f} -> {each.second:.4f}, difference {each.difference:+.4f}"
            interval = f"[{each.low:+.4f}, {each.high:+.4f}], p {each.p_corrected:.4f}, {each.cases} cases"
            Xml.SubElement(case, "system-out").text = f"{means} {interval}{_left_out(comparison)}"
    return Xml.tostring(suite, encoding="utf-8", xml_declaration=True)


def _left_out(comparison: Comparison) -> str:
    return f", {comparison.changed} changed or missing cases left out" if comparison.changed else ""


def fault_words(fault: GateFault) -> str:
    """Why a metric does not pass, in English: for consoles and files."""
    if fault.reason == "failed":
        return f"{fault.value:g} of {fault.limit:g} cases ended with an error"
    if fault.value is None:
        return f"{fault.metric} was not measured, and has a lowest value of {fault.limit:g}"
    if fault.reason == "below":
        return f"{fault.metric} is {fault.value:.4f}, beyond its limit of {fault.limit:g}"
    if fault.reason == "lost":
        return f"{fault.metric} is {fault.value:.4f}, more than {MOST_LOST:g} worse than {fault.limit:.4f}"
    return f"{fault.metric} is {fault.value:.4f}, significantly worse than {fault.limit:.4f} (p {fault.p:.4f})"


# ── baselines ───────────────────────────────────────────────────────────────────────────────────


def question_key(question: str) -> str:
    """How a baseline names a case: it says nothing of the question, and is the same in every database."""
    return hashlib.sha256(question.encode()).hexdigest()[:32]


def case_key(row: GoldenRow) -> str:
    """The name of a question with what was expected: scores of a case that expects something else say nothing."""
    return f"{question_key(row.question)}-{row.expectation()}"


def scores_by_question(configuration: RunConfiguration) -> dict[str, dict[str, float]]:
    """The scores of a configuration by question and what it expects."""
    outcomes = dict(configuration.outcomes.order_by().values_list("case", "scores"))
    rows = run_cases(configuration.run)
    return {case_key(row): outcomes[case] for case, row in rows if case in outcomes}


def baseline_write(configuration: RunConfiguration) -> str:
    """The scores of a configuration as JSON."""
    content = {
        "format": FORMAT,
        "golden_set": configuration.run.golden_set.name,
        "options_sha256": configuration.options_sha256,
        "cases": scores_by_question(configuration),
    }
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def figures_json(configuration: RunConfiguration) -> str:
    """All figures of a configuration, over all cases and by dimension (set, phrasing, answer type, …), as JSON."""
    content = {
        "golden_set": configuration.run.golden_set.name,
        "run": configuration.run_id,
        "configuration": configuration.name,
        "failed": configuration.failed,
        "figures": configuration.figures,
        "dimensions": configuration.dimensions,
    }
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def baseline_read(path: Path) -> dict[str, dict[str, float]]:
    """The scores of a file of `baseline_write`. Raises InvalidBaselineError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidBaselineError(file=path.name)
        content: Any = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise InvalidBaselineError(file=path.name)
        return {
            str(key): {str(name): float(value) for name, value in scores.items()}
            for key, scores in content["cases"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidBaselineError(file=path.name) from error


def baseline_compare(baseline: Mapping[str, Mapping[str, float]], candidate: RunConfiguration) -> Comparison:
    """A baseline against a configuration: the cases that both have, with the same expectation.

    Files of versions before 2026.12 name cases by their question alone.
    """
    scores_by_key = scores_by_question(candidate)
    by_question = {key.partition("-")[0]: scores for key, scores in scores_by_key.items()}
    pairs = {key: scores_by_key.get(key) if "-" in key else by_question.get(key) for key in baseline}
    both = {key: scores for key, scores in sorted(pairs.items()) if scores is not None}
    return scores_compare(
        (
            ComparedCase(case=place, question=key, first=baseline[key], second=scores)
            for place, (key, scores) in enumerate(both.items())
        ),
        changed=len(baseline) - len(both),
    )
