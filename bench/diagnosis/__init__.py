"""How often the diagnosis of failed answers names the cause: failures are planted, one stage at a time."""
