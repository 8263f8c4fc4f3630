"""Records that were put aside, for people: how many, where, why, and what they hold.

index      what is known of all of them without their texts; counts and selections
published  those of a version, from its store
judged     those a run would put aside, from verdicts and source files, whether or not it was refused
export     whole records to a file
"""

from rollmill.aside.export import export
from rollmill.aside.index import PLACE, Aside, Selection, counts
from rollmill.aside.judged import JudgedAside
from rollmill.aside.published import PublishedAside

__all__ = ["PLACE", "Aside", "JudgedAside", "PublishedAside", "Selection", "counts", "export"]
