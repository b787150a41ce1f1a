"""What holds for every file of phinmf: results, models, learners and checkpoints."""

import os
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forging import JUNK, changes, forged, refusal
from problems import notes
from sound_files import RATE, tones

import phinmf
from phinmf import TLNMF, Anneal, Checkpoint, Method, Result, UnmixModel, storage, tl_nmf

Y = notes(M=8, n=600)
SHORT = {"max_iter": 12, "tol": 0, "random_state": 0, "engine": "array"}  # nothing is compiled
SAMPLED = Method(anneal=Anneal(length=30, all_frames=1e-5))  # checkpoints hold a sample of frames
ON_WINDOWS = os.name == "nt"


@dataclass
class Kind:
    """How a file of one kind is written and read, and what of it is read back."""

    name: str  #: in messages
    save: Any
    load: Any
    arrays: Any  #: of what was loaded


def checkpoint(path):
    tl_nmf(Y, 2, method=SAMPLED, checkpoint=Checkpoint(path, every=0), **SHORT)


def resumed(path):
    storage.read(path, "checkpoint")  # if there is no file, a fit begins afresh
    return tl_nmf(Y, 2, method=SAMPLED, checkpoint=Checkpoint(path, resume=True), **SHORT)


def factors(result):
    return result.Phi, result.W, result.H


def learned(model):
    return model.transform_matrix_, model.components_, model.transform(Y.T[:3])


@pytest.fixture(scope="module")
def kinds():
    model = TLNMF(2, **SHORT)
    online = TLNMF(2, **SHORT, block_size=40).partial_fit(Y.T[:130])
    recording = phinmf.unmix(tones(2000, 2), RATE, 2, window=16, seed=0, max_time=0.1).model
    return {
        "result": Kind("result", tl_nmf(Y, 2, **SHORT).save, Result.load, factors),
        "model": Kind("model of TLNMF", model.fit(Y.T).save, TLNMF.load, learned),
        "learner": Kind("model of TLNMF", online.save, TLNMF.load, learned),
        "recording": Kind(
            "model of unmix", recording.save, UnmixModel.load, lambda m: (m.Phi, m.W)
        ),
        "checkpoint": Kind("checkpoint", checkpoint, resumed, factors),
    }


@pytest.fixture(params=["result", "model", "learner", "recording", "checkpoint"])
def kind(kinds, request):
    return kinds[request.param]


@pytest.fixture
def path(kind, tmp_path):
    """A file of this kind."""
    kind.save(tmp_path / "a")
    return tmp_path / "a"


def outcome(kind, path):
    """Return the arrays of a file, or None if it is refused in one sentence."""
    try:
        return kind.arrays(kind.load(path))
    except ValueError as error:
        refusal(error, path)
        return None


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_file_has_no_objects_and_the_mode_of_any_other(path):
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    other = path.with_name("b")
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


def test_objects_are_neither_written_nor_read(tmp_path):
    path, objects = tmp_path / "a", np.array([{}])
    with pytest.raises(ValueError, match="pickled"):
        storage.write(path, "result", {}, {"W": objects})
    assert os.listdir(tmp_path) == []
    storage.write(path, "result", {}, {})
    forged(path, "result", arrays={"W": objects})
    with pytest.raises(ValueError, match="damaged"):
        storage.read(path, "result")


def test_a_file_of_another_kind_is_neither_read_nor_replaced(kinds, tmp_path):
    for name, kind in kinds.items():
        kind.save(tmp_path / name)
    (tmp_path / "song.wav").write_bytes(b"RIFF")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for kind in kinds.values():
        for path in tmp_path.iterdir():
            if path.name in kinds and kinds[path.name].name == kind.name:
                continue
            with pytest.raises(ValueError, match="damaged or not a file|but a .* is needed"):
                kind.load(path)
            with pytest.raises(ValueError, match=f"exists and is not a {kind.name} of phinmf"):
                kind.save(path)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_an_empty_file_and_one_of_the_same_kind_are_replaced(kind, tmp_path):
    path = tmp_path / "a"
    path.touch()
    for _ in range(2):
        kind.save(path)
        assert outcome(kind, path) is not None


