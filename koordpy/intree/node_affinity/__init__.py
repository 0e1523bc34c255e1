"""NodeAffinity: which nodes a Pod may run on by their labels and names, and which it likes.

Lives here: the plugin and its arguments. How terms are read and matched is in koordpy_api.node_selectors, for whoever
else has to know which nodes a Pod means. Never: anything that changes when pods come or go.
"""

from koordpy.intree.node_affinity.plugin import NodeAffinity

__all__ = ["NodeAffinity"]
