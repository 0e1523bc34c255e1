"""Fixtures that every room may use."""

pytest_plugins = ["tests.controlplane.fixtures"]