@pytest.mark.parametrize(
    ("version", "said"), [(1, "version 1, .* make it again"), (3, "version 3, .* update phinmf")]
)
def test_another_version_of_the_format_is_named(kind, path, version, said):
    forged(path, kind.name, {"version": version})
    with pytest.raises(ValueError, match=said):
        kind.load(path)


def test_a_damaged_file_is_refused_or_read_as_it_was(kind, path, rng):
    """A byte that nobody reads may differ, such as a date in the archive."""
    good, before = path.read_bytes(), outcome(kind, path)
    for place in rng.integers(len(good), size=25):
        path.write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        after = outcome(kind, path)
        assert after is None or same(after, before)
    for length in [1, 50, len(good) - 1, *rng.integers(len(good), size=3)]:
        path.write_bytes(good[:length])
        with pytest.raises(ValueError, match="is damaged or not a file of phinmf"):
            kind.load(path)


def test_a_lack_of_memory_is_not_damage(kind, path, monkeypatch):
    def fail(*args):
        raise MemoryError

    for part in ("arrays_of", "header_of"):
        monkeypatch.setattr(storage, part, fail)
        with pytest.raises(MemoryError):
            kind.load(path)


#: Arrays that a file need not have: without `learner_columns` no column stays.
OPTIONAL = {"memory_value", "learner_start_W", "learner_columns"}
#: Changes that no array but those of a solver's memory may have, and no text.
IMPOSSIBLE = {"another axis", "empty", "text", "half", "swapped bytes", "unsigned", "nan", "inf"}


def test_forged_arrays_are_refused_or_used_without_an_error(kind, path):
    """Nothing of another shape or type reaches compiled code, nor an index out of range."""
    good = path.read_bytes()
    arrays = storage.read(path, kind.name).arrays
    for name, array in arrays.items():
        for what, changed in changes(array).items():
            path.write_bytes(good)
            forged(path, kind.name, arrays={name: changed})
            after = outcome(kind, path)
            free = name.startswith("memory_") or array.dtype.kind in "Ub"
            assert after is None or free or what not in IMPOSSIBLE, (name, what)
        path.write_bytes(good)
        forged(path, kind.name, arrays={name: None})
        assert outcome(kind, path) is None or name in OPTIONAL, name


@pytest.mark.parametrize("name", ["result", "model", "learner", "recording"])
def test_the_model_has_a_row_for_each_atom_or_each_pair(kinds, tmp_path, name):
    kind, path = kinds[name], tmp_path / "a"
    kind.save(path)
    arrays = storage.read(path, kind.name).arrays
    fewer = {n: arrays[n][:-1] for n in ("W",) if n in arrays}
    fewer |= {n: arrays[n][:, :-1] for n in ("components_",) if n in arrays}
    forged(path, kind.name, arrays=fewer)
    with pytest.raises(ValueError, match=r"rows, but \d+ atoms need as many, or half"):
        kind.load(path)


def test_forged_headers_are_refused_or_used_without_an_error(kind, path):
    good = path.read_bytes()
    for name in storage.read(path, kind.name).header:
        for junk in JUNK:
            path.write_bytes(good)
            forged(path, kind.name, {name: junk})
            usable = name in ("versions", "terms", "parameters", "seed")
            no_groups = name == "groups" and junk in (None, [])
            assert outcome(kind, path) is None or usable or no_groups, name


