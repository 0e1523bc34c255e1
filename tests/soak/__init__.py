"""Minutes of everything that can happen to a cluster, from one seed, with the invariants checked all along."""
