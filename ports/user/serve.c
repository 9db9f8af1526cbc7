/* SPDX-License-Identifier: MIT */
/* serve.c -- the control tree of this process on a socket: a thread that speaks 9P with `fathom mount` and `fathom fs`. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "fathom/p9.h"
#include "fathom_serve.h"
#include "port.h"

#define SERVE_CLIENTS 16
#define SERVE_TICK_MS 5	 /* how late a waiting read learns of a new event */
#define SERVE_SEND_S  10 /* a client that does not read for so long is dropped */

struct serve_client {
	int fd;
	int broken;
	struct fathom_p9 server;
};

/* A fork may copy it at any moment: a client's place is empty, or has one whose `fd` is open. */
static struct {
	pthread_t thread;
	int fd, wake[2];
	int running;
	char path[108];
	struct serve_client *_Atomic client[SERVE_CLIENTS];
} serve = {.fd = -1};

static void serve_send(void *arg, const void *data, size_t bytes)
{
	struct serve_client *c = arg;
	const char *at = data;

	while (bytes && !c->broken) {
		ssize_t n = send(c->fd, at, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			c->broken = 1;
			return;
		}
		at += n;
		bytes -= (size_t)n;
	}
}

/* The directory is the user's alone, so nobody else reaches the socket in it. */
static int serve_path(char *path, size_t size)
{
	const char *run = secure_getenv("XDG_RUNTIME_DIR");
	char dir[80];
	struct stat st;
	int n;

	if (run && run[0] == '/' && strlen(run) < 60)
		n = snprintf(dir, sizeof(dir), "%s/fathom", run);
	else
		n = snprintf(dir, sizeof(dir), "/tmp/fathom-%u", (unsigned int)getuid());
	if (n < 0 || (size_t)n >= sizeof(dir))
		return -ENAMETOOLONG;
	if (mkdir(dir, 0700) && errno != EEXIST)
		return -errno;
	if (lstat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid != getuid() || (st.st_mode & 077))
		return -EPERM;
	n = snprintf(path, size, "%s/%ld", dir, (long)getpid());
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int serve_listen(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int err = serve_path(serve.path, sizeof(serve.path)), fd;

	if (err)
		return err;
	memcpy(at.sun_path, serve.path, sizeof(at.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unlink(serve.path); /* left by a process that had this pid */
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || chmod(serve.path, 0600) ||
	    listen(fd, SERVE_CLIENTS)) {
		err = -errno;
		close(fd);
		return err;
	}
	serve.fd = fd;
	return 0;
}

static void serve_accept(void)
{
	struct timeval patience = {SERVE_SEND_S, 0};
	struct ucred who;
	socklen_t len = sizeof(who);
	int fd = accept4(serve.fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) ||
	    (who.uid != getuid() && who.uid != 0)) {
		close(fd);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (int i = 0; i < SERVE_CLIENTS; i++) {
		struct serve_client *c;

		if (serve.client[i])
			continue;
		c = calloc(1, sizeof(*c));
		if (!c)
			break;
		c->fd = fd;
		fathom_p9_init(&c->server, serve_send, c);
		serve.client[i] = c;
		return;
	}
	close(fd);
}

static void serve_drop(int i)
{
	struct serve_client *c = serve.client[i];

	serve.client[i] = NULL;
	fathom_p9_reset(&c->server);
	close(c->fd);
	free(c);
}

static void serve_input(int i)
{
	struct serve_client *c = serve.client[i];
	char buf[8192];
	ssize_t n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);

	if (n > 0)
		fathom_p9_input(&c->server, buf, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		c->broken = 1;
}

static void *serve_thread(void *arg)
{
	struct pollfd p[SERVE_CLIENTS + 2];
	int who[SERVE_CLIENTS + 2];

	for (;;) {
		int n = 0, waiting = 0;

		p[n++] = (struct pollfd){serve.wake[0], POLLIN, 0};
		p[n++] = (struct pollfd){serve.fd, POLLIN, 0};
		for (int i = 0; i < SERVE_CLIENTS; i++) {
			if (!serve.client[i])
				continue;
			who[n] = i;
			p[n++] = (struct pollfd){serve.client[i]->fd, POLLIN, 0};
			waiting |= fathom_p9_tick(&serve.client[i]->server);
		}
		if (poll(p, (nfds_t)n, waiting ? SERVE_TICK_MS : -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			break;
		for (int k = 2; k < n; k++) {
			struct serve_client *c = serve.client[who[k]];

			if (p[k].revents)
				serve_input(who[k]);
			if (c->broken)
				serve_drop(who[k]);
		}
		if (p[1].revents)
			serve_accept();
	}
	for (int i = 0; i < SERVE_CLIENTS; i++)
		if (serve.client[i])
			serve_drop(i);
	return arg;
}

int fathom_user_serve(void)
{
	sigset_t all, was;
	int err;

	if (serve.running)
		return -EBUSY;
	err = serve_listen();
	if (err)
		return err;
	if (pipe2(serve.wake, O_CLOEXEC)) {
		err = -errno;
		close(serve.fd);
		return err;
	}
	/* The program's signals are its own threads' affair. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	err = -pthread_create(&serve.thread, NULL, serve_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (err) {
		close(serve.fd);
		return err;
	}
	serve.running = 1;
	return 0;
}

const char *fathom_user_serve_path(void)
{
	return serve.running ? serve.path : NULL;
}

/* The socket, its name and the thread are the parent's; held open here, they would outlive it. */
void user_serve_in_child(void)
{
	if (!serve.running)
		return;
	serve.running = 0;
	close(serve.wake[0]);
	close(serve.wake[1]);
	close(serve.fd);
	for (int i = 0; i < SERVE_CLIENTS; i++) {
		if (serve.client[i])
			close(serve.client[i]->fd);
		serve.client[i] = NULL;
	}
}

void fathom_user_serve_stop(void)
{
	if (!serve.running)
		return;
	if (write(serve.wake[1], "", 1) == 1)
		pthread_join(serve.thread, NULL);
	close(serve.wake[0]);
	close(serve.wake[1]);
	close(serve.fd);
	unlink(serve.path);
	serve.running = 0;
}
