"""Functions with inverses, and by how much they stretch: what distributions are transformed by."""
