#!/usr/bin/env python3
"""terminal.py -- text of a trace never steers a terminal; files that are not whole do not stay behind; names stay in their folder."""
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from checks import FATHOM, TOP, check, done

EVIL = b"\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\r\xc2\x9b"


def on_terminal(*args, cwd=None):
    """(exit code, all bytes that the terminal gets) of a run with stdout and stderr on one."""
    pid, fd = pty.fork()
    if not pid:
        if cwd:
            os.chdir(cwd)
        os.environ["NO_COLOR"] = "1"
        os.execv(FATHOM, [FATHOM, *args])
    out = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out


def steers(out):
    """The first control character that came through, if any."""
    text = out.replace(b"\r\n", b"\n")
    bad = [b for b in text if b < 32 and b not in b"\n\t" or b == 127]
    try:
        bad += [ord(c) for c in text.decode() if 0x80 <= ord(c) < 0xa0]
    except UnicodeDecodeError as e:
        bad.append(text[e.start])
    return bad[:1]


def text_trace(d):
    path = os.path.join(d, "evil.txt")
    lines = [b"# tracer: nop\n#\n"]
    for n in range(3):
        lines.append(b"    %s-57      [001] d..2.    12.34567%d: my_event: name=%s x=%d\n" % (b"ev\x1b[5mil", n, EVIL.replace(b"\r", b""), n))
    with open(path, "wb") as f:
        f.write(b"".join(lines))
    return path


def terminal(d):
    path = text_trace(d)
    for args in (("report", path), ("query", path), ("report", "--trace", path), ("verify", path), ("stat", path),
                 ("convert", path, "-", "--form", "txt"), ("convert", path, "-", "--form", "csv"), ("graph", path)):
        rc, out = on_terminal(*args)
        name = "_".join(a for a in args if a not in (path, "-")).replace("--", "")
        check(f"terminal_{name}", not steers(out) and rc in (0, 1), f"{rc} {steers(out)} {out[:200]}")
    rc, out = on_terminal("report", path)
    check("terminal_shows_them", rb"\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\xc2\x9b" in out, out[:300])
    plain = subprocess.run([FATHOM, "report", path], capture_output=True, check=False).stdout
    check("pipe_is_exact", EVIL.replace(b"\r", b"") in plain, plain[:200])


def messages(d):
    """What is quoted in a message is escaped wherever it goes."""
    path = os.path.join(os.fsencode(d), b"no\x1b[2Jsuch.dat")
    err = subprocess.run([os.fsencode(FATHOM), b"report", path], capture_output=True, check=False).stderr
    check("message_escaped", b"\x1b" not in err and rb"no\x1b[2Jsuch.dat" in err, err)
    err = subprocess.run([FATHOM, "\x1b[2J"], capture_output=True, check=False).stderr
    check("command_escaped", b"\x1b" not in err, err)


def big_trace(d):
    """A text whose conversion takes a second or so."""
    path = os.path.join(d, "big.txt")
    with open(path, "w", encoding="ascii") as f:
        f.write("# tracer: nop\n#\n")
        for n in range(400_000):
            f.write(f"            bash-57      [001] d..2.    {12 + n // 1000000}.{n % 1000000:06}: my_event: a={n} b=text{n}\n")
    return path


def wait_for_file(out, process):
    """Until the process has a file open in the folder, or ends."""
    fds = f"/proc/{process.pid}/fd"
    while process.poll() is None:
        try:
            if any(os.readlink(f"{fds}/{n}").startswith(out + "/") for n in os.listdir(fds)):
                return
        except OSError:
            pass
        time.sleep(0.001)


def parts(d):
    path = big_trace(d)
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        out = os.path.join(d, f"out{sig}")
        os.mkdir(out)
        for _ in range(50):  # until the signal finds it at work: where we are put aside meanwhile, it is done first
            p = subprocess.Popen([FATHOM, "convert", path, os.path.join(out, "x.dat")], stderr=subprocess.DEVNULL)
            wait_for_file(out, p)
            p.send_signal(sig)
            rc = p.wait()
            if rc:
                break
            os.unlink(os.path.join(out, "x.dat"))
        check(f"no_part_after_{sig.name}", rc == -sig and not os.listdir(out), f"{rc} {os.listdir(out)}")
    out = os.path.join(d, "names")
    os.mkdir(out)
    rc = subprocess.call([FATHOM, "convert", path, os.path.join(out, "x.dat")])
    check("part_is_gone", rc == 0 and os.listdir(out) == ["x.dat"], os.listdir(out))
    check("mode_is_usual", os.stat(os.path.join(out, "x.dat")).st_mode & 0o777 == 0o666 & ~current_umask())


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def broken_pipes(d):
    """A reader of messages that goes away does not end a conversion with success, nor leave half a file."""
    out = os.path.join(d, "pipe.dat")
    for both in (False, True):
        r, w = os.pipe()
        os.close(r)
        rc = subprocess.call([FATHOM, "convert", os.path.join(d, "missing.dat"), out], stderr=w,
                             stdout=w if both else subprocess.DEVNULL)
        os.close(w)
        check(f"failure_stays_{'both' if both else 'stderr'}", rc == 1 and not os.path.exists(out), rc)
    r, w = os.pipe()
    os.close(r)
    rc = subprocess.call([FATHOM, "report", text_trace(d)], stdout=w)
    os.close(w)
    check("head_is_not_an_error", rc == 0, rc)


def symbol_names(d):
    """Tables of symbols are neither written nor read outside their folder."""
    inner = os.path.join(d, "a", "b")
    os.makedirs(inner)
    traced = os.path.join(inner, "x.traced")
    shutil.copy(os.path.join(TOP, "test/data/l4re/small.traced"), traced)
    elf = os.path.join(TOP, "build/fathom")
    with open(os.path.join(inner, "binaries.list"), "w", encoding="ascii") as f:
        f.write(f"../../pwned/x: {elf}\n{d}/absolute: {elf}\nrom/..hidden..: {elf}\n")
    r = subprocess.run([FATHOM, "symbols", "save", traced], capture_output=True, check=False)
    check("save_stays_inside", not os.path.exists(os.path.join(d, "pwned")) and not os.path.exists(os.path.join(d, "absolute.symt"))
          and not os.path.exists(os.path.join(d, "a", "pwned")), sorted(os.listdir(d)))
    check("save_says_so", b"leads out of" in r.stderr and os.path.exists(os.path.join(inner, "x", "rom", "..hidden...symt")), r.stderr)


def json_names(d):
    """A name with quotes is still one JSON string."""
    path = os.path.join(d, 'a"b\\.txt')
    shutil.copy(text_trace(d), path)
    for args in (("stat", "--json"), ("verify", "--json"), ("index", "--json")):
        r = subprocess.run([FATHOM, *args, path], capture_output=True, check=False)
        try:
            json.loads(r.stdout)
            good = True
        except ValueError:
            good = False
        check(f"json_{args[0]}", good, r.stdout[:200])


def main():
    with tempfile.TemporaryDirectory(prefix="fathom-test-") as d:
        terminal(d)
        messages(d)
        parts(d)
        broken_pipes(d)
        symbol_names(d)
        json_names(d)
    done()


main()
