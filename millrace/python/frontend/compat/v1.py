"""For `import millrace.compat.v1 as tf`: the package itself."""

import sys

sys.modules[__name__] = sys.modules["millrace"]
