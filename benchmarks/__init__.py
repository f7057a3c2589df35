"""Speed and memory beside references, as ratios taken in one run. Run one as `python -m benchmarks.online`."""
