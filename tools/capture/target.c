/* SPDX-License-Identifier: MIT */
/* target.c -- how a target is reached: a process by its pid, a socket, datagrams, a serial line. */
#include "capture/target.h"
#include "capture/gdb.h"
#include "capture/p9.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <termios.h>
#include <unistd.h>
#include "base/diag.h"
#include "capture/stop.h"

#define FUSE_MAGIC 0x65735546 /* as `fathom mount` shows a tree */

const char *target_this_linux(void)
{
	if (!access(TARGET_TRACEFS "/per_cpu", F_OK))
		return TARGET_TRACEFS;
	if (!access("/sys/kernel/debug/tracing/per_cpu", F_OK))
		return "/sys/kernel/debug/tracing";
	(void)!mount("tracefs", TARGET_TRACEFS, "tracefs", 0, NULL);
	return TARGET_TRACEFS;
}

static bool is_tree(const char *name)
{
	struct statfs fs;
	char path[4200];

	snprintf(path, sizeof(path), "%.4096s/per_cpu/cpu0/trace_pipe_raw", name);
	return !access(path, F_OK) && !statfs(name, &fs) &&
	       (fs.f_type == TRACEFS_MAGIC || fs.f_type == FUSE_MAGIC);
}

bool target_is_live(const char *name)
{
	const char *colon = strrchr(name, ':');
	char device[4096];
	struct stat st;

	if (!strncmp(name, "unix:", 5) || !strncmp(name, "tcp:", 4))
		return true;
	if (!stat(name, &st))
		return S_ISSOCK(st.st_mode) || (S_ISCHR(st.st_mode) && strcmp(name, "-") != 0) ||
		       (S_ISDIR(st.st_mode) && is_tree(name));
	if (*name && strspn(name, "0123456789") == strlen(name))
		return true;
	if (!colon || (size_t)(colon - name) >= sizeof(device))
		return false;
	memcpy(device, name, (size_t)(colon - name));
	device[colon - name] = 0;
	return !stat(device, &st) && S_ISCHR(st.st_mode);
}

/*
 * A signal ends the wait: a missing host may be silent for minutes, a stopped process with a full queue for ever. Calling
 * connect() again reports what became of the first call.
 */
static int connect_or_stop(int fd, const struct sockaddr *at, socklen_t len)
{
	while (connect(fd, at, len) && errno != EISCONN) {
		struct pollfd p = {errno == EAGAIN ? -1 : fd, POLLOUT, 0};

		if (errno != EAGAIN && errno != EINPROGRESS && errno != EALREADY && errno != EINTR)
			return -1;
		if (stop_signal()) {
			errno = EINTR;
			return -1;
		}
		poll(&p, 1, 50);
	}
	return 0;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(at.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect_or_stop(fd, (struct sockaddr *)&at, sizeof(at))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int connect_inet(const char *where, int type)
{
	struct addrinfo hint = {.ai_socktype = type}, *list = NULL;
	const char *colon = strrchr(where, ':');
	char host[256];
	int fd = -1;

	if (!colon || (size_t)(colon - where) >= sizeof(host)) {
		errno = EINVAL;
		return -1;
	}
	memcpy(host, where, (size_t)(colon - where));
	host[colon - where] = '\0';
	if (getaddrinfo(host, colon + 1, &hint, &list)) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	for (struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
			    a->ai_protocol);
		if (fd >= 0 && connect_or_stop(fd, a->ai_addr, a->ai_addrlen)) {
			close(fd);
			fd = -1;
		}
		/* Requests are short, and wait for their answers: never hold one back for the next. */
		if (fd >= 0 && type == SOCK_STREAM)
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	}
	freeaddrinfo(list);
	return fd;
}

static int connect_tcp(const char *where)
{
	return connect_inet(where, SOCK_STREAM);
}

/* One frame a datagram. */
static int connect_udp(const char *where)
{
	return connect_inet(where, SOCK_DGRAM);
}

static speed_t baud_of(long rate)
{
	static const struct {
		long rate;
		speed_t code;
	} table[] = {{9600, B9600},	  {19200, B19200},    {38400, B38400},	 {57600, B57600},
		     {115200, B115200},	  {230400, B230400},  {460800, B460800}, {921600, B921600},
		     {1500000, B1500000}, {3000000, B3000000}};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].rate == rate)
			return table[i].code;
	return B0;
}

/* `DEVICE` or `DEVICE:BAUD`; names of devices may contain colons. Returns the device's part and the speed. */
static char *serial_parts(const char *target, speed_t *speed)
{
	const char *colon = strrchr(target, ':');

	*speed = B115200;
	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return strdup(target);
	*speed = baud_of(atol(colon + 1));
	return strndup(target, (size_t)(colon - target));
}

