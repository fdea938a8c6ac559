"""Which tasks there are and which of them this process is."""
