"""tracedata.py -- the recorded traces, for tests of the host program; and what checks.py has."""
import glob
import gzip
import os
import shutil
import struct
import tempfile

from checks import FATHOM, TOP, check, done, fathom, need  # noqa: F401


class Traces:
    """The recorded traces, unpacked into a folder of their own that is removed at the end."""

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="fathom-test-")
        self.files = []
        for gz in sorted(glob.glob(os.path.join(TOP, "test/data/tracedat/*.dat.gz"))):
            path = os.path.join(self.dir, os.path.basename(gz)[:-3])
            with gzip.open(gz) as src, open(path, "wb") as dst:
                shutil.copyfileobj(src, dst)
            self.files.append(path)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)


def options_v7(data):
    """The options of a version 7 file: (id, offset of the option, bytes of its data), up to the one that ends them."""
    at = data.index(b"7\0") + 2 + 6
    at = data.index(b"\0", data.index(b"\0", at) + 1) + 1
    at = struct.unpack_from("<Q", data, at)[0] + 16
    while True:
        kind, size = struct.unpack_from("<HI", data, at)
        more = 0 if kind else struct.unpack_from("<Q", data, at + 6)[0]
        if not more:
            yield kind, at, size
        if not kind and not more:
            return
        at = more + 16 if more else at + 6 + size
