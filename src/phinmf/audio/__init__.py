"""Sound: files and their samples, signals to frames and back, and the built-in example."""

from phinmf.audio import example as example
