"""`manage.py evaluate`: ask golden sets, print the figures, and say by the exit status whether they are good enough.

Exit status: 0 passed (or nothing to pass), 1 the gate or a limit failed, 2 wrong usage or an error.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from django.utils.text import slugify

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from evaluation.models import GoldenSet, RunConfiguration
from evaluation.selectors import golden_set_named, run_get
from evaluation.services.gates import guarding_sets
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import golden_file_parse
from evaluation.services.runs.comparison import (
    Comparison,
    GateVerdict,
    configuration_failures,
    configuration_means,
    gate_judge,
)
from evaluation.services.runs.figures import ordered
from evaluation.services.runs.files import (
    baseline_compare,
    baseline_read,
    baseline_write,
    fault_words,
    figures_json,
    scores_by_question,
    verdict_junit,
)
from evaluation.services.runs.lifecycle import evaluation_run
from evaluation.services.runs.plan_text import plan_read
from evaluation.services.runs.plans import ConfigurationPlan
from knowledge.management.progress import ProgressLine, jobs_wait
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_listed, sets_managed
from knowledge.services import documents_bulk
from knowledge.services.sets import set_create
from ragcore.errors import RagError

FAILED = 1  # the gate, or a limit
ERROR = 2  # wrong usage, which argparse ends with as well, and errors
Baseline = Mapping[str, Mapping[str, float]]


def refusal(message: str) -> CommandError:
    """An error that ends the command with ERROR."""
    return CommandError(message, returncode=ERROR)


class Command(BaseCommand):
    help = (
        "Run golden sets and print figures with 95 % intervals. "
        "Exit status: 0 passed, 1 the gate or a limit failed, 2 wrong usage or an error."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--golden", help="name of the golden set")
        parser.add_argument(
            "--set", dest="code", help="code of a knowledge set: of --corpus, else whose guards are asked"
        )
        parser.add_argument(
            "--import", type=Path, dest="cases", metavar="FILE", help="first import cases: .csv, .jsonl"
        )
        parser.add_argument(
            "--corpus", type=Path, metavar="FILE", help='first ingest documents: JSON Lines {"id", "title", "text"}'
        )
        parser.add_argument("--answers", action="store_true", help="generate answers, not only search")
        parser.add_argument("--limit", type=int, help="the first cases only")
        parser.add_argument("--mode", choices=["hybrid", "vector", "bm25"], default="hybrid")
        parser.add_argument("--no-rerank", action="store_false", dest="rerank")
        parser.add_argument(
            "--option", action="append", default=[], metavar="GROUP.NAME=VALUE", help="over the live settings"
        )
        parser.add_argument("--gate", action="store_true", help=f"exit with {FAILED} if the gate does not pass")
        parser.add_argument("--baseline", metavar="RUN|FILE", help="number of a run, or a file of --output")
        parser.add_argument("--output", type=Path, metavar="FILE", help="write the scores as a later baseline")
        parser.add_argument(
            "--figures", type=Path, metavar="FILE", help="write all figures, also by dimension, as JSON"
        )
        parser.add_argument("--junit", type=Path, metavar="FILE", help="write the verdict as JUnit XML")
        parser.add_argument("--min-ndcg", type=float, help=f"exit with {FAILED} if nDCG@10 is below it")
        parser.add_argument("--user", default="admin", help="whose rights count (default: admin)")

    def handle(self, *, user: str, **options: Any) -> None:
        try:
            asker = User.objects.select_related("tenant").filter(username=user).first()
            if asker is None:
                raise refusal(f"There is no user {user!r}.")
            scope = scope_for(asker)
            passed = [
                self._evaluate(scope, asker, golden_set, options)
                for golden_set in self._golden_sets(scope, asker, options)
            ]
        except (RagError, OSError, DatabaseError) as error:
            raise refusal(str(error)) from error
        if not all(passed):
            raise SystemExit(FAILED)

    # ── what is asked ───────────────────────────────────────────────────────────────────────────

    def _golden_sets(self, scope: Scope, asker: User, options: dict[str, Any]) -> list[GoldenSet]:
        name, code = options["golden"], options["code"]
        if not name:
            if not code or options["cases"] or options["corpus"]:
                raise refusal("Name a golden set with --golden, or with --set the knowledge set that it guards.")
            return self._guards(scope, code)
        golden_set = self._golden_set(scope, asker, name, options["cases"])
        if options["corpus"]:
            self._ingest(scope, asker, golden_set, options["corpus"], code)
        return [golden_set]

    def _guards(self, scope: Scope, code: str) -> list[GoldenSet]:
        home = sets_listed(scope=scope).filter(code=code, tenant_id=scope.tenant_id).first()
        if home is None:
            raise refusal(f"There is no knowledge set {code!r}.")
        guards = list(guarding_sets(knowledge_set=home))
        if not guards:
            self.stdout.write(f"No golden set with cases guards {code}: nothing to measure.")
        return guards

    def _golden_set(self, scope: Scope, asker: User, name: str, cases: Path | None) -> GoldenSet:
        if cases is not None:
            rows = golden_file_parse(name=cases.name, content=cases.read_bytes())
            result = golden_import(tenant=asker.tenant, name=name, rows=rows, scope=scope)
            self.stdout.write(f"{name}: {result.added} cases added, {result.updated} updated.")
        try:
            return golden_set_named(scope=scope, name=name)
        except NotFoundError as error:
            names = ", ".join(GoldenSet.objects.filter(tenant_id=scope.tenant_id).values_list("name", flat=True))
            raise refusal(f"{error.message} There are: {names or 'none'}.") from error

    def _ingest(self, scope: Scope, asker: User, golden_set: GoldenSet, corpus: Path, code: str | None) -> None:
        """Put the corpus into a set of its own and ask the golden set there; what is in already is left alone."""
        code = code or slugify(golden_set.name) or f"golden-{golden_set.pk}"
        existing = sets_managed(scope=scope).filter(code=code, tenant_id=scope.tenant_id).first()
        home = existing or set_create(scope=scope, actor=asker, values={"code": code, "name": golden_set.name})
        golden_set.sets.add(home)
        accepted = documents_bulk(scope=scope, actor=asker, lines=corpus_lines(corpus, home))
        for rejected in accepted.rejected:
            self.stderr.write(f"{corpus.name} line {rejected.line}: {rejected.message} ({rejected.code})")
        for job in jobs_wait(scope=scope, job_ids=[accepted.job_id]):
            for error in job.errors:
                self.stderr.write(f"{error['external_id']}: {error['message']} ({error['code']})")

    def _plan(self, options: dict[str, Any]) -> ConfigurationPlan:
        lines = [*options["option"], f"search.mode = {options['mode']}"]
        if not options["rerank"]:
            lines.append("retrieval.rerank = false")
        kinds = RunConfiguration.Component
        return plan_read("candidate", "\n".join(lines), kinds.ANSWER if options["answers"] else kinds.RETRIEVAL)

    # ── asking and judging ──────────────────────────────────────────────────────────────────────

    def _evaluate(self, scope: Scope, asker: User, golden_set: GoldenSet, options: dict[str, Any]) -> bool:
        """Whether everything that was asked for has passed."""
        baseline = self._baseline(scope, golden_set, options["baseline"])
        line = ProgressLine("Asking")
        try:
            run = evaluation_run(
                scope=scope,
                user=asker,
                golden_set=golden_set,
                configurations=[self._plan(options)],
                limit=options["limit"],
                on_case=line.show,
            )
        finally:
            line.close()
        candidate = run.configurations.get()
        self._print(golden_set, candidate)
        if options["output"]:
            options["output"].write_text(baseline_write(candidate), encoding="utf-8")
        if options["figures"]:
            options["figures"].write_text(figures_json(candidate), encoding="utf-8")
        passed = self._is_above(candidate, options["min_ndcg"])
        comparison = baseline_compare(baseline, candidate) if baseline is not None else None
        if comparison is not None and not comparison.cases:
            raise refusal(f"The baseline has no case of {golden_set.name}.")
        verdict = gate_judge(
            means=configuration_means(candidate),
            floors=golden_set.floors,
            comparison=comparison,
            failures=[configuration_failures(candidate)],
        )
        if options["junit"]:
            options["junit"].write_bytes(verdict_junit(verdict, name=golden_set.name, comparison=comparison))
        if options["gate"] or options["baseline"]:
            self._say(verdict, comparison)
        return passed and (verdict.has_passed or not options["gate"])

    def _baseline(self, scope: Scope, golden_set: GoldenSet, reference: str | None) -> Baseline | None:
        if reference is None:
            return None
        if not reference.isdecimal():
            return baseline_read(Path(reference))
        run = run_get(scope=scope, run_id=int(reference))
        if run.golden_set_id != golden_set.pk:
            raise refusal(f"Run {reference} is one of another golden set.")
        first = run.configurations.first()
        return scores_by_question(first) if first is not None else {}

    def _print(self, golden_set: GoldenSet, configuration: RunConfiguration) -> None:
        self.stdout.write(f"{golden_set.name}, run {configuration.run_id}")
        self.stdout.write(f"{'figure':<24}{'value':>10}{'95 % interval':>22}{'deviation':>12}{'cases':>8}")
        for name in ordered(configuration.figures):
            figure = configuration.figures[name]
            digits = 0 if name.endswith("_ms") else 3
            value, low, high, deviation = (f"{figure[key]:.{digits}f}" for key in ("value", "low", "high", "sd"))
            self.stdout.write(f"{name:<24}{value:>10}{f'{low} – {high}':>22}{deviation:>12}{figure['cases']:>8}")
        if configuration.failed:
            self.stderr.write(f"{configuration.failed} cases failed and count as 0.")

    def _say(self, verdict: GateVerdict, comparison: Comparison | None) -> None:
        if comparison is None:
            self.stdout.write("Without a baseline only lowest values are checked.")
        else:
            for name, difference in comparison.metrics.items():
                interval = f"[{difference.low:+.3f}, {difference.high:+.3f}]"
                self.stdout.write(
                    f"{name:<24}{difference.difference:>+10.3f}{interval:>22}{f'p {difference.p_corrected:.3f}':>12}"
                )
            if comparison.changed:
                self.stdout.write(f"{comparison.changed} cases were changed, added or removed since: left out.")
        for fault in verdict.faults:
            self.stderr.write(fault_words(fault))
        if verdict.is_too_small or verdict.is_undecided:
            self.stdout.write(
                f"{verdict.differing} of {verdict.compared} cases differ. A test needs at least {verdict.least}; until"
                " then only a fall of a mean by more than 0.05 or a lowest value counts."
            )
        self.stdout.write("The gate has passed." if verdict.has_passed else "The gate has failed.")

    def _is_above(self, configuration: RunConfiguration, min_ndcg: float | None) -> bool:
        if min_ndcg is None:
            return True
        figure = configuration.figures.get("ndcg@10")
        if figure is None:
            raise refusal("--min-ndcg needs cases with relevant documents.")
        if figure["value"] < min_ndcg:
            self.stderr.write(f"nDCG@10 is {figure['value']:.3f}, below the limit of {min_ndcg:g}.")
            return False
        return True


def corpus_lines(corpus: Path, home: KnowledgeSet) -> Iterator[bytes]:
    """Lines for `documents_bulk` from {"id", "title", "text"}; what is no JSON object is rejected there."""
    with corpus.open("rb") as lines:
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                yield line
                continue
            document = {"external_id": row.get("id"), "title": row.get("title") or "", "text": row.get("text")}
            yield json.dumps({**document, "format": "text", "sets": [home.pk]}).encode()
