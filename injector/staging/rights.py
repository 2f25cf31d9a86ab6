"""What the caller may not do with the bucket of a chunk store, as far as that can be asked."""

from collections.abc import Sequence

from injector.staging.files import speaking_of
from injector.staging.folder import Folder

READS = ("storage.objects.get", "storage.objects.list")
"""What a service needs: it reads chunks."""

STAGES = (*READS, "storage.objects.create", "storage.objects.delete")
"""What whoever submits and removes jobs needs."""


def lacking(store_url: str, permissions: Sequence[str]) -> Sequence[str]:
    """Return which of the permissions the caller lacks on the bucket of gs://BUCKET/….

    Other stores have no such question, and nothing is lacking there.
    """
    if not store_url.startswith(("gs://", "gcs://")):
        return ()
    with speaking_of(store_url):
        folder = Folder.at(store_url)
        bucket = folder.path.partition("/")[0]
        asked = {"permissions": list(permissions), "json_out": True}
        answer = folder.fs.call("GET", "b/{}/iam/testPermissions", bucket, **asked)
    granted = answer.get("permissions", ())
    return [each for each in permissions if each not in granted]
