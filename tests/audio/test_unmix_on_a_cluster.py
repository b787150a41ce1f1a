"""`phinmf unmix --cluster`: each recording on a worker."""

import json
import socket
from contextlib import ExitStack

import numpy as np
import pytest
import soundfile
from clusters import cluster, needs_dask
from sound_files import tones, write

from phinmf.cli import cluster as on_cluster
from phinmf.cli import main

needs_dask()

pytestmark = pytest.mark.full


def unmix(paths, address, output, *options):
    """Return the exit code of the command for these recordings."""
    names = [str(path) for path in paths]
    how = ["--cluster", address, "-o", str(output), "-k", "2", "--no-report", "--quiet", *options]
    return main(["unmix", *names, *how])


def test_components_add_up(tmp_path, capsys):
    one, two = (write(tmp_path / f"{name}.wav", tones(12_000, 2)) for name in ("one", "two"))
    with cluster(2) as client:
        address = client.scheduler.address
        assert unmix([one, two], address, tmp_path / "many", "--json") == 0
        assert [len(r["components"]) for r in json.loads(capsys.readouterr().out)] == [2, 2]
        assert unmix([one], address, tmp_path / "single") == 0
    for folder in (tmp_path / "many/one", tmp_path / "many/two", tmp_path / "single/one"):
        parts = [soundfile.read(path)[0] for path in sorted(folder.glob("component_*.wav"))]
        y, _ = soundfile.read(tmp_path / f"{folder.name}.wav")
        assert np.abs(sum(parts) - y).max() < 1e-6


def test_one_bad_file_does_not_stop_the_others(tmp_path, capsys):
    bad = tmp_path / "bad.wav"
    bad.write_text("no sound")
    with cluster(1, processes=False) as client:
        recordings = [bad, write(tmp_path / "good.wav")]
        assert unmix(recordings, client.scheduler.address, tmp_path) == 1
    assert "bad.wav cannot be read as sound" in capsys.readouterr().err
    assert (tmp_path / "good" / "result.json").exists()


@pytest.mark.parametrize("listens", [False, True])
def test_an_address_where_nobody_answers(tmp_path, capsys, monkeypatch, listens):
    monkeypatch.setattr(on_cluster, "CONNECT", 0.5)
    port = 9
    with ExitStack() as stack:
        if listens:
            mute = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            port = mute.getsockname()[1]
        address = f"tcp://127.0.0.1:{port}"
        assert unmix([write(tmp_path / "a.wav")], address, tmp_path) == 1
    said = capsys.readouterr().err
    assert f"no Dask scheduler answers at {address} within 0.5 s: start one" in said


def test_files_that_workers_do_not_see(tmp_path, capsys, monkeypatch):
    path = write(tmp_path / "a.wav")
    connected = on_cluster.connected

    def gone(address):
        path.unlink()  # after it was checked here
        return connected(address)

    monkeypatch.setattr(on_cluster, "connected", gone)
    with cluster(1, processes=False) as client:
        assert unmix([path], client.scheduler.address, tmp_path) == 1
    assert "a.wav does not exist on worker" in capsys.readouterr().err
