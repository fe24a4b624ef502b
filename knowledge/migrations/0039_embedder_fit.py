import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("knowledge", "0038_language_models"),
    ]

    operations = [
        migrations.CreateModel(
            name="EmbedderFit",
            fields=[
                ("model", models.CharField(max_length=128, primary_key=True, serialize=False)),
                ("dimensions", models.PositiveIntegerField()),
                ("projection", models.BinaryField(null=True)),
                ("kept_whole", models.FloatField(null=True)),
                ("kept_prefix", models.FloatField(null=True)),
                ("floor", models.FloatField(null=True)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]
