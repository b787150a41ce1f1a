"""Sound: signals to frames and back, and the built-in example."""
