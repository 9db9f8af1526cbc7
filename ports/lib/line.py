"""line.py -- a console's UART that the trace line shares, in QEMU: type at the kernel's shell while fathom has the line. For ports' checks."""
import atexit
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

# Whatever ends the script ends QEMU.
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
MAGIC = b"\xf5FTM"


class Line:
    """Starts `cmd` (QEMU, with UART for `-serial`'s place), and offers fathom the socket `client`; `text` is what came from the kernel and is
    not a frame."""

    def __init__(self, cmd, folder):
        uart, self.client = f"{folder}/uart", f"{folder}/line"
        self.text, self.typed, self.ended, self.coming, self.since = bytearray(), b"", False, bytearray(), 0
        for path in (uart, self.client):
            if os.path.exists(path):
                os.unlink(path)
        served = socket.socket(socket.AF_UNIX)
        served.bind(self.client)
        served.listen()
        self.qemu = subprocess.Popen([c.replace("UART", f"unix:{uart},server=on,wait=on") for c in cmd], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(self.kill)
        kernel = socket.socket(socket.AF_UNIX)
        while kernel.connect_ex(uart):  # QEMU has not made it yet, or does not listen yet
            if self.qemu.poll() is not None:
                raise RuntimeError(f"QEMU ended with {self.qemu.returncode}: {' '.join(cmd)}")
            time.sleep(0.05)
        threading.Thread(target=self.carry, args=(kernel, served), daemon=True).start()

    def carry(self, kernel, served):
        client = None
        while True:
            ready = select.select([kernel, served] + ([client] if client else []), [], [], 0.05)[0]
            if kernel in ready:
                time.sleep(0.001)  # QEMU writes byte by byte: take many at once
            if kernel in ready:
                try:
                    data = kernel.recv(65536)
                except OSError:
                    data = b""
                if not data:
                    self.ended = True
                    return
                self.coming.extend(data)
                self.since = time.monotonic()
                self.sort()
                if client:
                    try:
                        client.sendall(data)
                    except OSError:
                        client = None
            elif self.coming and time.monotonic() > self.since + 2:  # a frame that never ends: the kernel died in it
                self.text.extend(self.coming)
                self.coming.clear()
            if client in ready:
                try:
                    data = client.recv(65536)
                except OSError:  # it closed with answers unread
                    data = b""
                if data:
                    kernel.sendall(data)
                else:
                    client.close()
                    client = None
            elif self.typed:  # the client is silent, so this is between its frames; a UART has a FIFO of 16 bytes
                kernel.sendall(self.typed[:8])
                self.typed = self.typed[8:]
            if served in ready:
                client = served.accept()[0]

    def sort(self):
        """Text goes to `text`, frames are dropped: 16 bytes that end in two numbers and begin with a magic and, at 6, a length; that; a CRC."""
        while self.coming:
            at = self.coming.find(MAGIC)
            if at < 0:  # perhaps the magic has only begun
                at = len(self.coming) - max(n for n in range(4) if self.coming.endswith(MAGIC[:n]))
            self.text.extend(self.coming[:at])
            del self.coming[:at]
            size = 20 + int.from_bytes(self.coming[6:8], "little")
            if len(self.coming) < 8 or len(self.coming) < size:
                return
            del self.coming[:size]

    def type(self, line):
        self.typed += line.encode() + b"\n"

    def until(self, what, start=0, timeout=120):
        """Where `what` (a regular expression) ends in the text after `start`."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            m = re.compile(what.encode(), re.S).search(bytes(self.text), start)
            if m:
                return m.end()
            if self.ended:
                break
            time.sleep(0.05)
        raise SystemExit(f"the kernel's console never shows {what}: {bytes(self.text[start:][-500:])!r}")

    def kill(self):
        self.qemu.kill()
        self.qemu.wait()
