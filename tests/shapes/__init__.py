"""Every installed plugin with both shapes, on clusters that live: the two must never differ."""
