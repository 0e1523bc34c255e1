"""Scenarios: a case each, in the language of docs/scenarios.md, and the two worlds that play them."""
