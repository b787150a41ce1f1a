"""Algorithm 1 of the paper: alternate between the factors and the transform."""
