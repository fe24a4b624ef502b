from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0081_connectors")]

    operations = [
        migrations.AddField(
            model_name="lexiconterm",
            name="model_score",
            field=models.FloatField(blank=True, editable=False, null=True, verbose_name="score of the language model"),
        ),
    ]
