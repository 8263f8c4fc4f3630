import json

import pytest

from rollmill.errors import FileRefusedError
from rollmill.formats import inspect

ROW = {"id": "r", "messages": [{"role": "user"}], "reward": 1.0}


def shaped(tmp_path, text, name="a.json"):
    path = tmp_path / name
    path.write_text(text)
    return inspect(path, name)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (json.dumps([ROW, ROW], indent=2), "one JSON array"),
        (json.dumps([ROW, ROW]), "one JSON array"),
        ("[{},\n{}]", "one JSON array"),
        (json.dumps(ROW, indent=2), "one JSON object over several lines"),
        ('{"a": 1,\n"b": 2}', "one JSON object over several lines"),
        (json.dumps({"id": ["a", "b"], "reward": [1, 2]}), "equally long lists"),
        (json.dumps({"version": "1", "data": [ROW]}), 'a list under "data"'),
    ],
)
def test_another_shape_is_refused_by_its_name(tmp_path, text, shape):
    with pytest.raises(FileRefusedError, match=shape) as caught:
        shaped(tmp_path, text)
    assert caught.value.file == "a.json"


@pytest.mark.parametrize("text", [json.dumps(ROW), json.dumps(ROW) + "\n" + json.dumps(ROW), '{"a": [1]}\n{"a": [2]}'])
def test_json_lines_are_read_from_a_json_ending(tmp_path, text):
    assert shaped(tmp_path, text).rows == text.count("\n") + 1


def test_a_lone_record_of_lists_is_a_record_under_jsonl(tmp_path):
    assert shaped(tmp_path, '{"ids": [1, 2]}', "a.jsonl").rows == 1


def test_a_bad_first_line_does_not_refuse_the_file(tmp_path):
    assert shaped(tmp_path, '{"a": 1, "b\n{"a": 2}\n{"a": 3}\n').rows == 3


def test_a_whole_object_that_is_not_utf8_is_a_record_put_aside_and_no_object_over_several_lines(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_bytes(b'{"a": "\xff"}\n{"a": "b"}\n')
    assert inspect(path, path.name).rows == 2
