"""Speed, size and memory beside spaCy and CRFsuite: what is measured, and the table of the report.

`models` trains what is measured. Each part, a module with `measure` and `report`, leaves a record of raw figures: `run`
does those that have none, `report` writes what is there. All bars are ratios of figures from one run.
"""
