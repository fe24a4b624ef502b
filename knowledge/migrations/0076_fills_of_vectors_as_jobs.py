"""Vectors by other embedding models are made by background jobs; what is being made goes on."""

from django.db import migrations

SITE, OF_SET = "knowledge.fill_vectors", "knowledge.fill_set_vectors"
STATES = {"building": "queued", "paused": "paused", "ready": "done"}


def fills_to_jobs(apps, schema_editor):
    """The site's jobs stand with the default tenant. Models that are in use already get their jobs when they are due."""
    Tenant = apps.get_model("accounts", "Tenant")
    home = Tenant.objects.order_by("-is_default", "pk").first()
    for row in apps.get_model("knowledge", "EmbedderSwitch").objects.filter(state__in=STATES).order_by("pk"):
        _job(apps, SITE, f"switch:{row.pk}", home.pk, row)
    for row in apps.get_model("knowledge", "SetEmbedder").objects.filter(state__in=STATES).order_by("pk"):
        _job(apps, OF_SET, f"set_embedder:{row.pk}", row.tenant_id, row)


def _job(apps, kind, subject, tenant, row):
    state = STATES[row.state]
    apps.get_model("work", "Job").objects.create(
        kind=kind,
        subject=subject,
        tenant_id=tenant,
        state=state,
        done=row.done,
        total=row.total,
        error_code=row.error_code,
        error_data=row.error_data,
        started=row.created,
        finished=row.heartbeat if state == "done" else None,
    )


def jobs_to_fills(apps, schema_editor):
    Job = apps.get_model("work", "Job")
    for kind, name in ((SITE, "EmbedderSwitch"), (OF_SET, "SetEmbedder")):
        for job in Job.objects.filter(kind=kind).exclude(subject="").order_by("pk"):
            rows = apps.get_model("knowledge", name).objects.filter(pk=job.subject.partition(":")[2])
            rows.update(done=job.done, total=job.total, error_code=job.error_code, error_data=job.error_data)
        Job.objects.filter(kind=kind).delete()


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0075_imports_of_triples_as_jobs")]

    operations = [
        migrations.RunPython(fills_to_jobs, jobs_to_fills),
        *(
            migrations.RemoveField(model_name=model, name=field)
            for model in ("embedderswitch", "setembedder")
            for field in ("done", "total", "heartbeat", "error_code", "error_message", "error_data")
        ),
    ]
