/* SPDX-License-Identifier: MIT */
/* qemu.c -- start QEMU with three sockets, read and type on the console, stop it. */
#include "capture/qemu.h"
#include "base/diag.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL_MS \
	300000 /* all of a guest's memory may take this long on a busy machine; a QEMU that ended is noticed at once */
#define CONSOLE_MAX (64u << 20) /* a kernel that prints for ever must not eat the host */

/* A machine that the kernel's ELF file is for, with an exit that leaves QEMU; its trace line is the chardev `trace`. */
struct qemu_machine {
	uint16_t elf;
	const char *program, *package;
	uint64_t ram;			/* where its memory begins */
	const char *virtio, *serial[2]; /* the two ways to have that line */
	const char *args[10];
};

/* Its legacy interface is the one that a small kernel can drive in two hundred lines. */
#define VIRTIO "virtio-serial-pci,disable-legacy=off,disable-modern=on,ioeventfd=off,max_ports=2"

static const struct qemu_machine machines[] = {
	{EM_X86_64,
	 "qemu-system-x86_64",
	 "qemu-system-x86",
	 0,
	 VIRTIO,
	 {"-serial", "chardev:trace"},
	 {"-machine", "pc,accel=tcg", "-cpu", "qemu64", "-device",
	  "isa-debug-exit,iobase=0xf4,iosize=4"}},
	{EM_RISCV,
	 "qemu-system-riscv64",
	 "qemu-system-misc",
	 0x80000000,
	 VIRTIO ",addr=1",
	 {"-device", "pci-serial,addr=1,chardev=trace"},
	 {"-machine", "virt"}},
	{EM_AARCH64,
	 "qemu-system-aarch64",
	 "qemu-system-arm",
	 0x40000000,
	 VIRTIO ",addr=1",
	 {"-device", "pci-serial,addr=1,chardev=trace"},
	 {"-machine", "virt,gic-version=3,highmem=off", "-cpu", "cortex-a57", "-semihosting"}},
};

/* By the kernel's file; one that is no ELF file is left to QEMU for a PC to complain about. */
static const struct qemu_machine *machine_of(const char *kernel)
{
	int fd = open(kernel, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr h = {0};
	bool elf = fd >= 0 && pread(fd, &h, sizeof(h), 0) == sizeof(h) &&
		   !memcmp(h.e_ident, ELFMAG, SELFMAG) && h.e_ident[EI_DATA] == ELFDATA2LSB;

	if (fd >= 0)
		close(fd);
	for (size_t i = 1; elf && i < sizeof(machines) / sizeof(machines[0]); i++)
		if (h.e_machine == machines[i].elf)
			return &machines[i];
	return &machines[0];
}

static void run_child(const struct qemu_options *o, int console, int trace, int control, int resets)
{
	char smp[16], memory[16], con[64], line[64], qmp[64], log[32];
	const struct qemu_machine *m = machine_of(o->kernel);
	const char *argv[50] = {m->program, "-display",
				"none",	    "-no-reboot",
				"-net",	    "none",
				"-smp",	    smp,
				"-m",	    memory,
				"-chardev", con,
				"-serial",  "chardev:console",
				"-chardev", line,
				"-chardev", qmp,
				"-mon",	    "chardev=qmp,mode=control",
				"-kernel",  o->kernel};
	int n = 0;

	while (argv[n])
		n++;
	for (int i = 0; m->args[i]; i++)
		argv[n++] = m->args[i];
	if (o->serial) {
		argv[n++] = m->serial[0];
		argv[n++] = m->serial[1];
	} else {
		argv[n++] = "-device";
		argv[n++] = m->virtio;
		argv[n++] = "-device";
		argv[n++] = "virtserialport,chardev=trace";
	}
	if (o->append) {
		argv[n++] = "-append";
		argv[n++] = o->append;
	}
	if (resets >= 0) {
		argv[n++] = "-d";
		argv[n++] = "cpu_reset";
		argv[n++] = "-D";
		argv[n++] = log;
		snprintf(log, sizeof(log), "/proc/self/fd/%d", resets);
	}
	snprintf(smp, sizeof(smp), "%u", o->smp);
	snprintf(memory, sizeof(memory), "%uM", o->memory_mib);
	snprintf(con, sizeof(con), "socket,id=console,fd=%d", console);
	snprintf(line, sizeof(line), "socket,id=trace,fd=%d", trace);
	snprintf(qmp, sizeof(qmp), "socket,id=qmp,fd=%d", control);
	setpgid(0, 0);			  /* Ctrl-C is for fathom, which ends it when it is done */
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no QEMU outlives a killed fathom */
	execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "fathom: %s: %s (package %s)\n", argv[0], strerror(errno), m->package);
	_exit(127);
}

