"""The default plugins, each alone in a real framework. Rows with an id like E01 are kube-scheduler cases."""
