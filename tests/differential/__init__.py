"""koordpy against kube-scheduler's own plugins, on random clusters: `make diff-kube-scheduler`.

Lives here: clusters made from a seed, as cases in the form of tests/parity (clusters, wishes), or such cases of a
person's (files), the program that upstream's plugins are asked through (oracle), what koordpy says in each of its
shapes (ours), what differs and whether differences.yaml names it (comparing), smaller cases that still differ
(shrinking), and the same on a real API server with the kube-scheduler binary itself (real).
Never: an answer that is written down. What is right is asked anew every time.
"""
