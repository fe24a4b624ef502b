"""`manage.py evaluate --golden NAME`: ask every golden case, print the figures, fail below a limit (D34)."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.text import slugify

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from evaluation.models import EvaluationRun, GoldenSet
from evaluation.selectors import golden_set_named
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import golden_file_parse
from evaluation.services.runs import EvaluationOptions, evaluation_run
from knowledge.management.progress import ProgressLine, jobs_wait
from knowledge.models import KnowledgeSet
from knowledge.selectors import sets_managed
from knowledge.services import documents_bulk
from knowledge.services.sets import set_create
from ragcore.errors import RagError

BELOW_LIMIT = 2  # exit status of the gate; 1 is for errors


class Command(BaseCommand):
    help = "Run a golden set and print recall, nDCG, MRR and times with 95 % intervals."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--golden", required=True, help="name of the golden set")
        parser.add_argument(
            "--import", type=Path, dest="cases", metavar="FILE", help="first import cases: .csv, .jsonl"
        )
        parser.add_argument(
            "--corpus", type=Path, metavar="FILE", help='first ingest documents: JSON Lines {"id", "title", "text"}'
        )
        parser.add_argument("--set", dest="code", help="code of the set for --corpus; made if it is new")
        parser.add_argument("--answers", action="store_true", help="also generate answers")
        parser.add_argument("--limit", type=int, help="the first cases only")
        parser.add_argument("--mode", choices=["hybrid", "vector", "bm25"], default="hybrid")
        parser.add_argument("--no-rerank", action="store_false", dest="rerank")
        parser.add_argument("--min-ndcg", type=float, help=f"exit with {BELOW_LIMIT} if nDCG@10 is below it")
        parser.add_argument("--user", default="admin", help="whose rights count (default: admin)")

    def handle(self, *, golden: str, user: str, min_ndcg: float | None, **options: Any) -> None:
        asker = User.objects.select_related("tenant").filter(username=user).first()
        if asker is None:
            raise CommandError(f"There is no user {user!r}.")
        scope = scope_for(asker)
        try:
            golden_set = self._golden_set(scope, asker, golden, options["cases"])
            if options["corpus"]:
                self._ingest(scope, asker, golden_set, options["corpus"], options["code"])
            run = self._run(scope, asker, golden_set, options)
        except (RagError, OSError) as error:
            raise CommandError(str(error)) from error
        self._print(run)
        self._gate(run, min_ndcg)

    def _golden_set(self, scope: Scope, asker: User, name: str, cases: Path | None) -> GoldenSet:
        if cases is not None:
            done = golden_import(
                tenant=asker.tenant, name=name, rows=golden_file_parse(name=cases.name, content=cases.read_bytes())
            )
            self.stdout.write(f"{name}: {done.added} cases added, {done.updated} updated.")
        try:
            return golden_set_named(scope=scope, name=name)
        except NotFoundError as error:
            known = ", ".join(GoldenSet.objects.filter(tenant_id=scope.tenant_id).values_list("name", flat=True))
            raise CommandError(f"{error.message} There are: {known or 'none'}.") from error

    def _ingest(self, scope: Scope, asker: User, golden_set: GoldenSet, corpus: Path, code: str | None) -> None:
        """Put the corpus into a set of its own and ask the golden set there; what is in already is left alone."""
        code = code or slugify(golden_set.name) or f"golden-{golden_set.pk}"
        found = sets_managed(scope=scope).filter(code=code, tenant_id=scope.tenant_id).first()
        home = found or set_create(scope=scope, actor=asker, values={"code": code, "name": golden_set.name})
        golden_set.sets.add(home)
        accepted = documents_bulk(scope=scope, actor=asker, lines=corpus_lines(corpus, home))
        for rejected in accepted.rejected:
            self.stderr.write(f"{corpus.name} line {rejected.line}: {rejected.message} ({rejected.code})")
        for job in jobs_wait(scope=scope, job_ids=[accepted.job_id]):
            for error in job.errors:
                self.stderr.write(f"{error['external_id']}: {error['message']} ({error['code']})")

    def _run(self, scope: Scope, asker: User, golden_set: GoldenSet, options: dict[str, Any]) -> EvaluationRun:
        chosen = EvaluationOptions(
            mode=options["mode"], rerank=options["rerank"], answers=options["answers"], limit=options["limit"]
        )
        line = ProgressLine("Asking")
        try:
            return evaluation_run(scope=scope, user=asker, golden_set=golden_set, options=chosen, on_case=line.show)
        finally:
            line.close()

    def _print(self, run: EvaluationRun) -> None:
        self.stdout.write(f"{'figure':<16}{'value':>10}{'95 % interval':>22}{'cases':>8}")
        for name, figure in run.figures.items():
            digits = 0 if name.endswith("_ms") else 3
            value, low, high = (f"{figure[key]:.{digits}f}" for key in ("value", "low", "high"))
            self.stdout.write(f"{name:<16}{value:>10}{f'{low} – {high}':>22}{figure['cases']:>8}")

    def _gate(self, run: EvaluationRun, min_ndcg: float | None) -> None:
        if min_ndcg is None:
            return
        figure = run.figures.get("ndcg@10")
        if figure is None:
            raise CommandError("--min-ndcg needs cases with relevant documents.")
        if figure["value"] < min_ndcg:
            self.stderr.write(f"nDCG@10 is {figure['value']:.3f}, below the limit of {min_ndcg:g}.")
            raise SystemExit(BELOW_LIMIT)


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
