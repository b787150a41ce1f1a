"""What `make demo` runs."""

from phinmf.report.demo import main


def test_demo_prints_a_table_and_writes_a_picture(tmp_path, capsys):
    assert main(["--output", str(tmp_path / "new" / "folder"), "--max-time", "1"]) == 0
    printed = capsys.readouterr().out
    assert "objective per entry" in printed
    assert "learned" in printed
    picture = tmp_path / "new" / "folder" / "demo.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000
