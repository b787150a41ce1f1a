"""result.json: written, read again, and refused where it says nonsense."""

import json
from dataclasses import replace

import pytest
from sound_files import tones, write

import phinmf
from phinmf.audio import files
from phinmf.cli import main
from phinmf.unmix_file import Request, unmix_file
from phinmf.unmixing import folder, ownership
from phinmf.unmixing.options import Output, UnmixOptions
from phinmf.unmixing.record import FolderRecord, GroupRecord

CONTENT = {
    "program": "phinmf", "layout": 2, "track": "song",
    "source": {"path": "song.wav", "sample_rate": 8000, "channels": 1, "length": 6000,
               "format": "WAV", "subtype": "PCM_16", "tags": {"title": "Étude"}},
    "start": 0, "length": 6000,
    "options": {"n_components": 2, "window": "40ms", "sparsity": 10.0, "solver": "lbfgs",
                "init": "dct", "seed": 0, "max_time": None, "learn_on": None, "n_threads": None,
                "device": None},
    "model": None,
    "components": [{"file": "component_01.wav", "share": 1, "rms_db": -20.0, "peak_db": -3.5},
                   {"file": "component_02.wav", "share": 0.0, "rms_db": None, "peak_db": None}],
    "format": "WAV", "subtype": "PCM_16", "gain_db": 0.0, "similarity": [[1.0, 0.2], [0.2, 1.0]],
    "window": 320, "objective": 1.5, "n_iter": 9, "stop_reason": "max_iter reached",
    "n_atoms": 100, "energy": 0.99, "clipped": None, "mix": None, "exact": True,
    "null_test": {"exact": True, "rounded": True, "silent": False, "db": None},
    "seconds": {"learning": 1.0, "streaming": 0.1, "checking": 0.1},
    "versions": {"phinmf": "0.1.0", "python": "3.11.7"},
    "files": {"component_01.wav": {"bytes": 3, "modified": 1700000000000}},
    "groups": {"low": {"file": "low.wav", "components": [1]}},
    "groups_null_test": {"exact": False, "rounded": True, "silent": False, "db": -98.5},
}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder of two components, and its record."""
    here = tmp_path_factory.mktemp("record")
    path = write(here / "song.wav")
    options = UnmixOptions(2, window=64, solver=None, seed=0)
    record = unmix_file(Request(files.excerpt(path), Output(here / "out"), options, page=False))
    return here / "out", record


def test_a_listing_is_read_and_written_the_same():
    record = FolderRecord.from_json(CONTENT)
    assert record.source.path.name == "song.wav"
    assert record.components[0].share == 1.0
    assert record.groups == {"low": GroupRecord("low.wav", [1])}
    assert record.to_json() == CONTENT


def test_a_folder_from_memory_has_no_source_and_no_options(tmp_path):
    phinmf.unmix(tones(2000), 8000, 2, window=64, solver=None, seed=0).save(tmp_path / "x")
    record = ownership.read(tmp_path / "x")
    assert record.source is record.options is record.groups is None
    assert set(record.seconds) == {"streaming", "checking"}
    assert set(record.files) == {
        "component_01.wav", "component_02.wav", "model.npz", "overview.npy", "report.html"
    }  # fmt: skip


NONSENSE = {
    "no object": [],
    "a key is missing": {k: v for k, v in CONTENT.items() if k != "length"},
    "another type": CONTENT | {"start": "0"},
    "before the beginning": CONTENT | {"start": -1},
    "a name that is none": CONTENT | {"components": [{**CONTENT["components"][0], "file": 1}] * 2},
    "a number beyond the range": CONTENT | {"gain_db": 10**400},
    "a number without end": CONTENT | {"energy": float("inf")},
    "similarity of others": CONTENT | {"similarity": [[1.0]]},
    "a group of nobody": CONTENT | {"groups": {"a": {"file": "a.wav", "components": [3]}}},
    "seconds in words": CONTENT | {"seconds": {"learning": "long"}},
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused(name):
    with pytest.raises(ValueError):
        FolderRecord.from_json(NONSENSE[name])


@pytest.mark.parametrize("name", [name for name in NONSENSE if name != "no object"])
def test_nonsense_is_damaged(finished, tmp_path, capsys, name):
    """Whatever reads the folder says the same sentence."""
    _, record = finished
    content = NONSENSE[name] | {"files": record.to_json()["files"]}
    (tmp_path / "result.json").write_text(json.dumps(content))
    for command in (["report", str(tmp_path)], ["unmix", str(tmp_path), "--groups", "1"]):
        assert main(command) == 1
        assert f"{tmp_path}/result.json is damaged" in capsys.readouterr().err


def test_a_length_beyond_the_files_is_damaged(finished):
    out, record = finished
    content = (out / "result.json").read_bytes()
    try:
        ownership.write(out, replace(record, length=record.length + 1), add=[])
        with pytest.raises(ValueError, match="is damaged: unmix again"):
            folder.read_folder(out)
    finally:
        (out / "result.json").write_bytes(content)


def test_what_is_read_is_what_was_written(finished):
    out, record = finished
    assert ownership.read(out) == record
    assert json.loads((out / "result.json").read_text()) == record.to_json()
    assert ownership.ours(out, "component_01.wav")
    assert not ownership.ours(out, "nothing.wav")
