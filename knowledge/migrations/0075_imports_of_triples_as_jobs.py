"""Imports of triples that wait or are read are background jobs; they are read from their beginning."""

from django.db import migrations

IMPORT_TRIPLES = "knowledge.import_triples"


def imports_to_jobs(apps, schema_editor):
    Job, Import = apps.get_model("work", "Job"), apps.get_model("knowledge", "TripleImport")
    rows = Import.objects.filter(finished=None, state__in=("queued", "running")).order_by("pk")
    Job.objects.bulk_create(
        Job(
            kind=IMPORT_TRIPLES,
            subject=f"import:{row.pk}",
            tenant_id=row.tenant_id,
            author_id=row.actor_id,
            arguments={"import_id": row.pk},
            done=row.read_bytes,
            total=row.size_bytes,
        )
        for row in rows
    )


def jobs_to_imports(apps, schema_editor):
    """Workers of before find what waits by its state."""
    apps.get_model("work", "Job").objects.filter(kind=IMPORT_TRIPLES).delete()


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0074_no_leases_of_source_runs")]

    operations = [migrations.RunPython(imports_to_jobs, jobs_to_imports)]
