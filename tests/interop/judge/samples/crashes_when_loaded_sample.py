"""Takes its process with it while it is imported."""

import os

os.abort()
