"""Write the tables of README.md and of docs/ from the CSV files of the benchmarks."""

from __future__ import annotations

import csv
import re

from _code import RESULTS, ROOT, changed_parts, older, split_line, write_older


def read(name: str) -> tuple[str, list[dict[str, str]]]:
    """Return the machine and the rows of a result; if it is older than the code, that is said."""
    with (RESULTS / f"{name}.csv").open() as file:
        machine, hashes = split_line(file.readline())
        if parts := changed_parts(name, hashes):
            machine += f" ({before_change(parts)})"
        return machine, list(csv.DictReader(file))


def before_change(parts: list[str]) -> str:
    """The words for results that are older than these parts of the code."""
    return f"measured before the last change of this code: {', '.join(parts)}"


def table(rows: list[dict[str, str]], columns: dict[str, str]) -> str:
    """A table in Markdown; `columns` gives the heading of each key."""
    lines = ["| " + " | ".join(columns.values()) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row[key] for key in columns) + " |" for row in rows]
    return "\n".join(lines)


def fill(path: str, name: str, text: str) -> None:
    """Replace the text between <!-- name --> and <!-- /name --> of a page."""
    file = ROOT / path
    file.write_text(filled(file.read_text(), name, text))


def filled(page: str, name: str, text: str) -> str:
    """Return a page with another text between <!-- name --> and <!-- /name -->."""
    pattern = rf"(<!-- {name} -->\n).*?( *<!-- /{name} -->)"
    page, found = re.subn(pattern, lambda m: m[1] + text + "\n" + m[2], page, flags=re.S)
    assert found == 1, f"there is no place for {name}"
    return page


def readme(headline: list[dict[str, str]]) -> str:
    """Return the short table of the README."""
    value = {row["what"]: row["value"] for row in headline}

    def starts(prefix: str) -> str:
        return next(v for what, v in value.items() if what.startswith(prefix))

    fit, patient = "default fit, float64: ", "patient, random start: "
    seeds = next(w for w in value if w.startswith(patient + "worst")).removeprefix(patient)
    rows = [
        ("default fit / scikit-learn's IS-NMF (200 iterations), time, float64",
         starts(fit + "time /"), "5"),
        ("the same in float32", starts("default fit, float32: time /"), ""),
        ("objective per entry, worst of all starts", starts("worst of these"), "12.08"),
        (f"patient fit ({float(starts(patient + 'time')):.0f} s), random start: {seeds}",
         value[patient + seeds], ""),
        ("seconds to 12.08", starts("default fit: time to"), "303"),
    ]  # fmt: skip
    lines = ["| | phinmf | the paper, or its authors' code |", "|---|---|---|"]
    return "\n".join(lines + [f"| {what} | {ours} | {theirs} |" for what, ours, theirs in rows])


