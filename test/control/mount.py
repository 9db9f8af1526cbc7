#!/usr/bin/env python3
# live
"""mount.py -- a process's control tree over 9P and through FUSE: files, waiting reads, interrupts, poll, unmount, privacy,
and what happens to readers when the mount or the target goes away."""
import errno
import os
import select
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from targets import (FATHOM, POLL, READ, Checks, Mount, Process, asleep_in, error_of, is_mounted, no_fuse, read,  # noqa: E402
                     reader_of, servers, until, write)

check = Checks("mount")
NOBODY = 65534


def fs(pid, *args):
    return subprocess.run([FATHOM, "fs", str(pid), *args], capture_output=True, text=True, timeout=100)


def over_9p(pid):
    r = fs(pid, "ls", "events/sched")
    check("fs_ls", r.returncode == 0 and "events/sched/sched_switch/" in r.stdout, r.stderr)
    r = fs(pid, "write", "tracing_on", "0")
    check("fs_write", r.returncode == 0 and fs(pid, "cat", "tracing_on").stdout == "0\n", r.stderr)
    r = fs(pid, "write", "tracing_on", "x")
    check("fs_error", r.returncode == 1 and "Invalid argument" in r.stderr, r.stderr)
    fs(pid, "write", "tracing_on", "1")
    r = fs(pid, "cat", "nosuch")
    check("fs_missing", r.returncode == 1 and "No such file" in r.stderr, r.stderr)


def wrong_targets():
    for name, target, words in [("socket", "unix:/nonexistent", "cannot connect"), ("pid", "4194303", "no such process"),
                                ("not_served", str(os.getpid()), "fathom_user_serve"), ("name", "/nonexistent", "a target is a pid"),
                                ("tcp", "tcp:127.0.0.1:1", "cannot connect")]:
        r = fs(target, "ls")
        check(f"no_{name}", r.returncode == 1 and words in r.stderr, r.stderr)
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("precious\n")
        f.flush()
        for name, path in (("file", f.name), ("null", "/dev/null")):
            r = fs(path, "ls")
            check(f"no_line_{name}", r.returncode == 1 and "serial" in r.stderr, r.stderr)
        check("file_untouched", read(f.name) == "precious\n")


def files(d):
    check("list", "trace_pipe" in os.listdir(d) and "sched_switch" in os.listdir(d + "/events/sched"))
    st = os.stat(d + "/trace_marker")
    check("mode", st.st_mode & 0o777 == 0o220 and st.st_size == 0, oct(st.st_mode))
    check("einval", error_of(lambda: write(d + "/buffer_percent", "101\n")) == errno.EINVAL)
    check("create", error_of(lambda: os.open(d + "/new", os.O_CREAT | os.O_WRONLY)) == errno.EACCES)
    check("unlink", error_of(lambda: os.unlink(d + "/tracing_on")) == errno.EPERM)
    check("short_write", write(d + "/set_ftrace_filter", "sys_read sys_write\n") == 9)
    check("filter", read(d + "/set_ftrace_filter") == "sys_read\n", read(d + "/set_ftrace_filter"))
    write(d + "/set_ftrace_filter", "\n")
    os.mkdir(d + "/instances/foo")
    check("instance", "trace" in os.listdir(d + "/instances/foo"))
    check("instance_exists", error_of(lambda: os.mkdir(d + "/instances/foo")) == errno.EEXIST)
    with open(d + "/instances/foo/tracing_on"):
        check("instance_busy", error_of(lambda: os.rmdir(d + "/instances/foo")) == errno.EBUSY)
    os.rmdir(d + "/instances/foo")
    check("instance_gone", not os.path.exists(d + "/instances/foo"))
    check("mkdir_elsewhere", error_of(lambda: os.mkdir(d + "/foo")) == errno.EPERM)
    write(d + "/trace", "")
    write(d + "/trace_marker", "first\n")
    write(d + "/trace_marker", "kept\n", os.O_WRONLY)
    write(d + "/trace", "ignored\n", os.O_WRONLY | os.O_APPEND)
    check("marker", "first" in read(d + "/trace") and "kept" in read(d + "/trace"), read(d + "/trace"))
    check("marker_pid", f"-{os.getpid()} " in read(d + "/trace"), read(d + "/trace"))
    check("marker_part", write(d + "/trace_marker", "x" * 3000 + "\n") == 1024)
    write(d + "/trace", "")
    check("truncate_clears", "first" not in read(d + "/trace"))
    names = [line.split()[2] for line in read(d + "/kallsyms").splitlines()]
    check("kallsyms", "schedule" in names and "tracing_mark_write" in names, names[:5])


