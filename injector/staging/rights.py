"""What the caller may not do with the bucket of a chunk store, as far as that can be asked."""

from collections.abc import Sequence

from injector.errors import Retryable
from injector.staging.files import speaking_of
from injector.staging.folder import Folder

READS = ("storage.objects.get", "storage.objects.list")
"""What a service needs: it reads chunks."""

STAGES = (*READS, "storage.objects.create", "storage.objects.delete")
"""What whoever submits and removes jobs needs."""


WITHIN_S = 5.0
"""How long a bucket has to answer: gcsfs tries again for half a minute, and a person waits."""


def lacking(
    store_url: str, permissions: Sequence[str], *, within_s: float = WITHIN_S
) -> Sequence[str]:
    """Return which of the permissions the caller lacks on the bucket of gs://BUCKET/….

    Other stores have no such question, and nothing is lacking there. Raises Retryable for a
    bucket that has not answered within `within_s` seconds.
    """
    if not store_url.startswith(("gs://", "gcs://")):
        return ()
    with speaking_of(store_url):
        folder = Folder.at(store_url)
        bucket = folder.path.partition("/")[0]
        asked = {"permissions": list(permissions), "json_out": True, "timeout": within_s}
        try:
            answer = folder.fs.call("GET", "b/{}/iam/testPermissions", bucket, **asked)
        except TimeoutError as error:
            raise Retryable(f"{store_url}: has not answered within {within_s:g} s") from error
    granted = answer.get("permissions", ())
    return [each for each in permissions if each not in granted]