PAGE = "docs/measurements/performance.md"
TABLES = {
    "headline": {"what": "what", "value": "measured", "unit": "", "asked": "goal"},
    "kernel": {
        "M": "M", "dtype": "", "threads": "threads", "gemm_gflops": "GEMM, GF/s",
        "evaluation_ms": "evaluation, ms", "evaluation_rate": "share of the GEMM rate",
        "retraction_share": "retraction / evaluation", "nmf_share": "NMF step / evaluation",
        "nmf_to_sklearn": "NMF step / scikit-learn iteration",
        "peak_memory": "peak memory, frames matrices",
    },
    "defaults": {
        "sound": "sound", "sparsity": "sparsity", "lbfgs_worst": "lbfgs, worst start",
        "quasi_newton_best": "quasi-newton, best start", "lbfgs_seconds": "lbfgs, s",
        "quasi_newton_seconds": "quasi-newton, s",
    },
    "sparsity": {
        "sound": "sound", "sparsity": "sparsity", "atoms_90_95_99": "learned",
        "dct_90_95_99": "DCT",
    },
    "schedules": {
        "schedule": "schedule", "median_objective": "objective per entry, median",
        "worst_objective": "worst", "time_to_default": "time / default",
    },
    "atoms": {
        "fit": "", "learned": "atoms learned", "energy": "their energy",
        "iterations": "outer iterations", "seconds": "s", "processor_seconds": "processor s",
        "share_of_time": "time / version 0.1", "objective": "objective per entry",
        "gain": "share of the gain", "atoms_90_95_99": "atoms for 90/95/99 %",
    },
    "atoms_time": {
        "M": "M", "rate": "kHz", "few_learned": "atoms for 99.9 %", "few_seconds": "these, s",
        "loop_seconds": "of which learning, s",
        "eigenvectors_seconds": "of which eigenvectors, s", "all_seconds": "all atoms, s",
        "all_iterations": "outer iterations with all atoms", "seconds_per_iteration": "s for each",
    },
    "atoms_tail": {
        "sound": "sound", "energy": "energy of the learned atoms", "way": "other rows",
        "objective_5": "5 steps", "objective_15": "15", "objective_40": "40",
        "atoms_90_95_99": "atoms for 90/95/99 %", "processor_seconds": "processor s",
    },
    "starts": {
        "sparsity": "sparsity", "method": "method", "start": "start",
        "objective": "objective per entry, median", "best": "best", "worst": "worst",
        "atoms_90_95_99": "atoms for 90/95/99 %", "processor_seconds": "processor s",
    },
    "starts_short": {
        "sparsity": "sparsity", "start": "start",
        "objective": "objective per entry, median", "best": "best", "worst": "worst",
        "atoms_90_95_99": "atoms for 90/95/99 %", "processor_seconds": "processor s",
    },
    "starts_ways": {
        "way": "`JointDiagonalisation`", "processor_seconds": "processor s",
        "atoms_90_95_99": "atoms for 90/95/99 %",
        "objective_10": "NMF alone, sparsity 10", "objective_150": "sparsity 150",
    },
    "starts_length": {
        "M": "M", "processor_seconds": "processor s",
        "covariances_megabytes": "covariances, MB",
    },
    "scaling": {
        "M": "M", "N": "N", "dtype": "", "seconds_per_iteration": "s per outer iteration",
        "seconds_per_evaluation": "s per evaluation",
    },
    "estimator": {"what": "the paper's recording, K = 10", "value": "measured", "goal": "goal"},
    "held_out": {
        "K": "K", "sparsity": "sparsity", "transform": "transform",
        "train_objective": "objective, learned half",
        "held_out_objective": "objective, held-out half", "nll": "NLL, held-out half",
    },
    "separation_snr": {
        "kind": "sound", "pieces": "pieces", "mixture snr": "mixture", "TL-NMF snr": "TL-NMF",
        "DCT IS-NMF snr": "DCT IS-NMF", "STFT IS-NMF snr": "STFT IS-NMF",
        "oracle mask snr": "oracle mask", "to DCT snr": "TL-NMF less DCT IS-NMF",
        "by piece snr": "p over pieces",
        "to STFT snr": "TL-NMF less STFT IS-NMF", "fewer atoms": "fewer atoms than the DCT",
    },
    "separation_sdr": {
        "kind": "sound", "mixture sdr": "mixture", "TL-NMF sdr": "TL-NMF",
        "DCT IS-NMF sdr": "DCT IS-NMF", "STFT IS-NMF sdr": "STFT IS-NMF",
        "oracle mask sdr": "oracle mask", "to DCT sdr": "TL-NMF less DCT IS-NMF",
        "by piece sdr": "p over pieces",
        "to STFT sdr": "TL-NMF less STFT IS-NMF",
    },
    "separation_settings": {
        "setting": "setting", "chorale": "chorales", "piano": "piano", "drums": "drums",
        "example": "example", "paired snr": "all, SNR", "paired sdr": "all, SI-SDR",
        "snr": "SNR itself", "fewer atoms": "fewer atoms", "seconds": "s",
    },
    "few_atoms": {
        "method": "", "kind": "sound", "pieces": "pieces", "all snr": "all atoms, SNR",
        "few snr": "few atoms, SNR", "paired snr": "few less all, SNR",
        "by piece snr": "p over pieces", "paired sdr": "few less all, SI-SDR",
        "by piece sdr": "p over pieces", "all seconds": "all atoms, s",
        "few seconds": "few atoms, s",
    },
    "grouping_summary": {
        "groups": "groups",
        **{
            f"{half}: {measure} over {zero}": f"{words}, from {zero}: {half}"
            for measure, words in (("snr", "SNR"), ("si_sdr", "SI-SDR"))
            for zero in ("mixture", "chance")
            for half in ("chosen on", "reported")
        },
    },
    "grouping_kinds": {
        "sound": "sound", "pieces": "pieces", "K": "components",
        **{
            f"{groups}: {measure}": f"{words}, {measure_words}"
            for measure, measure_words in (("snr", "SNR"), ("si_sdr", "SI-SDR"))
            for groups, words in (
                ("mixture", "mixture"), ("chance", "chance"),
                ("before: loudness over time", "before"),
                ("the rule", "the rule"), ("oracle groups", "oracle groups"),
                ("oracle mask", "oracle mask"),
            )
        },
    },
    "grouping_suggestions": {
        "half": "half", "sound": "sound", "sets": "sets for each recording",
        "pairs of one source": "suggested pairs that are of one source",
        "of all pairs": "all pairs that are",
    },
    "grouping_arrangements": {
        "K": "components",
        **{
            f"{groups}: {measure}": f"{words}, {measure_words}"
            for measure, measure_words in (("snr", "SNR"), ("si_sdr", "SI-SDR"))
            for groups, words in (
                ("mixture", "the recording itself"), ("the rule", "automatic groups"),
                ("oracle groups", "best groups"), ("oracle mask", "best mask"),
            )
        },
    },
    "unmix": {
        "minutes": "minutes of 44.1 kHz stereo", "seconds": "s in all",
        "share_of_its_length": "share of its length", "learning": "learning, s",
        "streaming": "streaming, s", "peak_gigabytes": "peak memory, GB", "null_test": "null test",
    },
    "studio": {
        "what": "", "components": "components", "seconds": "s",
        "processor_seconds": "s of processor time",
    },
    "cluster": {
        "what": "the paper's recording, several times", "value": "measured", "asked": "goal",
    },
    "cluster_client": {
        "version": "", "workers": "workers", "messages go": "messages go",
        "messages": "messages that the client sends, per evaluation",
        "through_client": "M×M matrices through the client", "everywhere": "in all",
        "client": "client, processor s per outer iteration", "busiest": "busiest worker",
        "seconds": "s by the clock",
    },
    "out_of_core": {
        "minutes": "minutes of 44.1 kHz stereo", "M": "M", "frames": "frames",
        "frames_gigabytes": "frames, GB", "budget": "`phinmf.memory`",
        "peak_gigabytes": "peak resident memory, GB", "asked": "goal, GB",
        "outer_iterations": "outer iterations", "seconds": "s in all",
        "seconds_per_iteration": "s per outer iteration",
        "objective_per_entry": "objective per entry",
    },
    "amounts": {
        "sound": "sound", "call": "call", "where": "on", "time": "time", "known": "",
    },
    "scaling_model": {
        "workers": "workers", "tree": "tree", "M": "M", "N": "N", "seconds": "s, by the clock",
        "processor": "s, processor time", "model": "s, model",
        "model_to_measured": "model / measured",
    },
    "scaling_fit": {"constant": "", "of": "of", "value": "s"},
    "scaling_forecast": {
        "cluster": "1,000 hours on", "frames_s": "frames, s", "algebra_s": "M×M algebra, s",
        "packing_s": "packing, s", "network_s": "network, s", "rest_s": "rest, s",
        "iteration_s": "outer iteration, s",
        "hours_for_40": "40 iterations, h", "bottleneck": "bottleneck",
        "memory_per_worker": "memory per node or GPU",
    },
    "gpu_fits": {
        "dtype": "", "seed": "start", "objective": "objective per entry",
        "to_10.57_s": "to 10.57, s", "to_8.90_s": "to 8.90, s", "run_s": "run, s",
        "call_s": "call, s", "evaluations": "evaluations",
    },
    "gpu_pieces": {
        "restarts": "restarts", "M": "M", "N": "N", "K": "K", "dtype": "",
        "gemm_tflops": "products, TFLOP/s",
        "evaluation_ms": "evaluation, ms", "evaluation_rate": "share", "nmf_ms": "NMF step, ms",
        "retraction_ms": "retraction, ms", "outer_ms": "outer, ms", "outer_rate": "share",
    },
    "gpu_divergences": {
        "divergence": "divergence", "dtype": "", "evaluation_ms": "evaluation, ms",
        "evaluation_plain_ms": "plain", "nmf_ms": "NMF step, ms", "nmf_plain_ms": "plain",
        "fit_s": "fit, s", "fit_plain_s": "plain", "outer_iterations": "outer iterations",
        "objective": "objective per entry", "objective_plain": "plain",
    },
    "gpu_comparisons": {
        "dtype": "", "K": "K", "kinds": "kinds of work", "without_s": "first fit without, s",
        "with_s": "with, s", "comparison_ms": "comparison, ms",
    },
    "gpu_restarts": {
        "restarts": "restarts", "fit_s": "fit, s", "restarts_per_s": "restarts per s",
        "best": "best objective per entry", "worst": "worst",
        "fit_rate": "share of the rate of products",
    },
    "gpu_stream": {
        "way": "frames", "M": "M", "frames_GB": "frames, GB", "limit_GB": "limit, GB",
        "kept": "kept", "outer_s": "outer iteration, s", "to_device_GB": "to the GPU, GB",
        "to_host_GB": "back, GB", "link_s": "the link needs, s",
        "of_resident": "of the resident shard", "of_batch": "of the batch", "batch": "which is",
        "lower_limit": "lower limit", "of_lower_limit": "share of it",
    },
    "gpu_stream_parts": {
        "way": "frames", "M": "M", "N": "N", "outer_s": "outer iteration, s",
        "products_s": "products, s", "others_s": "other kernels, s", "copies in_s": "copies in, s",
        "copies out_s": "copies out, s",
    },
    "gpu_stream_workers": {
        "workers": "worker processes", "M": "M", "N": "N", "outer_s": "outer iteration, s",
    },
    "fuzz_command_line": {
        "what": "attack", "tried": "tried", "held": "held", "refused": "refused", "broke": "broke",
    },
    "fuzz_library": {
        "what": "attack", "tried": "tried", "held": "held", "refused": "refused", "broke": "broke",
    },
    "fuzz_cluster": {
        "what": "attack", "tried": "tried", "held": "held", "refused": "refused", "broke": "broke",
    },
    "online": {
        "sound": "sound", "chosen_on": "settings chosen on it", "frames": "frames",
        "sparsity": "sparsity", "batch": "all frames at once", "stream": "one pass",
        "more": "one pass: more by",
        "worst": "the same, worse random state", "batch_seconds": "all at once, processor s",
        "stream_seconds": "one pass, processor s",
    },
    "online_hours": {
        "hours": "hours", "frames": "frames", "megabytes": "resident memory, MB",
        "peak_megabytes": "peak, MB", "seconds": "s", "processor_seconds": "processor s",
        "frames_per_second": "frames per s", "faster": "times faster than real time",
        "objective": "objective",
    },
    "online_change": {"learned": "learned from", "objective": "objective", "more": "more by"},
    "online_sklearn": {
        "sound": "sound", "method": "method", "objective": "objective", "seconds": "processor s",
    },
    "armstrong": {
        "threads": "threads", "sparsity": "sparsity", "start": "start", "method": "method",
        "objective_per_entry": "objective per entry", "seconds": "s",
        "evaluations": "evaluations",
    },
    "beta": {
        "method": "", "dtype": "precision", "beta": "β", "phinmf_seconds": "phinmf, s",
        "sklearn_seconds": "scikit-learn, s", "ratio": "ratio",
        "phinmf_objective": "objective per entry", "sklearn_objective": "of scikit-learn",
    },
    "smoothness": {
        "smoothness": "smoothness", "divergence per entry": "divergence per entry",
        "change between frames, dB": "change between frames, dB (median)",
        "rises of the objective": "iterations that raise the objective",
        "time of NMF / without": "time of NMF / without",
    },
}  # fmt: skip


