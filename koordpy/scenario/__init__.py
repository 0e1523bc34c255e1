"""One small language for cases, demo and simulator: objects, steps, expectations; docs/scenarios.md teaches it.

Reads top to bottom: runner plays a scenario; life is one life of its scheduler; comparison says whether expectations
came true for what was observed; recording notes requests and diary the log; standins makes plugins of written answers;
world is what the owner of a cluster hands in, embedded the one for a cluster in this process; language reads a file,
strictly, manifests spells short forms out, files reads plain manifests beside it, and arrivals says when they come.
May touch: the whole scheduler, and whatever cluster, clock and event loop it is handed.
Never: koordpy.testing, the machine's clock, a case's id; a scenario has no Python beside it.
"""
