"""`python -m protolearn.cli`."""

import sys

from protolearn.cli import main

if __name__ == "__main__":
    sys.exit(main())
