"""Limits of each language model; a server answers only once it has passed a test.

Servers whose latest test was passed keep answering. All others are tested when the product starts.
"""

import django.core.validators
from django.db import migrations, models
from django.db.models import F

SECONDS = [django.core.validators.MinValueValidator(0.1), django.core.validators.MaxValueValidator(86400.0)]
PURPOSES = [
    ("standard", "answers"),
    ("fast", "answers to simple questions"),
    ("advanced", "answers to complex questions"),
    ("light", "rewriting, analysis and summaries"),
    ("judge", "judging passages and answers"),
]


def keep_what_answers(apps, schema_editor):
    servers = apps.get_model("knowledge", "ModelServer")
    servers.objects.filter(test_code="ok", tested__isnull=False).update(passed=F("tested"))


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0062_stored_file_faults")]

    operations = [
        migrations.CreateModel(
            name="EnvironmentModelTest",
            fields=[
                ("purpose", models.CharField(choices=PURPOSES, max_length=16, primary_key=True, serialize=False)),
                ("fingerprint", models.CharField(max_length=64)),
                ("tested", models.DateTimeField(verbose_name="tested")),
                ("test_code", models.CharField(max_length=32)),
                ("test_data", models.JSONField(default=dict)),
            ],
            options={
                "verbose_name": "test of a model of the environment",
                "verbose_name_plural": "tests of models of the environment",
            },
        ),
        migrations.AddField(
            model_name="languagemodel",
            name="first_token_seconds",
            field=models.FloatField(
                blank=True,
                help_text=(
                    "In seconds. The first word of a model’s reasoning counts, too. If empty, 30. "
                    "Set it for models that are loaded on demand or start slowly."
                ),
                null=True,
                validators=SECONDS,
                verbose_name="longest wait for the first token",
            ),
        ),
        migrations.AddField(
            model_name="languagemodel",
            name="between_tokens_seconds",
            field=models.FloatField(
                blank=True,
                help_text="In seconds. If empty, 30.",
                null=True,
                validators=SECONDS,
                verbose_name="longest silence within an answer",
            ),
        ),
        migrations.AddField(
            model_name="languagemodel",
            name="total_seconds",
            field=models.FloatField(
                blank=True,
                help_text="In seconds from the question to the last token. If empty, there is no limit while text flows.",
                null=True,
                validators=SECONDS,
                verbose_name="longest answer",
            ),
        ),
        migrations.AlterField(
            model_name="languagemodel",
            name="name",
            field=models.CharField(
                error_messages={"unique": "This model is already registered."},
                help_text="Name on the server, such as gpt-4o-mini or qwen3:8b.",
                max_length=128,
                unique=True,
                verbose_name="model",
            ),
        ),
        migrations.AddField(
            model_name="modelserver", name="passed", field=models.DateTimeField(editable=False, null=True)
        ),
        migrations.RunPython(keep_what_answers, migrations.RunPython.noop),
    ]