def test_a_place_where_no_file_can_be_is_refused(kind, tmp_path):
    fifo = tmp_path / "fifo"
    if ON_WINDOWS:  # where there are no pipes in folders
        fifo.mkdir()
    else:
        os.mkfifo(fifo)
    (tmp_path / "link").symlink_to(tmp_path / "missing")
    places = [tmp_path, fifo, tmp_path / "link", "", ".", "x\0y", tmp_path / "none" / "r", 3, b"x"]
    for path in places:
        for how in (kind.save, kind.load):
            with pytest.raises((ValueError, TypeError, FileNotFoundError)) as caught:
                how(path)
            assert "phinmf" in str(caught.traceback[-1].path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "link"]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder of processes")
def test_the_path_that_was_passed_is_named_where_no_file_can_be_written(kinds):
    with pytest.raises(OSError, match=r"no file can be written here .*: '/proc/x\.npz'$"):
        kinds["result"].save("/proc/x.npz")


def test_a_file_that_cannot_be_completed_leaves_the_old_one(kind, path, monkeypatch):
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    monkeypatch.setattr(storage.os, "fsync", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        kind.save(path)
    assert before == {file.name: file.read_bytes() for file in path.parent.iterdir()}


@pytest.mark.skipif(ON_WINDOWS, reason="links and modes of POSIX")
def test_a_link_and_the_mode_of_a_file_survive_a_save(kind, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "a", tmp_path / "link"
    kind.save(target)
    target.chmod(0o600)
    link.symlink_to(target)
    kind.save(link)
    assert link.is_symlink()
    assert outcome(kind, target) is not None
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "link"]
    assert os.listdir(target.parent) == ["a"]


def test_threads_that_write_the_same_file(tmp_path):
    path = tmp_path / "a"

    def write(i):
        for _ in range(30):
            storage.write(path, "result", {"i": i}, {"a": np.full(1000, i)})
            stored = storage.read(path, "result")
            assert (stored.arrays["a"] == stored.header["i"]).all()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write, i) for i in range(4)]:
            done.result()
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.full
def test_a_killed_write_leaves_a_complete_file(tmp_path, rng):
    path = tmp_path / "a"
    code = f"""
import numpy as np
from phinmf import storage
storage.write({str(path)!r}, "result", {{}}, {{"a": np.zeros(300_000)}})
print(flush=True)
while True:
    storage.write({str(path)!r}, "result", {{}}, {{"a": np.zeros(300_000)}})
"""
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0.02, 0.1))
            process.kill()
        assert storage.read(path, "result").arrays["a"].shape == (300_000,)
        others = {file.name for file in tmp_path.iterdir()} - {"a"}
        assert all(name.startswith(".a.") for name in others)


HUGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"


@pytest.mark.parametrize("name", ["header", "W"])
@pytest.mark.parametrize(
    ("how", "content", "said"),
    [
        (zipfile.ZIP_DEFLATED, bytes(10**7), "damaged .*: it is compressed"),
        (zipfile.ZIP_STORED, b"\x93NUMPY\1\0v\0" + HUGE.ljust(117) + b"\n", "damaged"),
    ],
    ids=["compressed", "lies"],
)
def test_files_that_would_unpack_to_much_more_are_refused(tmp_path, name, how, content, said):
    path = tmp_path / "a"
    if name == "W":
        storage.write(path, "result", {}, {})
    with zipfile.ZipFile(path, "a", how) as archive:
        archive.writestr(f"{name}.npy", content)
    with pytest.raises(ValueError, match=said):
        storage.read(path, "result")


def test_a_file_whose_members_overlap_is_refused(tmp_path):
    """A hundred of them are the same bytes: together they are larger than the file."""
    path = tmp_path / "a"
    storage.write(path, "result", {}, {"W": np.zeros(9999)})
    with zipfile.ZipFile(path, "a") as archive:
        for n in range(100):
            twin = copy(archive.getinfo("W.npy"))
            twin.filename = f"{n}.npy"
            archive.filelist.append(twin)
        archive.writestr("last.npy", b"")  # so that the directory is written again
    with pytest.raises(ValueError, match="damaged .*: its members overlap"):
        storage.read(path, "result")