def waiting(d):
    fd = os.open(d + "/trace_pipe", os.O_RDONLY)
    check("pipe_second", error_of(lambda: os.open(d + "/trace_pipe", os.O_RDONLY)) == errno.EBUSY)
    p = select.poll()
    p.register(fd, select.POLLIN)
    check("pipe_poll_empty", p.poll(100) == [])
    child = os.fork()
    if child == 0:
        until(lambda: asleep_in(os.getppid(), POLL))
        write(d + "/trace_marker", "wake up\n")
        os._exit(0)
    check("pipe_poll_wakes", len(p.poll(60000)) == 1)
    check("pipe_reads", b"wake up" in os.read(fd, 4096))
    os.waitpid(child, 0)
    os.set_blocking(fd, False)  # later, with fcntl, as trace-cmd does
    check("pipe_nonblock", error_of(lambda: os.read(fd, 4096)) == errno.EAGAIN)
    os.close(fd)
    cat = reader_of(d + "/trace_pipe")
    write(d + "/trace_marker", "for cat\n")
    check("pipe_cat", "for cat" in cat.stdout.readline())
    until(lambda: asleep_in(cat.pid, READ, d + "/trace_pipe"))
    cat.terminate()  # not SIGINT: a background job of a shell ignores that, and so do its children
    check("pipe_interrupt", ended(cat) == "", "a signal does not end a read of trace_pipe")
    check("alive_after_interrupt", read(d + "/tracing_on") == "1\n")


def ended(cat):
    """How a reader ended."""
    try:
        return cat.communicate(timeout=60)[1].strip()
    except subprocess.TimeoutExpired:
        cat.kill()
        return "it hangs"


def end_while_reading(pid):
    m = Mount(pid)
    cat = reader_of(m.dir + "/trace_pipe")
    m.end()
    check("unmount_with_reader", m.ended and not is_mounted(m.dir), m.why)
    err = ended(cat)
    if os.geteuid() == 0:
        check("reader_thrown_out", "abort" in err or "not connected" in err, err)
    until(lambda: not servers(m.dir))
    check("server_gone", not servers(m.dir), servers(m.dir))
    r = subprocess.run([FATHOM, "mount", "-u", m.dir], capture_output=True, text=True, timeout=100)
    check("unmount_twice", r.returncode == 1 and "no control tree" in r.stderr, r.stderr)
    os.rmdir(m.dir)
    r = subprocess.run([FATHOM, "mount", "-u", "/"], capture_output=True, text=True, timeout=100)
    check("unmount_other", r.returncode == 1 and "no control tree" in r.stderr, r.stderr)


def closed_is_done(d):
    """What a close sets off is done when it returns, whatever else is open: a list of functions, an end of EBUSY."""
    wrong = []
    for n in range(200):
        name = ("schedule", "schedule_tail")[n % 2]
        write(d + "/set_ftrace_filter", name + "\n")
        if read(d + "/set_ftrace_filter") != name + "\n":
            wrong.append(n)
    write(d + "/set_ftrace_filter", "\n")
    check("close_waits", not wrong, wrong)
    fd = os.open(d + "/set_ftrace_filter", os.O_WRONLY | os.O_TRUNC)
    os.close(os.dup(fd))  # as a shell does before it writes
    os.write(fd, b"schedule ")
    os.close(os.dup(fd))  # as its child does behind it
    listed = read(d + "/set_ftrace_filter")
    os.write(fd, b"schedule_tail\n")
    os.close(fd)
    check("close_of_a_copy", listed == "schedule\n" and set(read(d + "/set_ftrace_filter").split()) == {"schedule", "schedule_tail"}, listed)
    write(d + "/set_ftrace_filter", "\n")
    wrong = []
    for n in range(100):
        os.mkdir(d + "/instances/brief")
        write(d + "/instances/brief/current_tracer", "function\n")
        read(d + "/instances/brief/trace")
        wrong += [n] if error_of(lambda: os.rmdir(d + "/instances/brief")) else []
        pipe = os.open(d + "/trace_pipe", os.O_RDONLY)
        os.close(pipe)
        wrong += [n] if error_of(lambda: write(d + "/current_tracer", ("function\n", "nop\n")[n % 2])) else []
    check("close_ends_busy", not wrong, wrong)


