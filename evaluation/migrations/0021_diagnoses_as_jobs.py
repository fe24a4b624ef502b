"""Runs of diagnoses are background jobs; those that are under way go on behind their last case."""

from django.db import migrations
from django.utils import timezone

KIND = "evaluation.diagnose_cases"


def runs_to_jobs(apps, schema_editor):
    """Of several open runs of a tenant the latest one goes on."""
    Job, Run = apps.get_model("work", "Job"), apps.get_model("evaluation", "DiagnosisRun")
    going_on, jobs, started = set(), [], []
    for row in Run.objects.order_by("-pk").iterator():
        is_open = row.finished is None and row.tenant_id not in going_on
        if is_open:
            going_on.add(row.tenant_id)
        figures = {"diagnosed": row.done, "failed": row.failed}
        jobs.append(
            Job(
                kind=KIND,
                tenant_id=row.tenant_id,
                author_id=row.requested_by_id,
                state="queued" if is_open else "done",
                done=row.done + row.failed,
                total=row.total,
                figures={name: count for name, count in figures.items() if count},
                checkpoint={"last_case": row.last_case} if row.last_case else {},
                attempt=row.takes,
                started=row.started if row.takes or row.finished else None,
                finished=None if is_open else row.finished or timezone.now(),
            )
        )
        started.append(row.started)
    jobs.reverse()
    Job.objects.bulk_create(jobs, batch_size=500)
    for job, time in zip(jobs, reversed(started), strict=True):  # the model writes the time of its own creation
        Job.objects.filter(pk=job.pk).update(created=time)


def jobs_to_runs(apps, schema_editor):
    Job, Run = apps.get_model("work", "Job"), apps.get_model("evaluation", "DiagnosisRun")
    for job in Job.objects.filter(kind=KIND).order_by("pk"):
        row = Run.objects.create(
            tenant_id=job.tenant_id,
            requested_by_id=job.author_id,
            total=job.total,
            done=job.figures.get("diagnosed", 0),
            failed=job.figures.get("failed", 0),
            last_case=job.checkpoint.get("last_case", 0),
            takes=job.attempt,
            finished=None if job.state in ("queued", "running", "paused") else job.finished,
        )
        Run.objects.filter(pk=row.pk).update(started=job.created)
    Job.objects.filter(kind=KIND).delete()


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0020_gate_of_set_embedders"), ("work", "0001_initial")]

    operations = [
        migrations.RunPython(runs_to_jobs, jobs_to_runs),
        migrations.DeleteModel(name="DiagnosisRun"),
    ]
