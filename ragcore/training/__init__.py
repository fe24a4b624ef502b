"""Training of the shipped models: `python -m ragcore.training`; each weight file names its command."""
