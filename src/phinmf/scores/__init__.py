"""How well a recording was taken apart."""
