"""Prefect flows: what runs. Light to import; each flow is imported from its own module."""
