"""Run every benchmark and write one table: docs/benchmarks.md and docs/benchmarks.json.

The README's figures are some of its rows.

    python benchmarks/all.py [--full] [NAME ...]

The quick mode takes a few minutes; the full one repeats more and goes up to the sizes that the
aims are about. Some benchmarks alone are only printed. Each also runs by itself, and says how
it measures.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import control
import dashboard
import delivery
import demo
import diagnosis
import emulator
import handler
import ledger
import operations
import outage
import overload
import pacing
import publishing
import sick_queue
import staging
from rows import Section, as_json, as_markdown, in_readme, show

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
BENCHMARKS: Mapping[str, ModuleType] = {
    module.__name__: module
    for module in (
        delivery,
        handler,
        emulator,
        staging,
        ledger,
        overload,
        outage,
        sick_queue,
        pacing,
        publishing,
        dashboard,
        control,
        diagnosis,
        operations,
        demo,
    )
}


def main() -> None:
    """Run what is asked for, and write down what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="take an hour, for the sizes aimed at")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, []], help="all by default")
    asked = parser.parse_args()
    sections = []
    for name in asked.names or BENCHMARKS:
        print(f"\n{name}", flush=True)
        module = BENCHMARKS[name]
        sections.append((name, words(module), list(show(module.rows(full=asked.full)))))
    if not asked.names:
        write(sections, mode="full" if asked.full else "quick")


def write(sections: Sequence[Section], *, mode: str) -> None:
    """Write the table, for people and for programs."""
    (DOCS / "benchmarks.json").write_text(as_json(sections, mode=mode), encoding="utf-8")
    (DOCS / "benchmarks.md").write_text(as_markdown(sections, mode=mode), encoding="utf-8")
    rows = [row for _, _, rows in sections for row in rows]
    README.write_text(in_readme(README.read_text(encoding="utf-8"), rows), encoding="utf-8")


def words(module: ModuleType) -> str:
    """Return what a benchmark says of itself, code without its indent."""
    lines = (module.__doc__ or "").splitlines()
    return "\n".join(f"`{line.strip()}`" if line.startswith("    ") else line for line in lines)


if __name__ == "__main__":
    main()
