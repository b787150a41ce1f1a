"""The picture of the documentation, and what `make demo` runs."""

from phinmf.cli import main as command
from phinmf.report.demo import main


def test_demo_prints_a_table_and_writes_a_picture(tmp_path, capsys):
    assert main(["--output", str(tmp_path / "new" / "folder"), "--max-time", "1"]) == 0
    printed = capsys.readouterr().out
    assert "objective per entry" in printed
    assert "learned" in printed
    picture = tmp_path / "new" / "folder" / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000


def test_the_demo_ends_with_what_to_listen_to_and_the_null_test(tmp_path, capsys):
    assert command(["demo", "-k", "3", "--max-time", "0.3", "-o", str(tmp_path / "new")]) == 0
    printed = capsys.readouterr().out
    assert "bit for bit" in printed
    assert "report.html" in printed
    assert (tmp_path / "new/example/report.html").exists()
