"""How far each embedding model is trusted for texts in Latin script and in Chinese characters."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0058_probes_of_embedders")]

    operations = [
        migrations.AddField(model_name="embedderfit", name="trust_latin", field=models.FloatField(null=True)),
        migrations.AddField(model_name="embedderfit", name="trust_cjk", field=models.FloatField(null=True)),
    ]
