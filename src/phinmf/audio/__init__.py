"""Sound: files and their samples, signals to frames and back, and the built-in example."""
