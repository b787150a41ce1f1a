"""From the arguments of a public function to a run of Algorithm 1, and to its result."""