OTHER_PAGES = {
    **dict.fromkeys(
        (
            "gpu_fits",
            "gpu_pieces",
            "gpu_divergences",
            "gpu_restarts",
            "gpu_comparisons",
            "gpu_stream",
            "gpu_stream_parts",
            "gpu_stream_workers",
        ),
        "docs/measurements/gpu.md",
    ),
    **dict.fromkeys(
        (
            "cluster",
            "amounts",
            "cluster_client",
            "out_of_core",
            "scaling_model",
            "scaling_fit",
            "scaling_forecast",
        ),
        "docs/measurements/scaling.md",
    ),
    **dict.fromkeys(("fuzz_command_line", "fuzz_library", "fuzz_cluster"), "docs/reliability.md"),
    **dict.fromkeys(
        ("starts", "starts_short", "starts_ways", "starts_length"), "docs/choosing/starts.md"
    ),
    **dict.fromkeys(
        ("grouping_summary", "grouping_kinds", "grouping_suggestions"),
        "docs/measurements/grouping.md",
    ),
    **dict.fromkeys(
        ("online", "online_hours", "online_change", "online_sklearn"), "docs/measurements/online.md"
    ),
    "grouping_arrangements": "docs/measurements/unmix.md",
    "unmix": "docs/measurements/unmix.md",
    "studio": "docs/measurements/unmix.md",
    "held_out": "docs/choosing/held_out.md",
    "beta": "docs/choosing/divergences.md",
    "smoothness": "docs/choosing/penalties.md",
    "separation_snr": "docs/measurements/separation.md",
    "separation_sdr": "docs/measurements/separation.md",
    "separation_settings": "docs/measurements/separation.md",
    "few_atoms": "docs/measurements/separation.md",
}
SAME_FILE = {
    "separation_snr": "separation_summary",
    "separation_sdr": "separation_summary",
    "few_atoms": "few_atoms_summary",
}


