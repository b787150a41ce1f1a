"""Groups and levels that a listener chose: what is refused."""

import pytest

from phinmf.unmixing.mix import Group, Level, Mix, check_mix, check_name

GOOD = ["drums", "Lead guitar (left)", "Bass & co", "ваще", "1", "rest of it"]
BAD = ["", " ", "a/b", "a\\b", ".hidden", "end.", " x", "x ", "a\nb", "a\0", "CON", "com1.wav",
       "x" * 81, "a:b", "\u202eabc", "🥁" * 61]  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_names_that_files_can_have(name):
    check_name(name)


@pytest.mark.parametrize("name", BAD)
def test_names_that_some_disk_refuses(name):
    with pytest.raises(ValueError, match="choose another name"):
        check_name(name)


@pytest.mark.parametrize(
    ("mix", "words"),
    [
        (Mix([Group("a", [1]), Group("b", [1])]), "component 1 is in two groups"),
        (Mix([Group("a", [1, 1])]), "component 1 is in two groups"),
        (Mix([Group("a", [4])]), "names component 4, but there are 1 to 3"),
        (Mix([Group("a", [1]), Group("A", [2])]), "two groups are called 'A'"),
        (Mix([Group("Rest", [1])]), "which are components 2, 3: choose"),
        (Mix([Group("Rest", [1, 2])]), "which is component 3: choose"),
        (Mix(levels=[Level()]), "1 levels, but 3 components"),
        (Mix(levels=[Level(), Level(gain_db=100), Level()]), "gain of 100 dB"),
        (Mix(levels=[Level(), Level(pan=float("nan")), Level()]), "pan of nan"),
    ],
)
def test_mixes_that_cannot_be_meant(mix, words):
    with pytest.raises(ValueError, match=words):
        check_mix(mix, 3)
