"""`make bench-judge DATA=DIR`: the judge without a model beside people, word overlap and the cosine of embeddings.

DIR holds pairs.jsonl: query, gt_answer, model1 and model2 with a response, correctness_label, completeness_label and
overall_label from -2 (the first answer is better) to 2. People are the mean of their annotators. FAITHFUL=DIR adds
samples.jsonl (source, response, hallucinated), GROUNDED=DIR answerable.jsonl (question, passage, outputs), FACTS=DIR
LANGUAGE_fact.jsonl (query, answer, fakeanswer, positive), whose figures stand by language.
The last line is one JSON object; `over_best_baseline` is a difference of Pearson's r.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from bench.judge.agreement import (
    baselines,
    cross_validated,
    differences,
    judged_answer,
    margin,
    pearson,
    preferences,
    spearman,
    table,
)
from bench.judge.grounded import faithfulness_figures, false_answer_figures, ordering_figures
from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.scoring.rules import WEIGHTS, AnswerJudge, comparison_parts
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import JiebaTokenizer

ASPECTS = ("correctness", "completeness")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.judge", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path, help="with pairs.jsonl")
    parser.add_argument("--faithful", type=Path, help="folder with samples.jsonl")
    parser.add_argument("--grounded", type=Path, help="folder with answerable.jsonl")
    parser.add_argument("--facts", type=Path, help="folder with LANGUAGE_fact.jsonl")
    parser.add_argument("--models", type=Path, default=Path("data/models"), help="where the exported embedder is kept")
    given = parser.parse_args()
    more = {"faithful": given.faithful, "grounded": given.grounded, "facts": given.facts}
    print(run(given.folder, models=given.models, **more))


def run(
    folder: Path,
    *,
    models: Path,
    faithful: Path | None = None,
    grounded: Path | None = None,
    facts: Path | None = None,
) -> str:
    """Tables, and the JSON line."""
    judge = AnswerJudge(JiebaTokenizer(), EmbeddedEmbedder(models))
    figures, text = agreement(folder, judge)
    if faithful is not None:
        figures["faithfulness"] = faithfulness_figures(faithful, judge)
    if grounded is not None:
        figures["right_order"] = ordering_figures(grounded, judge)
    if facts is not None:
        figures["false_answers"] = false_answer_figures(facts, judge)
    return f"{text}\n\n{json.dumps(figures)}"


def agreement(folder: Path, judge: AnswerJudge) -> tuple[dict[str, Any], str]:
    """Correlations with people, and the same as a table."""
    rows = preferences(folder)
    first = [judge.judge(judged_answer(row, row.first)) for row in rows]
    second = [judge.judge(judged_answer(row, row.second)) for row in rows]
    people = {name: np.array([getattr(row, name) for row in rows]) for name in ("overall", *ASPECTS)}
    ours = {
        name: np.array([getattr(b, name) - getattr(a, name) for a, b in zip(first, second, strict=True)])
        for name in ("score", *ASPECTS)
    }
    plain = {name: differences(rows, measure) for name, measure in baselines(judge).items()}
    best = max(plain, key=lambda name: pearson(plain[name], people["overall"]))
    over, low, high = margin(ours["score"], plain[best], people["overall"])
    features = [[comparison_parts(judge, judged_answer(row, text)) for text in (row.first, row.second)] for row in rows]
    parts = {name: np.array([b[name] - a[name] for a, b in features]) for name in WEIGHTS}
    validated, weights = cross_validated(parts, people["overall"])
    lines = [("judge, overall", pearson(ours["score"], people["overall"]), spearman(ours["score"], people["overall"]))]
    lines += [
        (f"judge, {name}", pearson(ours[name], people[name]), spearman(ours[name], people[name])) for name in ASPECTS
    ]
    lines += [
        (name, pearson(values, people["overall"]), spearman(values, people["overall"]))
        for name, values in plain.items()
    ]
    found = {
        "pairs": len(rows),
        "languages": dict(Counter(language_of(row.question) for row in rows)),
        "pearson": round(lines[0][1], 4),
        "spearman": round(lines[0][2], 4),
        "cross_validated_pearson": round(validated, 4),
        "aspects": {name: round(pearson(ours[name], people[name]), 4) for name in ASPECTS},
        "baselines": {name: round(pearson(values, people["overall"]), 4) for name, values in plain.items()},
        "over_best_baseline": round(over, 4),
        "interval": [round(low, 4), round(high, 4)],
    }
    fitted = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
    return found, f"{table(lines)}\n\nweights fitted to all pairs: {fitted}; five folds: Pearson {validated:.3f}"


if __name__ == "__main__":
    main()