/* A second client would take half of the answers. The previous one may be just about to end. */
static bool serial_lock(int fd)
{
	for (int ms = 0; ms < 2000; ms += 50) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		poll(NULL, 0, 50);
	}
	return false;
}

/* Make the line raw, set its speed, and lock it. -1 with a message. */
static int serial_setup(int fd, const char *target, speed_t speed)
{
	struct termios t;

	if (tcgetattr(fd, &t)) {
		diag_error("%s: is not a serial line", target);
	} else if (!serial_lock(fd)) {
		diag_error("%s: in use by another program", target);
	} else {
		cfmakeraw(&t);
		cfsetspeed(&t, speed);
		t.c_cflag |= CLOCAL | CREAD;
		if (!tcsetattr(fd, TCSANOW, &t) && !tcflush(fd, TCIOFLUSH))
			return 0;
		diag_error("%s: cannot be set up: %s", target, strerror(errno));
	}
	return -1;
}

/* Opened without waiting for a modem's carrier. */
static int open_serial(const char *target, const char *where)
{
	speed_t speed;
	char *path = serial_parts(where, &speed);
	struct stat st;
	int fd = -1;

	if (!path)
		return -1;
	if (speed == B0) {
		diag_error("%s: not a speed of a serial line", target);
	} else if (stat(path, &st)) {
		diag_error("%s: %s (a target is a pid, unix:PATH, tcp:HOST:PORT, udp:HOST:PORT or "
			   "a serial device)",
			   target, strerror(errno));
	} else if (!S_ISCHR(st.st_mode)) {
		diag_error("%s: neither a socket nor a serial device", target);
	} else if ((fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) < 0) {
		diag_error("%s: %s", target, strerror(errno));
	} else if (serial_setup(fd, target, speed)) {
		close(fd);
		fd = -1;
	}
	free(path);
	return fd;
}

/* In /tmp anybody may have made the directory: only the process's own user is trusted. */
static bool is_users(int fd, uid_t uid)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) && who.uid == uid;
}

/* The socket of a process, where the user port creates it. */
static int connect_pid(const char *target)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char path[108], proc[32];
	struct stat st;
	int fd = -1;

	snprintf(proc, sizeof(proc), "/proc/%s", target);
	if (stat(proc, &st)) {
		diag_error("%s: no such process", target);
		return -1;
	}
	if (run && run[0] == '/' &&
	    (size_t)snprintf(path, sizeof(path), "%s/fathom/%s", run, target) < sizeof(path))
		fd = connect_unix(path);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/tmp/fathom-%u/%s", (unsigned int)st.st_uid, target);
	fd = connect_unix(path);
	if (fd < 0)
		diag_error("%s: the process does not serve its tree on %s: %s (start it with "
			   "FATHOM_TRACE=serve=1, or let it call fathom_user_serve())",
			   target, path, strerror(errno));
	if (fd >= 0 && !is_users(fd, st.st_uid)) {
		diag_error("%s: %s belongs to another user and is not trusted", target, path);
		close(fd);
		fd = -1;
	}
	return fd;
}

static int connect_socket(const char *target, const char *where, int (*how)(const char *))
{
	int fd = how(where);

	if (fd < 0)
		diag_error("%s: cannot connect: %s", target, strerror(errno));
	return fd;
}

bool p9_is_process(const char *target)
{
	return *target && strspn(target, "0123456789") == strlen(target) && strlen(target) < 11;
}

int target_open(const char *target, const char *where, bool by_port)
{
	struct stat st;

	if (!strncmp(where, "unix:", 5))
		return connect_socket(target, where + 5, connect_unix);
	if (!strncmp(where, "tcp:", 4))
		return connect_socket(target, where + 4, connect_tcp);
	if (!strncmp(where, "udp:", 4))
		return connect_socket(target, where + 4, connect_udp);
	if (!stat(where, &st) && S_ISSOCK(st.st_mode))
		return connect_socket(target, where, connect_unix);
	if (by_port && where[0] != '/')
		return connect_socket(target, where, connect_tcp);
	return open_serial(target, where);
}

struct p9 *p9_connect(const char *target)
{
	int fd;

	if (!strncmp(target, GDB_TARGET, strlen(GDB_TARGET))) {
		diag_error("%s: has no control tree; fathom record reads its memory", target);
		return NULL;
	}
	if (p9_is_process(target)) {
		fd = connect_pid(target);
		return fd < 0 ? NULL : p9_attach(fd, target); /* the target does not use frames */
	}
	fd = target_open(target, target, false);
	return fd < 0 ? NULL : p9_attach_line(fd, target);
}
