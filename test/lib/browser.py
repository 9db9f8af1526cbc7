"""browser.py -- a headless Chromium, steered over a pipe: open a page, ask it, press keys, move the mouse, take a picture."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium")


class Browser:
    def __init__(self, width=1200, height=700, scale=1, dark=False):
        to_child, self.out = os.pipe()
        self.into, from_child = os.pipe()
        self.dir = tempfile.mkdtemp()
        os.set_inheritable(to_child, True)
        os.set_inheritable(from_child, True)
        # Chromium reads commands from descriptor 3 and answers on 4.
        self.child = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_child} 4>&{from_child}', "-", CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self.dir}", f"--window-size={width},{height}", "--hide-scrollbars", "--no-first-run",
             "about:blank"], pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer, self.number, self.session, self.log = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.size(width, height, scale)
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            got = self.receive()
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            if got.get("method") == "Runtime.exceptionThrown":
                self.log.append(str(got["params"]["exceptionDetails"].get("exception", {}).get("description", got))[:500])
            elif got.get("method") == "Log.entryAdded" and got["params"]["entry"]["level"] == "error":
                self.log.append(got["params"]["entry"]["text"][:500])

    def receive(self):
        while b"\0" not in self.buffer:
            more = os.read(self.into, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def open(self, url, ready='document.body && document.body.dataset.ready === "true"'):
        self.call("Page.navigate", url=url)
        return self.until(ready)

    def until(self, expression, seconds=100):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.eval(expression):
                    return True
            except RuntimeError:
                pass
            time.sleep(0.02)
        return False

    def eval(self, expression):
        r = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in r:
            raise RuntimeError(str(r["exceptionDetails"].get("exception", {}).get("description"))[:600])
        return r["result"].get("value")

    def settled(self):
        """Every answer is there and drawn."""
        self.eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
        return self.until("page.pending() === 0 && !page.coarse")

    def key(self, key, modifiers=0):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)

    def mouse(self, kind, x, y, button="left", **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, **more)

    def click(self, x, y, count=1):
        self.mouse("mousePressed", x, y, clickCount=count)
        self.mouse("mouseReleased", x, y, clickCount=count)

    def drag(self, x0, x1, y, **more):
        self.mouse("mousePressed", x0, y, clickCount=1, **more)
        for i in range(1, 5):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / 4, y, **more)
        self.mouse("mouseReleased", x1, y, clickCount=1, **more)

    def wheel(self, x, y, dy, modifiers=0):
        self.mouse("mouseWheel", x, y, button="none", deltaX=0, deltaY=dy, modifiers=modifiers)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.child.wait(timeout=100)
        os.close(self.out)
        os.close(self.into)
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
