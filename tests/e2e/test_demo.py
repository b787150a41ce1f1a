"""`phinmf demo`, which is what `make demo` runs."""

from phinmf.cli import main as command


def test_the_demo_ends_with_what_to_listen_to_and_the_null_test(tmp_path, capsys):
    assert command(["demo", "-k", "3", "--max-time", "0.3", "-o", str(tmp_path / "new")]) == 0
    printed = capsys.readouterr().out
    assert "bit for bit" in printed
    assert "report.html" in printed
    assert (tmp_path / "new/example/report.html").exists()
