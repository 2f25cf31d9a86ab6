"""Images and containers without a daemon, by Debian's buildah; needs root.

Everything is kept in one folder. Processes run in namespaces that end with their parent, so that
nothing is left behind.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BASE = "docker.io/library/python:3.13-slim"
PACKAGES = "python3,python3-venv,ca-certificates"
CERTIFICATES = "/etc/ssl/certs:/etc/ssl/certs:ro"
AS_IN_DOCKER = 'ln -s /usr/bin/python3 "$1/usr/local/bin/python"'
OWN_NAMESPACES = ("unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child=SIGKILL")


@dataclass(frozen=True, slots=True)
class Buildah:
    """Buildah with its storage in a folder."""

    folder: Path

    def make_base(self) -> None:
        """Make what stands for Docker's python:3.13-slim from Debian's own packages."""
        tree = self.folder / "base.tar"
        options = ("--variant=minbase", f"--include={PACKAGES}", f"--customize-hook={AS_IN_DOCKER}")
        subprocess.run(["mmdebstrap", "--quiet", *options, "trixie", tree], check=True)
        container = self._ask("from", "scratch")
        self._ask("add", "--quiet", container, str(tree), "/")
        self._ask("commit", "--quiet", "--rm", container, BASE)
        tree.unlink()

    def build(self, context: Path, tag: str) -> None:
        """Build the image of the context's Dockerfile; HEALTHCHECK is of Docker's format only."""
        options = ("--format", "docker", "--isolation", "chroot", "--pull-never", "--layers=false")
        self._ask("build", *options, "--volume", CERTIFICATES, "--tag", tag, str(context))

    def configuration(self, image: str) -> Mapping[str, object]:
        """Return what the image says about running it."""
        found = json.loads(self._ask("inspect", "--type", "image", image))
        return found["Docker"]["config"]

    def size(self, image: str) -> int:
        """Return the image's size in bytes, unpacked and with what it is built on."""
        container = self.container(image)
        tree = Path(self._ask("mount", container))
        total = sum(path.lstat().st_size for path in tree.rglob("*") if path.is_file())
        self._ask("rm", container)
        return total

    def container(self, image: str) -> str:
        """Make a container of the image and return its name."""
        return self._ask("from", "--pull-never", image)

    def run(
        self,
        container: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        data: Path,
        errors: int | None = None,
    ) -> subprocess.Popen[bytes]:
        """Run the command as the image's user, with a folder that both see under one name.

        `errors` is where its complaints go, if not where this process's go.
        """
        variables = [f"--env={name}={value}" for name, value in environment.items()]
        options = ("--isolation", "chroot", "--volume", f"{data}:{data}", *variables)
        line = [*OWN_NAMESPACES, *self._line, "run", *options, container, "--", *command]
        return subprocess.Popen(line, stderr=errors)

    @property
    def _line(self) -> tuple[str, ...]:
        root, runroot = self.folder / "images", self.folder / "run"
        return ("buildah", "--root", str(root), "--runroot", str(runroot), "--storage-driver=vfs")

    def _ask(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._line, *arguments], stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout.strip()
