"""`manage.py llm_check [--show]`: examine the language models in use, and print what each can be trusted with."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from knowledge.jobs.examine_model import examined_profile, result_of
from knowledge.model_exam_words import SKILLS, profile_rows
from knowledge.model_setup import ModelSpec, setup_now, setup_refresh
from knowledge.models import ModelExam
from knowledge.services.model_exams import exam_store
from ragcore.errors import ModelUnavailableError
from ragcore.llm.exam_results import TaskResult
from ragcore.llm.exam_tasks import exam_tasks
from ragcore.llm.model_profile import parse_profile


class Command(BaseCommand):
    help = "Examine the language models in use and print their profiles; exits with 1 where a model does not answer."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--show", action="store_true", help="print the stored profiles, ask nobody")

    def handle(self, *, show: bool, **options: Any) -> None:
        setup_refresh(now=True)
        specs = {spec.fingerprint: spec for spec in setup_now().models.values() if spec.endpoints}
        if not specs:
            raise CommandError("No language model is configured.")
        is_answered = True
        for spec in specs.values():
            is_answered = (self._show(spec) if show else self._examine(spec)) and is_answered
        if not is_answered:
            raise SystemExit(1)

    def _examine(self, spec: ModelSpec) -> bool:
        """Whether the model answers at all."""
        results: list[TaskResult] = []
        for number, task in enumerate(exam_tasks(), start=1):
            try:
                results.append(result_of(task, results, spec))
            except ModelUnavailableError as error:
                self.stdout.write(f"{spec.name}: does not answer: {error.message}")
                return False
            outcome = "right" if results[-1].is_right else results[-1].problem or "wrong"
            self.stdout.write(f"{spec.name} {number}/{len(exam_tasks())} {SKILLS[task.skill]}: {outcome}")
        if all(result.first_seconds is None for result in results):
            self.stdout.write(f"{spec.name}: does not answer ({results[0].problem}).")
            return False
        profile = examined_profile(spec, results)
        exam_store(fingerprint=spec.fingerprint, name=spec.name, results=results, profile=profile)
        return self._show(spec)

    def _show(self, spec: ModelSpec) -> bool:
        exam = ModelExam.objects.filter(fingerprint=spec.fingerprint).first()
        if exam is None:
            self.stdout.write(f"{spec.name}: not examined yet.")
            return True
        for label, value in profile_rows(parse_profile({**exam.profile, **exam.overrides})):
            self.stdout.write(f"{spec.name}: {label}: {value}")
        return True
