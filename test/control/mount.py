#!/usr/bin/env python3
"""mount.py -- a process's control tree over 9P and through FUSE: files, waiting reads, interrupts, poll, unmount."""
import errno
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

FATHOM = "build/fathom"
failed = 0


def check(name, good, why=""):
    global failed
    if good:
        print(f"ok control_{name}")
    else:
        failed = 1
        print(f"not ok control_{name}: {why}")


def err(fn):
    try:
        fn()
        return 0
    except OSError as e:
        return e.errno


def fs(pid, *args):
    return subprocess.run([FATHOM, "fs", str(pid), *args], capture_output=True, text=True, timeout=20)


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
    r = subprocess.run([FATHOM, "fs", "unix:/nonexistent", "ls"], capture_output=True, text=True, timeout=20)
    check("fs_unreachable", r.returncode == 1 and "cannot connect" in r.stderr, r.stderr)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text, flags=os.O_WRONLY | os.O_TRUNC):
    fd = os.open(path, flags)
    try:
        return os.write(fd, text.encode())
    finally:
        os.close(fd)


def files(d):
    check("mount_list", "trace_pipe" in os.listdir(d) and "sched_switch" in os.listdir(d + "/events/sched"))
    st = os.stat(d + "/trace_marker")
    check("mount_mode", st.st_mode & 0o777 == 0o220 and st.st_size == 0, oct(st.st_mode))
    check("mount_einval", err(lambda: write(d + "/buffer_percent", "101\n")) == errno.EINVAL)
    check("mount_create", err(lambda: os.open(d + "/new", os.O_CREAT | os.O_WRONLY)) == errno.EACCES)
    check("mount_unlink", err(lambda: os.unlink(d + "/tracing_on")) == errno.EPERM)
    check("mount_short_write", write(d + "/set_ftrace_filter", "sys_read sys_write\n") == 9)
    check("mount_filter", read(d + "/set_ftrace_filter") == "sys_read\n", read(d + "/set_ftrace_filter"))
    write(d + "/set_ftrace_filter", "\n")
    os.mkdir(d + "/instances/foo")
    check("mount_instance", "trace" in os.listdir(d + "/instances/foo"))
    check("mount_instance_exists", err(lambda: os.mkdir(d + "/instances/foo")) == errno.EEXIST)
    with open(d + "/instances/foo/tracing_on"):
        check("mount_instance_busy", err(lambda: os.rmdir(d + "/instances/foo")) == errno.EBUSY)
    os.rmdir(d + "/instances/foo")
    check("mount_instance_gone", not os.path.exists(d + "/instances/foo"))
    check("mount_mkdir_elsewhere", err(lambda: os.mkdir(d + "/foo")) == errno.EPERM)
    write(d + "/trace", "")
    write(d + "/trace_marker", "first\n")
    write(d + "/trace_marker", "kept\n", os.O_WRONLY)
    write(d + "/trace", "ignored\n", os.O_WRONLY | os.O_APPEND)
    check("mount_marker", "first" in read(d + "/trace") and "kept" in read(d + "/trace"), read(d + "/trace"))
    check("mount_marker_pid", f"-{os.getpid()} " in read(d + "/trace"), read(d + "/trace"))
    write(d + "/trace", "")
    check("mount_truncate_clears", "first" not in read(d + "/trace"))


def waiting(d):
    fd = os.open(d + "/trace_pipe", os.O_RDONLY)
    check("pipe_second", err(lambda: os.open(d + "/trace_pipe", os.O_RDONLY)) == errno.EBUSY)
    p = select.poll()
    p.register(fd, select.POLLIN)
    check("pipe_poll_empty", p.poll(100) == [])
    child = os.fork()
    if child == 0:
        time.sleep(0.3)
        write(d + "/trace_marker", "wake up\n")
        os._exit(0)
    t = time.time()
    check("pipe_poll_wakes", len(p.poll(5000)) == 1 and time.time() - t < 3)
    check("pipe_reads", b"wake up" in os.read(fd, 4096))
    os.waitpid(child, 0)
    os.set_blocking(fd, False)  # later, with fcntl, as trace-cmd does
    check("pipe_nonblock", err(lambda: os.read(fd, 4096)) == errno.EAGAIN)
    os.close(fd)
    cat = subprocess.Popen(["cat", d + "/trace_pipe"], stdout=subprocess.PIPE)
    time.sleep(0.3)
    write(d + "/trace_marker", "for cat\n")
    check("pipe_cat", b"for cat" in cat.stdout.readline())
    t = time.time()
    cat.send_signal(signal.SIGINT)
    cat.wait(timeout=5)
    check("pipe_interrupt", time.time() - t < 2)
    check("alive_after_interrupt", read(d + "/tracing_on") == "1\n")


def main():
    machine = subprocess.Popen(["build/control/machine", "120"], stdout=subprocess.PIPE, text=True)
    pid = int(machine.stdout.readline())
    try:
        over_9p(pid)
        if not os.path.exists("/dev/fuse"):
            print("skip control_mount: this machine has no /dev/fuse")
            return
        d = tempfile.mkdtemp(prefix="fathom-mount-")
        r = subprocess.run([FATHOM, "mount", str(pid), d], capture_output=True, text=True, timeout=30)
        if r.returncode and "cannot mount" in r.stderr:
            print("skip control_mount: this machine does not let us mount FUSE")
            return
        check("mount", r.returncode == 0, r.stderr)
        try:
            files(d)
            waiting(d)
        finally:
            r = subprocess.run([FATHOM, "mount", "-u", d], capture_output=True, text=True, timeout=20)
        check("unmount", r.returncode == 0 and os.listdir(d) == [], r.stderr)
        os.rmdir(d)
    finally:
        machine.kill()
        machine.wait()


main()
sys.exit(failed)
