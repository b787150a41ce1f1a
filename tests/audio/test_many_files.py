"""Frames of sound files as a dask array, and the command line on a cluster."""

import json
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from clusters import cluster, needs_dask

import phinmf
from phinmf.cli import cluster as on_cluster
from phinmf.cli import main

needs_dask()
import dask

pytestmark = pytest.mark.full


def write(path, n, channels=2, rate=8000, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)[:, None]
    y = 0.3 * np.sin(t * rng.uniform(0.05, 0.5, channels)) + 0.01 * rng.standard_normal(
        (n, channels)
    )
    soundfile.write(path, y if channels > 1 else y[:, 0], rate, subtype="FLOAT")
    return path


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunk", [1, 2, 7, None])
def test_the_frames_are_those_of_to_frames(tmp_path, channels, dtype, chunk):
    lengths = [1, 15, 16, 17, 32, 250, 256]
    paths = [write(tmp_path / f"{n}.wav", n, channels, seed=n) for n in lengths]
    Y = phinmf.frames_from_files(paths, 32, dtype=dtype, chunk=chunk)
    read = [soundfile.read(path)[0].astype(dtype) for path in paths]
    expected = np.concatenate([phinmf.to_frames(y, 32) for y in read], axis=-1)
    assert Y.dtype == dtype
    assert np.array_equal(Y.compute(scheduler="sync"), expected)
    assert Y.numblocks[-2] == 1
    alone = phinmf.frames_from_files(paths[-1], 32, dtype=dtype, chunk=chunk)
    assert np.array_equal(alone.compute(scheduler="sync"), phinmf.to_frames(read[-1], 32))


def test_recordings_that_are_fitted_together(tmp_path):
    paths = [write(tmp_path / f"{i}.wav", 90_000, 1, seed=i) for i in range(2)]
    Y = phinmf.frames_from_files(paths, 64, chunk=500)
    how = {"n_components": 3, "max_iter": 3, "tol": 0, "random_state": 0}
    expected = phinmf.tl_nmf(Y.compute(scheduler="sync"), **how)
    found = phinmf.tl_nmf(Y, **how)
    assert np.array_equal(found.Phi, expected.Phi)
    model = phinmf.TLNMF(**how).fit(Y.T)
    assert np.array_equal(model.transform_matrix_, expected.Phi)


def test_files_that_do_not_fit_together(tmp_path):
    good = write(tmp_path / "good.wav", 100)
    with pytest.raises(ValueError, match="other.wav has 9000 Hz and .*good.wav has 8000.*convert"):
        phinmf.frames_from_files([good, write(tmp_path / "other.wav", 100, rate=9000)], 32)
    with pytest.raises(ValueError, match="mono.wav has 1 channels and .*good.wav has 2.*convert"):
        phinmf.frames_from_files([good, write(tmp_path / "mono.wav", 100, channels=1)], 32)
    with pytest.raises(FileNotFoundError, match="nothing.wav does not exist"):
        phinmf.frames_from_files([tmp_path / "nothing.wav"], 32)
    with pytest.raises(ValueError, match="M is 33, but .* even length: use 34"):
        phinmf.frames_from_files(good, 33)
    with pytest.raises(ValueError, match="paths is empty"):
        phinmf.frames_from_files([], 32)
    with pytest.raises(ValueError, match="dtype is 'int16'.*choose one of 'float32', 'float64'"):
        phinmf.frames_from_files(good, 32, dtype="int16")


def test_unmix_on_a_cluster(tmp_path, capsys):
    one, two = (write(tmp_path / f"{name}.wav", 12_000) for name in ("one", "two"))
    with cluster(2) as client:
        address = client.scheduler.address
        how = ["--cluster", address, "-k", "2", "--no-report", "--json", "--quiet"]
        assert main(["unmix", str(one), str(two), "-o", str(tmp_path / "many"), *how]) == 0
        results = json.loads(capsys.readouterr().out)
        assert [len(r["components"]) for r in results] == [2, 2]
        assert main(["unmix", str(one), "-o", str(tmp_path / "single"), *how]) == 0
    for folder in (tmp_path / "many/one", tmp_path / "many/two", tmp_path / "single/one"):
        parts = [soundfile.read(path)[0] for path in sorted(folder.glob("component_*.wav"))]
        y, _ = soundfile.read(tmp_path / f"{folder.name}.wav")
        assert np.abs(sum(parts) - y).max() < 1e-6


def test_one_bad_file_does_not_stop_the_others_on_a_cluster(tmp_path, capsys):
    bad = tmp_path / "bad.wav"
    bad.write_text("no sound")
    with cluster(1, processes=False) as client:
        command = ["unmix", str(bad), str(write(tmp_path / "good.wav", 8000)), "--quiet", "-k", "2"]
        command += ["--cluster", client.scheduler.address, "-o", str(tmp_path), "--no-report"]
        assert main(command) == 1
    assert "bad.wav cannot be read as sound" in capsys.readouterr().err
    assert (tmp_path / "good" / "result.json").exists()


def test_a_cluster_that_cannot_help(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(on_cluster, "CONNECT", 0.5)
    path = str(write(tmp_path / "a.wav", 8000))
    assert main(["unmix", path, "--cluster", "tcp://127.0.0.1:9", "-o", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "no Dask scheduler answers at tcp://127.0.0.1:9 within 0.5 s: start one" in said


def test_an_address_where_somebody_listens_and_says_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(on_cluster, "CONNECT", 0.5)
    path = str(write(tmp_path / "a.wav", 8000))
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        assert main(["unmix", path, "--cluster", address, "-o", str(tmp_path)]) == 1
    assert f"no Dask scheduler answers at {address} within 0.5 s" in capsys.readouterr().err


def test_workers_that_begin_nothing(tmp_path, capsys):
    paths = [str(write(tmp_path / f"{i}.wav", 8000)) for i in range(2)]
    with (
        cluster(1, processes=False, memory_limit=0) as client,
        dask.config.set({"phinmf.timeout": "1s"}),
    ):
        from distributed.core import Status

        command = ["unmix", *paths, "--cluster", client.scheduler.address, "-o", str(tmp_path)]
        client.run(lambda dask_worker: setattr(dask_worker, "status", Status.paused))
        assert main([*command, "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "1 are paused: they need more memory" in said


def test_files_that_workers_do_not_see(tmp_path, capsys, monkeypatch):
    path = str(write(tmp_path / "a.wav", 8000))
    elsewhere = lambda request: Path(f"/elsewhere/{request.path.name}")  # noqa: E731
    absolute = on_cluster.absolute

    def unseen(request):
        recording = request.recording
        sound = replace(recording.sound, path=elsewhere(request))
        return replace(absolute(request), recording=replace(recording, sound=sound))

    monkeypatch.setattr(on_cluster, "absolute", unseen)
    with cluster(1, processes=False) as client:
        command = ["unmix", path, "--cluster", client.scheduler.address, "-o", str(tmp_path)]
        assert main(command) == 1
    assert "a.wav does not exist on worker" in capsys.readouterr().err


def test_a_file_that_changes_meanwhile(tmp_path):
    path = tmp_path / "a.wav"
    y = np.random.default_rng(0).standard_normal(8000) * 0.1
    soundfile.write(path, y, 8000)
    Y = phinmf.frames_from_files(path, 64)
    soundfile.write(path, y[:4000], 8000)
    with dask.config.set(scheduler="sync"), pytest.raises(ValueError, match=r"a\.wav has changed"):
        phinmf.tl_nmf(Y, 2)
