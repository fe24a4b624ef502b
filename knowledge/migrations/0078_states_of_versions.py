"""Versions of query adapters and of reranker weights have the states of all versions, and a reason where dropped."""

from django.db import migrations, models

MODELS = ("QueryAdapter", "RerankerFit")
REASONS = ("no_gain", "cancelled", "failed")
STATES = [
    ("building", "Being built"),
    ("ready", "Ready, not in use"),
    ("live", "In use"),
    ("retired", "Was in use"),
    ("dropped", "Given up"),
]
WORDS = [("no_gain", "No gain, nothing changed"), ("cancelled", "Cancelled"), ("failed", "Failed")]


def reasons_apart(apps, schema_editor):
    for name in MODELS:
        rows = apps.get_model("knowledge", name).objects
        for reason in REASONS:
            rows.filter(state=reason).update(state="dropped", reason=reason)


def reasons_as_states(apps, schema_editor):
    for name in MODELS:
        rows = apps.get_model("knowledge", name).objects.filter(state="dropped")
        rows.exclude(reason="").update(state=models.F("reason"))


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0077_trainings_as_jobs")]

    operations = [
        *(
            migrations.AddField(
                name.lower(), "reason", models.CharField(blank=True, choices=WORDS, default="", max_length=16)
            )
            for name in MODELS
        ),
        *(
            migrations.AlterField(name.lower(), "reason", models.CharField(blank=True, choices=WORDS, max_length=16))
            for name in MODELS
        ),
        *(
            migrations.AlterField(
                name.lower(),
                "state",
                models.CharField(choices=STATES, default="building", max_length=16, verbose_name="state"),
            )
            for name in MODELS
        ),
        migrations.RunPython(reasons_apart, reasons_as_states),
    ]
