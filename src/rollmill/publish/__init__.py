"""Publishing: what a version is, its card, and the destinations that hold it."""

from rollmill.publish.card import render_card
from rollmill.publish.configs import ConfigPlan, SplitMapping, SplitPlan, merged_split, plan_configs
from rollmill.publish.current import Current, Outcome
from rollmill.publish.destination import Destination
from rollmill.publish.folder import FolderDestination
from rollmill.publish.version import Counts, DataFile, SourceEntry, VersionManifest

__all__ = [
    "ConfigPlan",
    "Counts",
    "Current",
    "DataFile",
    "Destination",
    "FolderDestination",
    "Outcome",
    "SourceEntry",
    "SplitMapping",
    "SplitPlan",
    "VersionManifest",
    "merged_split",
    "plan_configs",
    "render_card",
]
