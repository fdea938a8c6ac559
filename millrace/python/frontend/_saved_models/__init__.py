"""SavedModels: graphs with their variables, files and signatures in one folder, for whoever serves them."""
