from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
from hypothesis import given, settings

from rollmill.identity import cell_digests
from rollmill.layouts.distinct import distinct, distinct_cells
from tests.comparing import exact
from tests.strategies import CELLS, column


def plain(array: pa.Array[Any]) -> Any:
    kind = array.type
    whole = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    return exact((array.cast(pa.int64()) if whole else array).to_pylist())


@settings(deadline=None)
@given(st.data(), st.sampled_from(list(CELLS)))
def test_values_stand_for_their_equals(data: st.DataObject, kind: pa.DataType) -> None:
    array = data.draw(column(kind, 4))
    array = pa.concat_arrays([array, array])[data.draw(st.integers(0, 3)) :]
    found = distinct(array)
    assert plain(found.values(array).take(pa.array(found.places))) == plain(array)
    assert found.places[-4:].tolist() == found.places[-8:-4].tolist() or len(array) < 8
    assert len(set(found.places.tolist())) == len(found.firsts)
    assert distinct_cells(array).to_list() == cell_digests(array).to_list()
