"""`python -m reproduction PAPER`, from a checkout."""

import sys

from reproduction.command import main

sys.exit(main())