def open_and_gone(d):
    """Who has a directory of an instance open that another removes."""
    os.mkdir(d + "/instances/gone")
    fd = os.open(d + "/instances/gone/events", os.O_RDONLY | os.O_DIRECTORY)
    os.rmdir(d + "/instances/gone")
    check("gone_is_empty", os.listdir(fd) == [])
    os.close(fd)
    check("gone_others_live", error_of(lambda: os.stat(d + "/current_tracer")) == 0)


def made_and_gone(d):
    """The folder of an event that was just made is there, and that of one that was just removed is not."""
    seen = []
    for _ in range(5):
        for how, text in (("w", "brief u64 n\n"), ("a", "!brief u64 n\n")):
            with open(d + "/synthetic_events", how) as f:
                f.write(text)
            seen.append(os.path.isdir(d + "/events/synthetic/brief"))
    check("made_and_gone", seen == [True, False] * 5, seen)


def target_dies():
    victim = Process()
    m = Mount(victim.target)
    cat = reader_of(m.dir + "/trace_pipe")
    victim.kill()
    err = ended(cat)
    check("dead_reader_eio", "Input/output error" in err, err)
    until(lambda: not is_mounted(m.dir))
    check("dead_unmounted", not is_mounted(m.dir) and os.listdir(m.dir) == [])
    os.rmdir(m.dir)


def as_nobody(fn):
    """Exit code of fn in a process of another user."""
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os._exit(fn())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def hello(path):
    """0 if a 9P server answers there, else the errno, or 200 if it hangs up."""
    try:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(60)
        s.connect(path)
        s.sendall(bytes.fromhex("13000000 64 ffff 00200000 0600") + b"9P2000")
        return 0 if s.recv(100) else 200
    except ConnectionError:
        return 200
    except OSError as e:
        return e.errno or 98


def privacy(machine, d):
    path = machine.socket()
    mode = lambda p: os.stat(p).st_mode & 0o777  # noqa: E731
    check("socket_mode", mode(path) == 0o600 and mode(os.path.dirname(path)) == 0o700, oct(mode(path)))
    if os.geteuid():
        return
    os.chmod(d, 0o755)
    check("mount_is_private", as_nobody(lambda: error_of(lambda: os.listdir(d))) == errno.EACCES)
    check("socket_is_private", as_nobody(lambda: hello(path)) == errno.EACCES)
    os.chmod(os.path.dirname(path), 0o711)  # even who reaches the socket is asked who he is
    os.chmod(path, 0o666)
    check("peer_is_asked", as_nobody(lambda: hello(path)) == 200)
    check("owner_is_let_in", hello(path) == 0)
    os.chmod(path, 0o600)
    os.chmod(os.path.dirname(path), 0o700)


def impostor():
    """A socket that another user put where a process's would be."""
    if os.geteuid():
        return
    victim = subprocess.Popen(["sleep", "infinity"], user=NOBODY)
    d = f"/tmp/fathom-{NOBODY}"
    os.makedirs(d, exist_ok=True)
    s = socket.socket(socket.AF_UNIX)
    s.bind(f"{d}/{victim.pid}")
    s.listen()
    r = fs(victim.pid, "ls")
    check("impostor", r.returncode == 1 and "not trusted" in r.stderr, r.stderr)
    s.close()
    os.unlink(f"{d}/{victim.pid}")
    error_of(lambda: os.rmdir(d))  # unless another check uses it
    victim.kill()
    victim.wait()


def main():
    machine = Process()
    try:
        over_9p(machine.target)
        wrong_targets()
        impostor()
        why = no_fuse()
        m = Mount(machine.target) if not why else None
        if m and not m.ok and "cannot mount" in m.why:
            why = "this machine does not let us mount FUSE"
        if why:
            print(f"skip mount: {why}")
            return
        check("mount", m.ok, m.why)
        with m as d:
            files(d)
            waiting(d)
            closed_is_done(d)
            open_and_gone(d)
            made_and_gone(d)
            privacy(machine, d)
            r = subprocess.run([FATHOM, "mount", machine.target, d], capture_output=True, text=True, timeout=100)
            check("same_dir", r.returncode == 1 and "already" in r.stderr, r.stderr)
            with Mount(machine.target) as second:
                write(d + "/tracing_on", "0\n")
                check("second_mount", read(second + "/tracing_on") == "0\n")
                write(d + "/tracing_on", "1\n")
        check("unmount", m.ended, m.why)
        end_while_reading(machine.target)
        target_dies()
    finally:
        machine.kill()


main()
sys.exit(check.failed)
