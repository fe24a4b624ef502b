"""Searches for terms are background jobs; those that wait or run go on."""

from django.db import migrations
from django.utils import timezone

KIND = "knowledge.mine_terms"
OPEN = ("queued", "running")
CODES = {"worker_lost": "interrupted"}  # before → now


def subject_of(set_id):
    return "" if set_id is None else f"set:{set_id}"


def searches_to_jobs(apps, schema_editor):
    """The latest open search of a lexicon waits for a worker; an older one had lost its worker."""
    Job, Search = apps.get_model("work", "Job"), apps.get_model("knowledge", "LexiconMining")
    waiting, jobs = set(), []
    for row in Search.objects.order_by("-pk").iterator():
        state, error, finished = row.state, CODES.get(row.error_code, row.error_code), row.finished
        place = (row.tenant_id, row.knowledge_set_id)
        if state in OPEN and row.is_cancelled:
            state, finished = "cancelled", timezone.now()
        elif state in OPEN and place in waiting:
            state, error, finished = "failed", "interrupted", timezone.now()
        elif state in OPEN:
            state = "queued"
            waiting.add(place)
        jobs.append(
            Job(
                kind=KIND,
                subject=subject_of(row.knowledge_set_id),
                tenant_id=row.tenant_id,
                author_id=row.author_id,
                arguments={"set_id": row.knowledge_set_id},
                state=state,
                done=row.documents_done,
                total=row.documents,
                figures={"found": row.found} if state == "done" else {},
                attempt=row.starts,
                error_code=error,
                started=row.created if row.starts or state == "done" else None,
                finished=finished,
            )
        )
    jobs.reverse()
    created = dict(Search.objects.order_by("pk").values_list("pk", "created"))
    Job.objects.bulk_create(jobs, batch_size=500)
    for job, time in zip(jobs, created.values(), strict=True):  # the model writes the time of its own creation
        Job.objects.filter(pk=job.pk).update(created=time)


def jobs_to_searches(apps, schema_editor):
    Job, Search = apps.get_model("work", "Job"), apps.get_model("knowledge", "LexiconMining")
    Set = apps.get_model("knowledge", "KnowledgeSet")
    sets = set(Set.objects.values_list("pk", flat=True))
    for job in Job.objects.filter(kind=KIND).order_by("pk"):
        set_id = job.arguments["set_id"]
        if set_id is not None and set_id not in sets:
            continue
        row = Search.objects.create(
            tenant_id=job.tenant_id,
            knowledge_set_id=set_id,
            author_id=job.author_id,
            state="queued" if job.state in ("queued", "running", "paused") else job.state,
            documents=job.total,
            documents_done=job.done,
            found=job.figures.get("found", 0),
            is_cancelled=job.state == "cancelled",
            error_code=job.error_code,
            starts=min(job.attempt, 32767),
            finished=job.finished,
        )
        Search.objects.filter(pk=row.pk).update(created=job.created)
    Job.objects.filter(kind=KIND).delete()


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0065_packaged_models_in_use"), ("work", "0001_initial")]

    operations = [
        migrations.RunPython(searches_to_jobs, jobs_to_searches),
        migrations.DeleteModel(name="LexiconMining"),
    ]
