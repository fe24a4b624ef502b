from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("knowledge", "0011_wording"),
    ]

    operations = [
        migrations.CreateModel(
            name="SetEpoch",
            fields=[
                ("knowledge_set_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("value", models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.AddField(
            model_name="corpusepoch",
            name="everywhere",
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
    ]
