"""Koordinator's cases, of the YAML file and recorded ones, asked of DeviceShare.

written_out turns a case of the YAML file into the form of a recorded one, and stage puts either in front of the real
plugin; answers says in one form what came of it, and what was expected. One module for each sort of question.
"""
