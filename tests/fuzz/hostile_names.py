"""Names, texts and numbers that somebody may type or have on a disk."""

import numpy as np

NAMES = [
    "song", "a song", " ", "x ", "-dash", "--overwrite", "[red]x", "a\nb", "\x1b[31mred",
    "\u202eright", "émoji 🎵", "stray\udcff", "dot.dot", ".hidden",
    "..", "...", "{track}", "{number}",
    "%s", "*", "?", "~", "$HOME", "a'b\"c", "back\\slash", "result", "model",
    "report", "out", "COM1",
    "Song", "e\u0301", "é", "n" * 120, "n" * 251, "ö" * 125, "=", "a=b", "\t", "\x7f",
]  # fmt: skip
TEMPLATES = [
    "{number}", "{track}-{number}", "{number:02d}", "{number:>5}", "x", "", "{}", "{0}", "{track}",
    "{number!r:c}", "{number:c}", "../{number}", "/tmp/{number}", "{number}\n",
    "{", "{number:999999}",
    "{number.__class__}{number}", "{track.__class__.__mro__}{number}",
    "{number:300d}", "RESULT{number}",
    "component_{number:02d}", "\x1b[2J{number}", "stray\udcfe{number}",
    "{number}" * 300, ".{number}",
    "result.json{number}", "{number:b}", "-{number}", "{number:,}", "{number:e}", "{number:%}",
]  # fmt: skip
GROUPS = [
    "a=1", "a=1 b=2", "a=1,2", "rest=1", "REST=1", "rest=1,2", "a=0", "a=3", "a=1 a=2", "a=1,1", "",
    " ", "a", "=1", "a=", "a=-1", "a=1.5", ".a=1", "../a=1", "component_01=1",
    "result=1", "A=1 a=2",
    "[red]=1", "\x1b[31m=1", "\udcff=1", "é=1 e\u0301=2", "a=" + "9" * 5000, "n" * 250 + "=1",
    "a=１", "part_1=1", "model=1", "a\u2028b=1", "*=1", "a=1,2,3,4,5", "a=1;b=2", "🎵=2",
]  # fmt: skip
NUMBERS = [
    "0", "1", "2", "3", "-1", "0.5", "1e-9", "1e9", "1e308", "1e999", "inf", "nan", "-0", "", " 1 ",
    "0x10", "１", "1_0", "9" * 17, "9" * 30, "1e-320", "+2", "two", "2,5", "0.2",
]  # fmt: skip
WINDOWS = ["64", "65", "2", "1", "0", "-4", "8ms", "1ms", "1e3", "nan", "infms", "", "ms", "32 ms",
           "100000", "64samples", "0.01s", "6400000000000000000"]  # fmt: skip
FORMATS = ["WAV", "wav", ".flac", "FLAC", "OGG", "MP3", "OPUS", "AIFF", "W64", "CAF", "AU", "RF64",
           "WAVEX", "RAW", "SDS", "MAT5", "", "../x", "XYZ", "[red]", "VOC"]  # fmt: skip
SUBTYPES = ["PCM_16", "PCM_24", "PCM_32", "PCM_U8", "PCM_S8", "FLOAT", "DOUBLE", "VORBIS", "ULAW",
            "ALAW",
            "ALAC_16", "ALAC_24", "MS_ADPCM", "GSM610", "OPUS", "", "x", "pcm_16"]  # fmt: skip
DEVICES = ["cpu", "cuda", "cuda:7", "tpu", "", "[red]"]


def one_of(rng: np.random.Generator, values):
    return values[int(rng.integers(len(values)))]


def options(rng: np.random.Generator) -> list[str]:
    """A few options of `phinmf unmix`, with values that are right, at the border, or garbage."""
    values = {
        "-k": NUMBERS, "--window": WINDOWS, "--sparsity": NUMBERS, "--seed": NUMBERS,
        "--solver": ["lbfgs", "quasi-newton", "projected-gradient", "jacobi", "none", ""],
        "--init": ["dct", "random", "klt", "jd"], "--max-time": NUMBERS,
        "--threads": ["1", "2", *NUMBERS],
        "--device": DEVICES, "--start": NUMBERS, "--duration": NUMBERS, "--groups": NUMBERS,
        "--group": GROUPS, "--format": FORMATS, "--subtype": SUBTYPES, "--filename": TEMPLATES,
        "--gain": ["-6", "6", "60", "-60", "61", "0.1", *NUMBERS], "--model": ["", ".", "out"],
        "--fixed-transform": None, "--preview": None, "--overwrite": None, "--no-report": None,
        "--quiet": None, "--json": None, "--unknown": None, "--version": None, "--help": None,
    }  # fmt: skip
    usual = list(values)[:-3]
    chosen = [one_of(rng, list(values) if rng.random() < 0.03 else usual)
              for _ in range(rng.integers(1, 4))]  # fmt: skip
    sane = {
        "-k": ["1", "3", "5"], "--window": ["32", "64", "8ms"], "--sparsity": ["0", "1", "1e9"],
        "--seed": ["0", "7"], "--solver": ["quasi-newton", "projected-gradient", "jacobi"],
        "--max-time": ["0.01", "1e-9", "0.3"], "--threads": ["1", "2", "64"],
        "--start": ["0.01", "0.05"],
        "--duration": ["0.03", "1e9"], "--groups": ["1", "2"], "--group": ["a=1", "b=2 c=1"],
        "--gain": ["6", "-6", "0.1", "60", "-60"], "--device": ["cpu"], "--model": [],
        "--filename": ["{number}", "{track}-{number}", "{number:b}", ".{number}"],
    }  # fmt: skip
    words = []
    for name in dict.fromkeys(chosen):
        given = values[name]
        if given is not None and rng.random() < 0.7:
            given = sane.get(name) or given
        if given is None:
            words.append(name)
        elif rng.random() < 0.5 and name.startswith("--"):
            words.append(f"{name}={one_of(rng, given)}")
        else:
            words += [name, one_of(rng, given)]
    return words
