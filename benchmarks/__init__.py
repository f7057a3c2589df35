"""Speed and memory beside references, as ratios taken in one run: `python -m benchmarks`."""
