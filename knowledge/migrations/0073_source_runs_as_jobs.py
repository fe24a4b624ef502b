"""Runs that wait, go on or are paused become background jobs; they go on with the source at which they were."""

from datetime import timedelta

from django.db import migrations
from django.utils import timezone

SYNC_SOURCES, FETCH_PAGE = "knowledge.sync_sources", "knowledge.fetch_page"
OPEN = ("queued", "running", "paused")
RECENT = timedelta(days=7)  # older runs were not taken up any more
BROKEN_OFF = "The last run was interrupted."


def runs_to_jobs(apps, schema_editor):
    Job, Run = apps.get_model("work", "Job"), apps.get_model("knowledge", "SyncRun")
    Source = apps.get_model("knowledge", "Source")
    rows = Run.objects.filter(finished=None, job__cancelled=None, job__created__gt=timezone.now() - RECENT)
    for run in rows.select_related("job").order_by("pk"):
        sources = {} if run.request else {"sources": run.pending_sources, "trusted_folder": ""}
        run.work = Job.objects.create(
            kind=FETCH_PAGE if run.request else SYNC_SOURCES,
            subject=f"job:{run.pk}",
            tenant_id=run.job.tenant_id,
            author_id=run.job.created_by_id,
            arguments={"job_id": run.pk, **sources},
            checkpoint={"position": 0, "counts": run.checkpoint} if run.checkpoint else {},
            state="paused" if run.job.paused else "queued",
            attempt=run.attempt,
            started=run.job.created if run.attempt else None,
        )
        run.save(update_fields=["work"])
        Source.objects.filter(pk__in=run.pending_sources[:1], outcome="running", run=None).update(run=run)
    Source.objects.filter(outcome="running", run=None).update(outcome="failed", message=BROKEN_OFF, message_data={})


def jobs_to_runs(apps, schema_editor):
    """Workers of before take up what is open; all other runs are over."""
    Job, Run = apps.get_model("work", "Job"), apps.get_model("knowledge", "SyncRun")
    now = timezone.now()
    for run in Run.objects.filter(work__state__in=OPEN).select_related("work"):
        run.pending_sources = run.work.arguments.get("sources", [])[run.work.checkpoint.get("position", 0) :]
        run.checkpoint = run.work.checkpoint.get("counts", {})
        run.attempt = min(run.work.attempt, 32767)
        run.heartbeat = now
        run.lease_until = run.work.lease_until
        run.save(update_fields=["pending_sources", "checkpoint", "attempt", "heartbeat", "lease_until"])
    Run.objects.exclude(work__in=Job.objects.filter(state__in=OPEN)).update(finished=now)
    Job.objects.filter(kind__in=(SYNC_SOURCES, FETCH_PAGE)).delete()


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0072_work_of_source_runs")]

    operations = [migrations.RunPython(runs_to_jobs, jobs_to_runs)]
