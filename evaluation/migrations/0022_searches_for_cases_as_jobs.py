"""Searches for golden cases are background jobs; those that are under way go on behind their last passage."""

from django.db import migrations

KIND = "evaluation.propose_cases"


def searches_to_jobs(apps, schema_editor):
    Job, Run = apps.get_model("work", "Job"), apps.get_model("evaluation", "ProposalRun")
    for row in Run.objects.select_related("golden_set").order_by("pk").iterator():
        figures = {"dropped": row.dropped, "failed": row.failed}
        job = Job.objects.create(
            kind=KIND,
            subject=f"golden_set:{row.golden_set_id}",
            tenant_id=row.golden_set.tenant_id,
            author_id=row.requested_by_id,
            arguments={
                "golden_set_id": row.golden_set_id,
                "with_model": row.with_model,
                "styles": row.styles,
                "chunks": row.chunks,
            },
            state="queued" if row.state == "running" else row.state,
            done=row.made,
            total=row.wanted,
            figures={name: count for name, count in figures.items() if count},
            checkpoint={"position": row.position} if row.position else {},
            attempt=row.takes,
            started=row.created if row.takes or row.finished else None,
            finished=row.finished,
        )
        Job.objects.filter(pk=job.pk).update(created=row.created)


def jobs_to_searches(apps, schema_editor):
    Job, Run = apps.get_model("work", "Job"), apps.get_model("evaluation", "ProposalRun")
    known = set(apps.get_model("evaluation", "GoldenSet").objects.values_list("pk", flat=True))
    states = {"done": "done", "queued": "running", "running": "running", "paused": "running"}
    for job in Job.objects.filter(kind=KIND).order_by("pk"):
        if job.arguments["golden_set_id"] not in known:
            continue
        row = Run.objects.create(
            **job.arguments,
            requested_by_id=job.author_id,
            wanted=job.total,
            position=job.checkpoint.get("position", 0),
            made=job.done,
            dropped=job.figures.get("dropped", 0),
            failed=job.figures.get("failed", 0),
            state=states.get(job.state, "cancelled"),
            takes=job.attempt,
            finished=job.finished,
        )
        Run.objects.filter(pk=row.pk).update(created=job.created)
    Job.objects.filter(kind=KIND).delete()


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0021_diagnoses_as_jobs")]

    operations = [
        migrations.RunPython(searches_to_jobs, jobs_to_searches),
        migrations.DeleteModel(name="ProposalRun"),
    ]
