"""Runs of before had one configuration, and their cases in a field."""

from django.db import migrations

NOT_SCORES = ("id", "milliseconds", "found")
SHARE_OF_SECOND = 0.001


def outcomes_from_cases(apps, schema_editor):
    """A configuration and outcomes for each run that has none."""
    configurations = apps.get_model("evaluation", "RunConfiguration").objects
    outcomes = apps.get_model("evaluation", "CaseOutcome")
    for run in apps.get_model("evaluation", "EvaluationRun").objects.filter(configurations=None).iterator(100):
        configuration = configurations.create(
            run=run,
            name="live",
            component="answer" if run.options.get("answers") else "retrieval",
            retrieval_mode=run.options.get("mode", "hybrid"),
            options_sha256=run.options_sha256,
            figures=run.figures,
        )
        known = {case["id"]: case for case in run.cases if "id" in case}
        outcomes.objects.bulk_create(
            outcomes(
                configuration=configuration,
                case=number,
                scores={name: value for name, value in case.items() if name not in NOT_SCORES},
                seconds=case.get("milliseconds", 0) * SHARE_OF_SECOND,
            )
            for number, case in known.items()
        )


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0008_evaluation_runs")]
    operations = [migrations.RunPython(outcomes_from_cases, migrations.RunPython.noop)]
