"""Accuracy beside what people use instead, on tables chosen before looking: `python -m benchmarks accuracy`.

`tables` names the tables, `methods` the classifiers and their spaces, `run` makes one row a table, split and method,
`page` turns the rows into docs/accuracy.md with its two pictures.
"""
