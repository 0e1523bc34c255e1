"""Recorded decisions of kube-scheduler, Koordinator and HAMi, asked of koordpy again.

Lives here: the frame (what can come of a case), one reader per file and kind (readers/), the differences that are
meant (differences.yaml, rules.py, the model they are computed with, the page made of them), the cases that are wrong
themselves (disputed.yaml), copies of the cases (cases/) and samples of recordings (recorded/).
A reader may use everything of koordpy. Never: the id of a case, except in disputed.yaml.
docs/parity.md says how to run.
"""
