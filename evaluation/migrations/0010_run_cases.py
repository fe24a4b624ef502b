from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0009_runs_of_before")]
    operations = [migrations.RemoveField(model_name="evaluationrun", name="cases")]
