import rollmill.expectations.engine  # noqa: F401  imports Great Expectations with its deprecation warnings held back
