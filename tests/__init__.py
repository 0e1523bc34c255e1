"""koordpy's own tests, by behaviour: a folder per room of the house.

A test name is a sentence. Tests go through hooks, cycles, the command line or a real API server before any private
function; pods and nodes come from koordpy.testing; time is virtual or not at all. controlplane/ starts the real
servers. Long suites (perf, soak, e2e) are not part of the default run.
"""
