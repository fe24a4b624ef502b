"""Files that are being read are background jobs; those that wait or are read now are read by the next worker."""

from django.db import migrations

READ_ATTACHMENT = "chat.read_attachment"


def readings_to_jobs(apps, schema_editor):
    Job, Attachment = apps.get_model("work", "Job"), apps.get_model("chat", "Attachment")
    rows = Attachment.objects.filter(state="reading").order_by("pk")
    Job.objects.bulk_create(
        Job(
            kind=READ_ATTACHMENT,
            subject=f"file:{row.pk}",
            tenant_id=row.tenant_id,
            author_id=row.user_id,
            arguments={"attachment_id": row.pk},
            attempt=row.attempts,
            started=row.created if row.attempts else None,
        )
        for row in rows.iterator()
    )
    Attachment.objects.filter(state="failed", faults__gt=0).update(can_retry=True)


def jobs_to_readings(apps, schema_editor):
    """The sweeper of before finds what is being read."""
    Attachment = apps.get_model("chat", "Attachment")
    Attachment.objects.filter(can_retry=True).update(faults=1)
    apps.get_model("work", "Job").objects.filter(kind=READ_ATTACHMENT).delete()


class Migration(migrations.Migration):
    dependencies = [("chat", "0016_attachments_to_read_again")]

    operations = [migrations.RunPython(readings_to_jobs, jobs_to_readings)]
