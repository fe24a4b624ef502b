"""Weights of the linear reranker that are fitted for a tenant."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

STATES = [
    ("queued", "Waiting"),
    ("training", "Training"),
    ("ready", "Better, not in use"),
    ("no_gain", "No gain, nothing changed"),
    ("live", "In use"),
    ("retired", "Was in use"),
    ("cancelled", "Cancelled"),
    ("failed", "Failed"),
]


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_record_use"),
        ("knowledge", "0046_vector_cells"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="RerankerFit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(verbose_name="number")),
                (
                    "state",
                    models.CharField(choices=STATES, default="queued", max_length=16, verbose_name="state"),
                ),
                ("round", models.PositiveIntegerField(default=0)),
                ("rounds", models.PositiveIntegerField(default=0)),
                ("curve", models.JSONField(default=list)),
                ("best_round", models.PositiveIntegerField(default=0)),
                ("figures", models.JSONField(default=dict)),
                ("error_code", models.CharField(blank=True, max_length=64)),
                ("error_message", models.CharField(blank=True, max_length=512)),
                ("error_data", models.JSONField(blank=True, default=dict)),
                ("seconds", models.FloatField(default=0.0)),
                ("created", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("starts", models.PositiveSmallIntegerField(default=0)),
                ("leased_until", models.DateTimeField(null=True)),
                ("finished", models.DateTimeField(blank=True, null=True)),
                ("live_since", models.DateTimeField(blank=True, null=True)),
                ("golden_sets", models.JSONField(default=list)),
                ("features", models.JSONField(default=list)),
                ("weights", models.JSONField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="author",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={
                "verbose_name": "fitted reranker weights",
                "verbose_name_plural": "fitted reranker weights",
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "number"), name="knowledge_fit_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "live")), fields=("tenant",), name="knowledge_fit_one_live"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ("queued", "training"))),
                        fields=("tenant",),
                        name="knowledge_fit_one_training",
                    ),
                ],
            },
        ),
    ]
