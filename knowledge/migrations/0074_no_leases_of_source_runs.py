"""Leases, checkpoints and the list of pending sources of runs are those of their background jobs."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0073_source_runs_as_jobs")]

    operations = [
        migrations.RemoveIndex(model_name="syncrun", name="knowledge_run_open"),
        *(
            migrations.RemoveField(model_name="syncrun", name=name)
            for name in ("pending_sources", "checkpoint", "attempt", "lease_until", "heartbeat", "finished")
        ),
    ]
