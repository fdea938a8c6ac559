"""Names that a program asks for: where modules are, what TensorFlow 1 has, what is said of what is not here."""
