"""Evaluation runs that are open are worked off by background jobs; they go on behind the cases that they have asked."""

from django.db import migrations
from django.db.models import Count

KIND = "evaluation.run_evaluation"
STATES = {"running": "queued", "paused": "paused"}


def open_runs_to_jobs(apps, schema_editor):
    Job, Run = apps.get_model("work", "Job"), apps.get_model("evaluation", "EvaluationRun")
    rows = Run.objects.filter(state__in=STATES).select_related("golden_set")
    for row in rows.annotate(done=Count("configurations__outcomes")).order_by("pk"):
        job = Job.objects.create(
            kind=KIND,
            subject=f"evaluation_run:{row.pk}",
            tenant_id=row.golden_set.tenant_id,
            author_id=row.requested_by_id,
            arguments={"run_id": row.pk},
            state=STATES[row.state],
            done=row.done,
            total=row.total,
            attempt=row.takes,
            started=row.started if row.takes else None,
        )
        Job.objects.filter(pk=job.pk).update(created=row.started)


def jobs_to_runs(apps, schema_editor):
    """The rows of runs show the state of their jobs already."""
    Job, Run = apps.get_model("work", "Job"), apps.get_model("evaluation", "EvaluationRun")
    jobs = Job.objects.filter(kind=KIND)
    for job in jobs:
        Run.objects.filter(pk=job.arguments["run_id"]).update(takes=job.attempt)
    jobs.delete()


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0022_searches_for_cases_as_jobs"), ("work", "0001_initial")]

    operations = [
        migrations.RunPython(open_runs_to_jobs, jobs_to_runs),
        migrations.RemoveField(model_name="evaluationrun", name="called"),
        migrations.RemoveField(model_name="evaluationrun", name="leased_until"),
        migrations.RemoveField(model_name="evaluationrun", name="takes"),
    ]