#: Pages with numbers that no table above holds, and the beginnings of the names of their results.
NOTED = {
    "README.md": ("headline",),
    "docs/choosing.md": ("choose",),
    "docs/choosing/atoms.md": ("reproducible_atoms",),
    "docs/choosing/components.md": ("automatic",),
    "docs/choosing/divergences.md": ("divergences",),
    "docs/paper/paper.md": ("paper",),
    "docs/reliability.md": ("reliability",),
}


def note(names: tuple[str, ...], old: dict[str, list[str]]) -> str:
    """Say which results of a page are older than the code; empty if none is."""
    found = {name: parts for name, parts in old.items() if name.startswith(names)}
    if not found:
        return ""
    parts = sorted({part for some in found.values() for part in some})
    which = ", ".join(f"`{name}`" for name in found)
    return f"({which}: {before_change(parts)}.)\n"


def pages() -> dict[str, str]:
    """Return every page with the tables and notes that belong to the results there are."""
    found: dict[str, str] = {}

    def put(path: str, name: str, text: str) -> None:
        page = found.get(path) or (ROOT / path).read_text()
        found[path] = filled(page, name, text)

    for name, columns in TABLES.items():
        result = SAME_FILE.get(name, name)
        if not (RESULTS / f"{result}.csv").exists():
            continue  # its table stays as it is
        machine, rows = read(result)
        put(OTHER_PAGES.get(name, PAGE), name, f"{table(rows, columns)}\n\n{machine}\n")
        if name == "headline":
            put("README.md", name, readme(rows))
    old = older()
    for path, names in NOTED.items():
        put(path, "older", note(names, old))
    return found


def main() -> None:
    """Write the pages, and which results are older than the code."""
    for path, text in pages().items():
        (ROOT / path).write_text(text)
    write_older()


if __name__ == "__main__":
    main()
