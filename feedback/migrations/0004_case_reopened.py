"""When user feedback opened a closed case again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("feedback", "0003_case_moves")]

    operations = [
        migrations.AddField(
            model_name="badcase",
            name="reopened",
            field=models.DateTimeField(blank=True, null=True, verbose_name="reopened by user feedback"),
        ),
    ]
