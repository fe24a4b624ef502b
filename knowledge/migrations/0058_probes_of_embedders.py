"""Vectors of three texts by each embedding model, which tell its weights from others under the same name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0057_vectors_given_up_and_measured")]

    operations = [
        migrations.AddField(model_name="embedderfit", name="probes", field=models.BinaryField(null=True)),
    ]
