/* SPDX-License-Identifier: MIT */
/* forks.c -- preloaded into a shell: what it forks is forked first by the demo kernel's shell, whose pid it has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * ftracetest forks a shell for each test, which then looks for its own pid, and for forks of its own, in the trace. So
 * that shell has the pid of the demo's (FORKS_PID), and each of its forks waits until forks.py (FORKS_SOCKET) has seen the
 * demo's shell do the same. The pids of all else lie far above those of the demo: the pid namespace's counter is put back.
 */
#define LAST_PID "/proc/sys/kernel/ns_last_pid"

static pid_t runner; /* ftracetest itself: its children run the tests */
static pid_t demo_pid;
static const char *broker;

__attribute__((constructor)) static void begin(void)
{
	const char *pid = getenv("FORKS_PID");
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	broker = getenv("FORKS_SOCKET");
	if (!broker || !pid || strcmp(name, "shell"))
		return;
	demo_pid = atoi(pid);
	runner = getpid();
}

/* Have the demo's shell run a line; back when it has its prompt again. */
static void demo_runs(const char *line)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	sigset_t all, before;
	char done;

	/* Children that end meanwhile must not interrupt it. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", broker);
	err = fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) ||
	      write(fd, line, strlen(line)) < 0 || read(fd, &done, 1) != 1;
	if (err)
		dprintf(2, "forks: the demo's shell did not run: %s", line);
	close(fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void last_pid(const char *mode, int *pid)
{
	FILE *f = fopen(LAST_PID, mode);

	if (!f || (*mode == 'r' ? fscanf(f, "%d", pid) : fprintf(f, "%d", *pid)) < 1)
		dprintf(2, "forks: no %s\n", LAST_PID);
	if (f)
		fclose(f);
}

pid_t fork(void)
{
	pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
	int before = 0, wanted = demo_pid - 1;
	pid_t child;

	if (runner && getpid() == demo_pid)
		demo_runs("run short\n");
	if (!runner || getpid() != runner)
		return next();
	last_pid("r", &before);
	last_pid("w", &wanted);
	child = next();
	if (!child)
		last_pid("w", &before);
	return child;
}

/* dash runs programs by vfork(); a plain fork is one too, and a function can go round it. */
pid_t vfork(void)
{
	return fork();
}

/* What some programs do that tests run, in the demo's own. */
static const char *const programs[][2] = {
	{"chrt", "run many 8\n"}, /* has tasks of real time */
	{"ping", "run ping\n"},
	{"nice", "run ping 1\n"}, /* tests run `nice ping` */
};

int execve(const char *path, char *const argv[], char *const envp[])
{
	int (*next)(const char *, char *const[], char *const[]) =
		(int (*)(const char *, char *const[], char *const[]))dlsym(RTLD_NEXT, "execve");
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (runner && !access(path, X_OK) &&
		    !strcmp(slash ? slash + 1 : path, programs[i][0]))
			demo_runs(programs[i][1]);
	return next(path, argv, envp);
}
