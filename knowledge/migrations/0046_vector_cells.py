import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

STORAGE = """
ALTER TABLE knowledge_vectorcells ALTER COLUMN centres SET STORAGE EXTERNAL;
ALTER TABLE knowledge_vectorcells ALTER COLUMN centres SET STATISTICS 0
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_record_use"),
        ("knowledge", "0045_use_evidence"),
    ]

    operations = [
        migrations.AddField("wholevector", "cell", models.IntegerField(db_default=0, default=0)),
        migrations.AddField("latentvector", "cell", models.IntegerField(db_default=0, default=0)),
        migrations.CreateModel(
            name="VectorCells",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=160)),
                ("centres", models.BinaryField()),
                ("projection", models.BinaryField()),
                ("counts", models.BinaryField()),
                ("passages", models.PositiveIntegerField()),
                (
                    "measured",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), blank=True, default=list, size=None
                    ),
                ),
                ("measured_passages", models.PositiveIntegerField(default=0)),
                ("created", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "tenant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.tenant"
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["tenant", "name"], name="knowledge_cells_of")]},
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
    ]
