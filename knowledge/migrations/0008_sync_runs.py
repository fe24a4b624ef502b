import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

STAGES = [
    ("received", "Waiting"),
    ("parsed", "Read"),
    ("recognised", "Pictures read"),
    ("cleaned", "Cleaned"),
    ("chunked", "Cut into passages"),
    ("represented", "Described"),
    ("embedded", "Embedded"),
    ("live", "Live"),
    ("failed", "Failed"),
    ("cancelled", "Cancelled"),
]


class Migration(migrations.Migration):
    """Runs of sources are rows of their own; the stage `indexed`, which no item ever had, goes."""

    dependencies = [("knowledge", "0007_options_history")]

    operations = [
        migrations.CreateModel(
            name="SyncRun",
            fields=[
                ("attempt", models.PositiveSmallIntegerField(default=0, verbose_name="attempt")),
                ("lease_until", models.DateTimeField(blank=True, null=True, verbose_name="held until")),
                ("heartbeat", models.DateTimeField(blank=True, null=True, verbose_name="last sign of life")),
                ("finished", models.DateTimeField(blank=True, null=True, verbose_name="finished")),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="run",
                        serialize=False,
                        to="knowledge.ingestjob",
                    ),
                ),
                ("trigger", models.CharField(max_length=16)),
                (
                    "pending_sources",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                ("request", models.JSONField(default=dict)),
                ("checkpoint", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("finished", None)), fields=["job"], name="knowledge_run_open"
                    )
                ],
            },
        ),
        migrations.AlterField(
            model_name="ingestitem",
            name="stage",
            field=models.CharField(choices=STAGES, default="received", max_length=16, verbose_name="stage"),
        ),
    ]
