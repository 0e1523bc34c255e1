"""What koordpy says about itself."""
