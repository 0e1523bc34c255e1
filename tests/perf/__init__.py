"""How fast, and at what price: koordpy, kube-scheduler and a client that only writes, in turn, seen from outside.

workloads.py is the table of what is measured. environs.py puts a control plane, nodes and pods there, contestants.py
starts who works on them (plan.py: what the ceiling writes; ceiling.py: the process that writes it). watching.py and
procfs.py read what happens; backlog.py, steady.py and memory.py are the three kinds of run, verify.py says whether one
counts. bench.py is the command (`make bench`), cycle.py the one for the cycle alone (`make bench-cycle`), with the
cluster and pods of cycle_pods.py. history.py keeps every result, targets.py judges them, page.py and picture.py make
docs/performance.md of them. hour.py and metering.py are other measurements, by themselves.
May touch: what tests.controlplane starts, /proc of those processes, docs/performance.md and docs/performance/.
Must never: look into a scheduler, treat one side differently from the other in what is measured, print a number that
was not measured in the same run of the command (or say whose it is), name the machine or a path of it.
"""
