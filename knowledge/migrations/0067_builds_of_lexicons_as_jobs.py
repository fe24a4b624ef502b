"""Versions of lexicons are built by background jobs; those that are being built go on."""

from django.db import migrations, models

KIND = "knowledge.build_lexicon"


def builds_to_jobs(apps, schema_editor):
    """Versions that wait at the gate are built already. A fault that was stored is for the log only."""
    Job, Version = apps.get_model("work", "Job"), apps.get_model("knowledge", "LexiconVersion")
    states = {"building": "queued", "failed": "failed"}
    for row in Version.objects.filter(state__in=states).defer("entries").order_by("pk"):
        if "change" in row.measured:
            continue
        is_open = row.state == "building"
        Job.objects.create(
            kind=KIND,
            subject=f"version:{row.pk}",
            tenant_id=row.tenant_id,
            author_id=row.author_id,
            arguments={"version_id": row.pk},
            state=states[row.state],
            done=row.names_done,
            total=row.names,
            failures=min(row.failures, 2) if is_open else row.failures,
            error_code="internal" if row.problem else "",
            finished=None if is_open else row.heartbeat,
        )


def jobs_to_builds(apps, schema_editor):
    Job, Version = apps.get_model("work", "Job"), apps.get_model("knowledge", "LexiconVersion")
    for job in Job.objects.filter(kind=KIND).order_by("pk"):
        Version.objects.filter(pk=job.arguments["version_id"]).update(
            failures=min(job.failures, 2) if job.state != "failed" else 3, problem=job.error_code
        )
    Job.objects.filter(kind=KIND).delete()


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0066_searches_for_terms_as_jobs")]

    operations = [
        migrations.RunPython(builds_to_jobs, jobs_to_builds),
        migrations.RemoveField(model_name="lexiconversion", name="heartbeat"),
        migrations.RemoveField(model_name="lexiconversion", name="claim"),
        migrations.RemoveField(model_name="lexiconversion", name="failures"),
        migrations.RemoveField(model_name="lexiconversion", name="problem"),
    ]
