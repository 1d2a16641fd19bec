"""Layout of a graph: layers, order, coordinates and routes."""
