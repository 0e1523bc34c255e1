"""koordpy.whatif."""
