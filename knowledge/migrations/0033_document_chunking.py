from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0032_fact_readings")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="chunking",
            field=models.JSONField(blank=True, db_default={}, default=dict, editable=False),
        ),
    ]