int qemu_start(struct qemu *q, const struct qemu_options *o)
{
	int pair[3][2];

	*q = (struct qemu){.pid = -1,
			   .console = -1,
			   .trace = -1,
			   .control = -1,
			   .resets = -1,
			   .log_path = q->log_path,
			   .log_fd = -1};
	if (access(o->kernel, R_OK)) {
		diag_error("%s: %s (make demo-kernel builds the demo's)", o->kernel,
			   strerror(errno));
		return -1;
	}
	for (int i = 0; i < 3; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i])) {
			diag_error("socketpair: %s", strerror(errno));
			return -1;
		}
	q->resets = memfd_create("resets", 0);
	q->pid = fork();
	if (q->pid == 0) {
		for (int i = 0; i < 3; i++)
			close(pair[i][0]);
		run_child(o, pair[0][1], pair[1][1], pair[2][1], q->resets);
	}
	if (q->resets >= 0)
		fcntl(q->resets, F_SETFD, FD_CLOEXEC);
	for (int i = 0; i < 3; i++) {
		close(pair[i][1]);
		fcntl(pair[i][0], F_SETFL, O_NONBLOCK);
		fcntl(pair[i][0], F_SETFD, FD_CLOEXEC);
	}
	q->ram = machine_of(o->kernel)->ram;
	q->console = pair[0][0];
	q->trace = pair[1][0];
	q->control = pair[2][0];
	if (q->log_path)
		q->log_fd = open(q->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (q->pid < 0) {
		diag_error("fork: %s", strerror(errno));
		qemu_stop(q);
		return -1;
	}
	return 0;
}

bool qemu_console(struct qemu *q)
{
	char buf[4096];

	while (q->console >= 0) {
		ssize_t n = read(q->console, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0 || q->text.len > CONSOLE_MAX) {
			close(q->console);
			q->console = -1;
			break;
		}
		size_t kept = 0;

		for (ssize_t i = 0; i < n; i++)
			if (buf[i] != '\r')
				buf[kept++] = buf[i];
		bytes_add(&q->text, buf, kept);
		if (q->log_fd >= 0 && write(q->log_fd, buf, kept) < 0)
			diag_warn("%s: %s", q->log_path, strerror(errno));
	}
	return false;
}

bool qemu_prompt(const struct qemu *q, size_t from)
{
	const uint8_t *t = q->text.data;
	size_t n = q->text.len;

	return n >= from + 2 && t[n - 1] == ' ' && t[n - 2] == '#' && (n == 2 || t[n - 3] == '\n');
}

static int send_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t done = send(fd, p, n, MSG_NOSIGNAL);

		if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
			struct pollfd pfd = {.fd = fd, .events = POLLOUT};

			poll(&pfd, 1, 100);
			continue;
		}
		if (done <= 0)
			return -1;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

int qemu_type(struct qemu *q, const char *line)
{
	return send_all(q->console, line, strlen(line)) || send_all(q->console, "\n", 1) ? -1 : 0;
}

/* QMP answers are lines of JSON; events in between are skipped. */
static int control_answer(struct qemu *q)
{
	char buf[8192];
	size_t have = 0;

	for (;;) {
		struct pollfd pfd = {.fd = q->control, .events = POLLIN};
		int ready = poll(&pfd, 1, CONTROL_MS);
		ssize_t n = ready > 0 ? read(q->control, buf + have, sizeof(buf) - 1 - have) : -1;

		if (n <= 0)
			return -1;
		have += (size_t)n;
		buf[have] = 0;
		for (char *eol; (eol = strchr(buf, '\n')); have = strlen(buf)) {
			*eol = 0;
			if (strstr(buf, "\"error\"")) {
				diag_error("QEMU: %s", buf);
				return -1;
			}
			if (strstr(buf, "\"return\""))
				return 0;
			memmove(buf, eol + 1, strlen(eol + 1) + 1);
		}
		if (have == sizeof(buf) - 1)
			return -1;
	}
}

int qemu_control(struct qemu *q, const char *json)
{
	static const char hello[] = "{\"execute\":\"qmp_capabilities\"}\n";

	if (q->control >= 0 && !q->agreed) {
		if (send_all(q->control, hello, sizeof(hello) - 1) || control_answer(q))
			return -1;
		q->agreed = true;
	}
	if (q->control < 0 || send_all(q->control, json, strlen(json)) ||
	    send_all(q->control, "\n", 1))
		return -1;
	return control_answer(q);
}

/* A fault in the handler of a fault in a handler: only QEMU's log shows it. */
static bool triple_fault(struct qemu *q)
{
	char text[1 << 12];
	off_t at = q->resets < 0 ? -1 : lseek(q->resets, 0, SEEK_END);
	ssize_t n = at < 0 ? -1
			   : pread(q->resets, text, sizeof(text),
				   at > (off_t)sizeof(text) ? at - (off_t)sizeof(text) : 0);

	return n > 0 && memmem(text, (size_t)n, "Triple fault", 12);
}

const char *qemu_end(struct qemu *q, char *buf, size_t bytes)
{
	int status, ended = 0;

	buf[0] = 0;
	for (int i = 0; i < 500 && q->pid > 0 && !ended; i++) {
		ended = waitpid(q->pid, &status, WNOHANG) == q->pid;
		if (!ended)
			poll(NULL, 0, 20);
	}
	if (!ended)
		return buf;
	q->pid = -1;
	if (WIFSIGNALED(status))
		snprintf(buf, bytes, "QEMU was ended by signal %d", WTERMSIG(status));
	else if (triple_fault(q))
		snprintf(buf, bytes, "a triple fault reset the machine");
	else if (WEXITSTATUS(status))
		snprintf(buf, bytes, "QEMU ended with code %d", WEXITSTATUS(status));
	else
		snprintf(buf, bytes, "the machine was reset or switched off");
	return buf;
}

void qemu_stop(struct qemu *q)
{
	int *fds[] = {&q->console, &q->trace, &q->control, &q->log_fd, &q->resets};

	if (q->pid > 0) {
		kill(q->pid, SIGKILL);
		while (waitpid(q->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	q->pid = -1;
	bytes_free(&q->text);
}
