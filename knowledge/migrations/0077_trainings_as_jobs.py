"""Trainings are background jobs; those that are under way go on from what they have stored."""

from django.db import migrations, models

KINDS = {"QueryAdapter": "evaluation.train_adapter", "RerankerFit": "evaluation.fit_reranker"}
JOB_STATES = {"queued": "queued", "training": "queued", "cancelled": "cancelled", "failed": "failed"}
CODES = {"lost": "interrupted", "internal": "internal"}  # reasons of before that are errors of all background work
STATES = [
    ("building", "Training"),
    ("ready", "Better, not in use"),
    ("no_gain", "No gain, nothing changed"),
    ("live", "In use"),
    ("retired", "Was in use"),
    ("cancelled", "Cancelled"),
    ("failed", "Failed"),
]
OF_JOB = ("starts", "slices", "leased_until", "finished", "round", "rounds", "seconds")
OF_FAULT = ("error_code", "error_message", "error_data")
SHOWN = ("found", "searched", "to_search", "fits", "fits_total")  # figures of the work itself


def trainings_to_jobs(apps, schema_editor):
    Job = apps.get_model("work", "Job")
    for name, kind in KINDS.items():
        Row = apps.get_model("knowledge", name)
        for row in Row.objects.defer("checkpoint", "weights").order_by("pk").iterator():
            code = CODES.get(row.error_data.get("reason"))
            counts = {key: row.figures[key] for key in SHOWN if key in row.figures}
            job = Job.objects.create(
                kind=kind,
                subject=f"version:{row.pk}",
                tenant_id=row.tenant_id,
                author_id=row.author_id,
                arguments={"version_id": row.pk},
                state=JOB_STATES.get(row.state, "done"),
                done=row.round,
                total=row.rounds,
                figures={**counts, "seconds": row.seconds},
                attempt=row.starts,
                error_code=code or row.error_code,
                error_data={} if code else row.error_data,
                started=row.created if row.starts else None,
                finished=row.finished,
            )
            Job.objects.filter(pk=job.pk).update(created=row.created)
        Row.objects.filter(state__in=("queued", "training")).update(state="building")


def jobs_to_trainings(apps, schema_editor):
    """A fault keeps its code; its text is made of it."""
    Job = apps.get_model("work", "Job")
    for name, kind in KINDS.items():
        Row = apps.get_model("knowledge", name)
        Row.objects.filter(state="building").update(state="queued")
        for job in Job.objects.filter(kind=kind).order_by("pk"):
            Row.objects.filter(pk=job.arguments["version_id"]).update(
                round=job.done,
                rounds=job.total,
                seconds=job.figures.get("seconds", 0.0),
                error_code=job.error_code,
                error_data=job.error_data,
                finished=job.finished,
            )
        Job.objects.filter(kind=kind).delete()
    schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # rows that were written twice wait for checks of their keys


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0076_fills_of_vectors_as_jobs"), ("work", "0001_initial")]

    operations = [
        migrations.RemoveConstraint("queryadapter", "knowledge_adapter_one_training"),
        migrations.RemoveConstraint("rerankerfit", "knowledge_fit_one_training"),
        migrations.RunPython(trainings_to_jobs, jobs_to_trainings),
        *(
            migrations.AlterField(
                model,
                "state",
                models.CharField(choices=STATES, default="building", max_length=16, verbose_name="state"),
            )
            for model in ("queryadapter", "rerankerfit")
        ),
        migrations.AddConstraint(
            "queryadapter",
            models.UniqueConstraint(
                condition=models.Q(state="building"), fields=["knowledge_set"], name="knowledge_adapter_one_training"
            ),
        ),
        migrations.AddConstraint(
            "rerankerfit",
            models.UniqueConstraint(
                condition=models.Q(state="building"), fields=["tenant"], name="knowledge_fit_one_training"
            ),
        ),
        *(
            migrations.RemoveField(model, field)
            for model in ("queryadapter", "rerankerfit")
            for field in (*OF_JOB, *OF_FAULT)
        ),
    ]
