#!/usr/bin/env python3
"""Measures hpcbench side by side with what people use instead, and prints one table. Called by bench/run.sh, which sees to programs and peers."""
import argparse
import os
import pathlib
import sys
import traceback

import agree
import duration
import kept as kept_table
import table
from process import ROOT
from study import Place, Unmeasured
from suites import SUITES
from suites_trainers import SIZES

EXIT_NOT_MET, EXIT_WRONG, EXIT_INTERRUPTED = 1, 2, 130


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench/run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"{', '.join(SUITES)} or all (default)")
    parser.add_argument("--quick", action="store_true", help="everything smaller and in 3 repeats, at most 10 minutes: shows that it runs, resolves nothing")
    parser.add_argument("--repeats", type=int, help="a fixed number instead of 6 to 20")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE", help="keep the table as JSON, for --check-against and --markdown, with every row "
                        "as it is measured; after an interruption, the same command continues. The studies lie in FILE.data meanwhile")
    parser.add_argument("--check-against", type=pathlib.Path, metavar="FILE", help="compare with a table that was kept; exit 1 if a row differs, or is in one "
                        "of them alone though both have its suite")
    parser.add_argument("--saved", type=pathlib.Path, metavar="FILE", action="append",
                        help="measure nothing: take this table that was kept; given again: put together, of the same row the last one's")
    parser.add_argument("--only", action="append", metavar="WORD", help="of the trainers: only rows whose work has this word before its colon")
    parser.add_argument("--size", action="append", choices=SIZES, help="of the trainers: only BERT of this size")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown, as bench/table.md has it")
    parser.add_argument("--document", type=pathlib.Path, metavar="FILE", help="put machine and table between the marks in FILE (bench/table.md)")
    parser.add_argument("--folder", help="where the studies lie meanwhile (default: beside the file of --save, or the folder for temporary files)")
    options = parser.parse_args()
    unknown = [name for name in options.suites if name not in (*SUITES, "all")]
    if options.save and options.check_against and options.save.resolve() == options.check_against.resolve():
        parser.error("--save and --check-against name the same file: a table agrees with itself")
    if unknown:
        parser.error(f"there is no suite `{unknown[0]}`: {', '.join(SUITES)} or all")
    return options


def names_of(options):
    return list(SUITES) if not options.suites or "all" in options.suites else [name for name in SUITES if name in options.suites]


def what_was_asked(options):
    """Returns everything that must be equal for another command to continue a table."""
    return {"suites": names_of(options), "quick": options.quick, "repeats": options.repeats, "only": options.only, "size": options.size}


def measure_suite(options, kept, name):
    """Returns the parts that could not be measured."""
    failed = []

    def rows_of(folder):
        place = Place(folder, options.quick, options.repeats, options.only, options.size)
        yield from SUITES[name](place)
        failed.extend(place.failed)

    try:
        kept.measure(name, rows_of)
    except (Unmeasured, SystemExit) as problem:
        failed.append(name)
        print(f"{name}: not measured: {problem}", file=sys.stderr, flush=True)
    except Exception as problem:  # on any failure: the other suites' hour must not be lost
        failed.append(name)
        print(f"{name}: not measured: {''.join(traceback.format_exception(problem))}", file=sys.stderr, flush=True)
    return failed


def measure(options, kept):
    """Measures all requested suites; for one that cannot be measured, prints the reason and fails after the others. Returns the failed ones."""
    failed = []
    print(duration.as_text(names_of(options), options, kept), file=sys.stderr, flush=True)
    for name in names_of(options):
        if name in kept.done:
            continue
        print(f"{name} ...", file=sys.stderr, flush=True)
        of_suite = measure_suite(options, kept, name)
        kept.machine["load_after"] = os.getloadavg()[0]
        failed += of_suite
        if not of_suite:
            kept.end_suite(name)
        print(f"{name}: {kept.took_s[name]:.0f} s", file=sys.stderr, flush=True)
    return failed


def measured(options):
    """(machine, rows, quick, what could not be measured)"""
    kept = kept_table.Kept(options.save, table.this_machine(ROOT), options.quick, what_was_asked(options), options.folder)
    if kept.is_whole:
        print(f"{options.save} is whole: nothing is measured again (another table: --save OTHER)", file=sys.stderr)
        return kept.machine, list(kept.rows.values()), kept.quick, []
    # Otherwise hpcbench asks git for the commit if the file lies in a repository: the measurement must not depend on the place.
    os.environ["GIT_CEILING_DIRECTORIES"] = str(kept.data.parent.resolve())
    whole = False
    try:
        failed = measure(options, kept)
        whole = not failed
    except KeyboardInterrupt:
        print(f"interrupted; {'the same command goes on' if options.save else 'nothing was kept (--save FILE)'}", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    finally:
        kept.end(whole)
    if failed and options.save:
        print(f"{options.save} is not whole: the same command tries again what could not be measured", file=sys.stderr)
    machine = kept.machine | ({} if whole else {"incomplete": True})
    return machine, list(kept.rows.values()), kept.quick, failed


def differs_from(options, machine, rows):
    """Prints how the rows agree with the table of --check-against."""
    other, before, _ = table.load(options.check_against)
    print(f"\nThe first table is {options.check_against}: {table.machine_line(other)}; the second the one above.\n")
    apart = [name for name in kept_table.MACHINE if "parts" not in machine and "parts" not in other and machine.get(name) != other.get(name)]
    if apart:
        print(f"They are not of the same {', '.join(apart)}.\n")
    agreements = agree.compare(before, rows)
    print(agree.as_text(agreements, agree.alone(before, rows)))
    lacking = [] if options.only or options.size else agree.missing(before, rows)
    return any(not each.agrees for each in agreements) or bool(lacking) or not agreements


def main():
    try:
        return told(parse_arguments())
    except SystemExit as problem:
        if not isinstance(problem.code, str):
            raise
        print(problem.code, file=sys.stderr)
        return EXIT_WRONG


def told(options):
    """Measures, or takes what was measured, and prints it. The exit code."""
    failed = []
    if options.saved:
        machine, rows, quick = table.merge([table.load(path) for path in options.saved])
        if options.save:
            if options.save.exists() and not table.read(options.save).get("complete", True):
                raise SystemExit(f"error: {options.save} is an unfinished table: repeat the command that measures it, or name another file")
            table.save(options.save, machine, rows, quick)
    else:
        machine, rows, quick, failed = measured(options)
    print(table.machine_line(machine) + ("; --quick: resolves nothing" if quick and "parts" not in machine else ""))
    print()
    print(table.as_markdown(rows) if options.markdown else table.as_text(rows))
    if options.document:
        table.put_into(options.document, machine, rows, quick)
    not_met = [row for row in rows if row.verdict == table.NOT_MET or row.wrong]
    unresolved = [row for row in rows if not row.resolved]
    print(f"\n{len(rows)} rows: {sum(row.verdict == table.MET for row in rows)} meet their target, {len(not_met)} do not, "
          f"{sum(row.target is None for row in rows)} have none; {len(unresolved)} are wider than 10 %")
    differs = bool(options.check_against) and differs_from(options, machine, rows)
    if failed:
        print(f"error: not measured: {', '.join(failed)}", file=sys.stderr)
        return EXIT_WRONG
    # --quick is too small for a comparison with targets.
    return EXIT_NOT_MET if (not_met and not quick) or differs else 0


if __name__ == "__main__":
    sys.exit(main())
