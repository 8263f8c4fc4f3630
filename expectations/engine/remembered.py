"""Expectations that make their configuration once, not at every look: that is most of what a small validation costs.

Great Expectations goes back and forth between an expectation and its configuration some 70 times per expectation and
run, and makes each anew every time. Here they are made once per run and know each other.
"""

from __future__ import annotations

import threading
import types
from copy import deepcopy
from functools import cache
from typing import Any, Final, cast

from great_expectations.compatibility import pydantic
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.registry import register_expectation

_MAKING: Final = threading.Lock()


class Remembered(ExpectationConfiguration):
    """A configuration that makes its expectation once. A deep copy is a new one that has not made it yet."""

    _made: Expectation | None = None

    @classmethod
    def of(cls, expectation: Expectation) -> Remembered:
        """Take over an expectation's configuration."""
        plain = expectation.configuration
        return cls(plain.type, plain.kwargs, meta=plain.meta, notes=plain.notes, severity=plain.severity)

    def to_domain_obj(self) -> Expectation:
        """Give the expectation, the same at every call: what is changed in `kwargs` after the first is lost."""
        if self._made is None:
            with _MAKING:
                kind = _remembering(self._get_expectation_impl())
            self._made = kind(meta=self.meta, notes=self.notes, severity=self.severity, **self.kwargs)
            self._made._remembered = self  # type: ignore[attr-defined]
        return self._made

    def __deepcopy__(self, memo: dict[int, Any]) -> Remembered:
        return Remembered(
            self.type, deepcopy(self.kwargs, memo), deepcopy(self.meta, memo), notes=self.notes, severity=self.severity
        )


@cache
def _remembering(kind: type[Expectation]) -> type[Expectation]:
    """Give a class that acts as `kind` and knows its configuration.

    Making it registers it in the place of `kind`, which is put back. Whoever takes it in between gets what acts alike.
    """
    stock = cast("property", kind.configuration).fget

    def configuration(expectation: Any) -> Any:
        return expectation._remembered or (stock and stock(expectation))

    own = {"_remembered": pydantic.PrivateAttr(None), "configuration": property(configuration)}
    body = {"__module__": kind.__module__, **own}
    made = types.new_class(kind.__name__, (kind,), exec_body=lambda namespace: namespace.update(body))
    register_expectation(kind)
    return cast("type[Expectation]", made)
