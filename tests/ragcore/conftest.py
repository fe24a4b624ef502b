"""Settings of hypothesis for the core's tests."""

from hypothesis import settings

# The first example of a test may load a dictionary or a model; that is no reason to fail.
settings.register_profile("ragcore", deadline=None)
settings.load_profile("ragcore")
