"""Metrics of Great Expectations by way of Polars: what each needs of a record, and how it follows from that.

compiler        all metrics of a suite as one projection
scope           which records a metric looks at, and the narrow columns it asks for
narrow          the narrow frame: what is known of each record, how often values occur, samples
sweep           the pass over a stream that fills it
rows            row-level metrics: the records that fail, and what is told of them
conditions      what a good record is, on its own
orders          what a good record is among the others
aggregates      metrics that are one number or a few
distinct        metrics of the values there are
values          how a column is read
texts           regexes, LIKE patterns, and what Python has to decide
ending          the last number of a text
row_conditions  the `row_condition` of an expectation
"""
