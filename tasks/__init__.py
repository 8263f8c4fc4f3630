"""The four stages as Prefect tasks: retries, names, logging. The work itself is in the library."""
