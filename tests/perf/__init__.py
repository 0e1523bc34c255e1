"""How fast, and at what price: koordpy and kube-scheduler in turn, each on its own control plane, seen from outside.

workload.py puts nodes, pods and one scheduler there; measure.py watches the binds and reads the counters of the
processes; bench.py is the command (`make bench`), report.py words what came out into docs/performance.md.
May touch: what tests.controlplane starts, /proc of those processes, docs/performance.md.
Must never: look into a scheduler, treat one side differently from the other in what is measured, print a number that
was not measured in the same run of the command, name the machine or a path of it.
"""
