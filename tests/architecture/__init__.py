"""The house itself: which way imports point, and that each distribution can be built, installed and imported alone."""
