"""What the nodes of a graph cost: parameters, floating point operations, time."""
