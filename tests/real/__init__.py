"""The whole program on a real API server: `koordpy scheduler` as its own process, with the rights of deploy/rbac.yaml.

scheduler_process.py starts and kills it; cluster_state.py reads back what became of the pods. What a test shows is also
printed, for `make first-pod`.
"""
