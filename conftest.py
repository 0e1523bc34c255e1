"""Settings of every test in this repository."""

from hypothesis import settings

# How long an example takes says how busy the machine is; what is fast enough, the benchmarks say.
settings.register_profile("koordpy", deadline=None)
settings.load_profile("koordpy")
