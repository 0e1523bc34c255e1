"""Koordinator's DeviceShare in small, written from its description: what differences.yaml computes our answers with.

Every function takes the set of differences in force. With none it answers as upstream does, which the recordings show;
with ALL of `differences` it answers as koordpy means to. Never: a line of koordpy_deviceshare, or a case's id.
"""
