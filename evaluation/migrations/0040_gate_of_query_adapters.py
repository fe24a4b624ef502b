from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0010_run_cases")]

    operations = [
        migrations.AlterField(
            model_name="gatedchange",
            name="kind",
            field=models.CharField(
                choices=[("set_options", "Settings of a knowledge set"), ("query_adapter", "Fitted query vectors")],
                default="set_options",
                max_length=16,
            ),
        ),
    ]
