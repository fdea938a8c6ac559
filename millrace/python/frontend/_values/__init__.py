"""What graphs are made of, each a value: types, shapes, names of devices, errors, structures."""
