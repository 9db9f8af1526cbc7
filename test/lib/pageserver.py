"""pageserver.py -- fathom view of a trace, and questions to its server."""
import http.client
import re
import subprocess

from checks import FATHOM


class Server:
    def __init__(self, path, *args):
        self.child = subprocess.Popen([FATHOM, "view", "--no-browser", path, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.child.stdout.readline().strip()
        m = re.match(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/$", self.url)
        self.port, self.token = (int(m[1]), m[2]) if m else (0, "")

    def get(self, path, method="GET", **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        c.putrequest(method, path, skip_host="Host" in headers)
        for k, v in headers.items():
            c.putheader(k.replace("_", "-"), v)
        c.endheaders()
        r = c.getresponse()
        return r.status, r.read()

    def ask(self, what):
        return self.get(f"/{self.token}/{what}")

    def memory(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.child.pid}/status").read())[1]) / 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(timeout=100)
