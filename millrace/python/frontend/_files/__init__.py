"""Files by their paths: the disk's by Python's own functions, remote ones by the stores that C++ knows."""
