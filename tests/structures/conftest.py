"""Hypothesis for kernels: the first example of a test may have to wait for a compilation."""

from hypothesis import settings

settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")
