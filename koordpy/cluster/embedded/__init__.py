"""The embedded cluster: an API server in memory, for demos, tests and the simulator.

Lives here: the objects and their versions, what goes wrong on purpose (faults), and two faces (in process and
over HTTP). May touch: the clock and the random numbers it was handed; loopback.
Never: the parts of an API server that are not in the list of docs/embedded.md; they are refused with a sentence. A
behaviour comes in by a contract test that was green on a real API server first.
"""
