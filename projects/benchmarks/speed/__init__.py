"""Speed, size and memory beside spaCy and CRFsuite: what is measured, and the table of the report.

`models` trains what is measured. Each part is a module with `measure`, which returns raw figures, and `report`. `run`
measures the parts that have no record, and `report` writes the report of those that have one. All bars are ratios of
figures from one run.
"""
