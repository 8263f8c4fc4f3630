"""Data Docs of a run: a static site of what the suites found, in the store, readable without network or server.

`place` knows where the site of a set of verdicts is, and is light to import; `site` makes a folder per run, with a page
per unit, rendered once per verdict, and an index over them; `pages` renders, by the means of Great Expectations.
"""
