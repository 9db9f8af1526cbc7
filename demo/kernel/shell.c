/* SPDX-License-Identifier: MIT */
/* shell.c -- the console's shell: a kernel task that reads lines and runs commands. */
#include "kernel.h"
#include "known.h"
#include "shell.h"
#include "lock.h"
#include "machine.h"
#include "task.h"

#define LINE_MAX 256
#define ARGS_MAX 16

static int split(char *line, char **argv)
{
	int argc = 0;

	for (char *p = line; *p && argc < ARGS_MAX - 1;) {
		while (*p == ' ')
			*p++ = 0;
		if (!*p)
			break;
		argv[argc++] = p;
		char quote = *p == '"' || *p == '\'' ? *p : 0;

		if (quote) {
			argv[argc - 1] = ++p;
			while (*p && *p != quote)
				p++;
			if (*p)
				*p++ = 0;
			continue;
		}
		while (*p && *p != ' ')
			p++;
	}
	argv[argc] = NULL;
	return argc;
}

static int cmd_help(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (const struct shell_command *c = shell_commands; c->name; c++)
		kprintf("  %-8s %s\n", c->name, c->help);
	kprintf("programs:\n");
	exec_list();
	return 0;
}

static int cmd_ps(int argc, char **argv)
{
	(void)argc, (void)argv;
	task_list();
	return 0;
}

static int cmd_cpus(int argc, char **argv)
{
	(void)argc, (void)argv;
	for_each_cpu (c)
		kprintf("cpu %u: %lu ticks, %lu IPIs, %lu NMIs, %u ready, runs %s\n", c->id,
			c->ticks, c->nr_ipis, c->nr_nmis, c->rq.nr_ready, c->current->name);
	return 0;
}

static int cmd_mem(int argc, char **argv)
{
	(void)argc, (void)argv;
	kprintf("%lu frames free\n", frames_free());
	return 0;
}

/* run PROGRAM [ARGUMENT] [&]: waits for it unless told not to. */
static int cmd_run(int argc, char **argv)
{
	int background = argc > 2 && !strcmp(argv[argc - 1], "&"), code = 0;

	if (argc < 2) {
		exec_list();
		return 0;
	}
	struct spawn s = {.name = argv[1],
			  .arg = argc - background > 2 ? parse_u64(argv[2]) : 0,
			  .detached = background};
	int pid = task_spawn(&s);

	if (pid < 0) {
		kprintf("run: %s: error %d\n", argv[1], -pid);
		return pid;
	}
	if (background) {
		kprintf("[%d] %s\n", pid, argv[1]);
		return 0;
	}
	task_wait(pid, &code);
	kprintf("[%d] %s: exit %d\n", pid, argv[1], code);
	return code;
}

static int cmd_sleep(int argc, char **argv)
{
	sleep_until(clock_ns() + (argc > 1 ? parse_u64(argv[1]) : 1) * 1000000);
	return 0;
}

static void nmi_sender(void *arg)
{
	uint64_t count = (uint64_t)arg;

	for (uint64_t i = 0; i < count; i++) {
		irq_send_nmi((uint32_t)(i % nr_cpus));
		delay_us(20);
	}
}

static int cmd_nmi(int argc, char **argv)
{
	if (!HAVE_NMI) {
		kprintf("nmi: this machine has none\n");
		return -ENOSYS;
	}
	struct spawn s = {.name = "nmi",
			  .fn = nmi_sender,
			  .arg = argc > 1 ? parse_u64(argv[1]) : 1000,
			  .detached = 1};

	return task_spawn(&s) < 0;
}

static int cmd_panic(int argc, char **argv)
{
	(void)argc, (void)argv;
	panic("asked for by the shell");
}

static __attribute__((noinline)) int without_end(volatile int *above)
{
	volatile int here = *above + 1;

	return here > 0 ? without_end(&here) + here : 0;
}

/* Three things that end a kernel: an address that is nobody's, a stack that is too short, no way to its own CPU's data. */
static int cmd_fault(int argc, char **argv)
{
	volatile uintptr_t nobodys = 8; /* what a NULL pointer to a struct would hit */
	volatile int depth = 0;

	if (argc > 1 && !strcmp(argv[1], "stack"))
		return without_end(&depth);
	if (argc > 1 && !strcmp(argv[1], "cpu") && cpu_lose())
		return -ENOSYS;
	return *(volatile int *)nobodys;
}

static int cmd_known(int argc, char **argv)
{
	(void)argc, (void)argv;
	known_calls();
	return 0;
}

static void hang_cpu(void)
{
	for (;;)
		cpu_pause();
}

/* Every CPU spins with interrupts off: what only a memory image can still tell about. */
static int cmd_hang(int argc, char **argv)
{
	(void)argc, (void)argv;
	kprintf("hanging with interrupts off\n");
	irq_save();
	smp_call_forever(hang_cpu);
	return 0;
}

static int cmd_exit(int argc, char **argv)
{
	power_off(argc > 1 ? (int)parse_u64(argv[1]) : 0x10);
}

const struct shell_command shell_commands[] = {
	{"help", "this list", cmd_help},
	{"run", "PROGRAM [ARGUMENT] [&]: start a user program and wait for it", cmd_run},
	{"trace", "on|off [PATTERN], tracer NAME, dump [N], status", cmd_trace},
	{"sample",
	 "start|nmi [US [MS]], stop, reset, stats, export [PARITY%]: look at stacks from a timer",
	 cmd_sample},
	{"cat", "FILE...: of tracefs", cmd_cat},
	{"echo", "WORD... [> FILE | >> FILE]: of tracefs", cmd_echo},
	{"ls", "[DIRECTORY]: of tracefs", cmd_ls},
	{"cd", "[DIRECTORY]: of tracefs; /sys/kernel/tracing is its root", cmd_cd},
	{"mkdir", "DIRECTORY: an instance", cmd_mkdir},
	{"rmdir", "DIRECTORY: an instance", cmd_rmdir},
	{"toggle",
	 "COUNT [PROGRAM]: switch the function tracers on and off, PROGRAM runs meanwhile",
	 cmd_toggle},
	{"delay", "irqs|preempt MICROSECONDS: spin with interrupts, or preemption, off", cmd_delay},
	{"disk",
	 "read|write SECTOR [COUNT [BYTE]], work SEED [BURSTS]: the RAM disk; a workload that says "
	 "what it did",
	 cmd_disk},
	{"cause", "SEED: a delay whose cause is known, on one CPU", cmd_cause},
	{"ps", "the tasks", cmd_ps},
	{"cpus", "the CPUs and their counters", cmd_cpus},
	{"mem", "free memory", cmd_mem},
	{"sleep", "MILLISECONDS", cmd_sleep},
	{"nmi", "COUNT: send that many NMIs, to all CPUs in turn, in the background", cmd_nmi},
	{"panic", "panic", cmd_panic},
	{"fault", "[stack|cpu]: touch what is not there, in the kernel", cmd_fault},
	{"known", "call functions whose arguments and values are known", cmd_known},
	{"hang", "hang with interrupts off", cmd_hang},
	{"reset", "warm reset: instances/boot_map then has what was in it", cmd_reset},
	{"spoil", "PAGE: write over a page of the memory that a reset leaves", cmd_spoil},
	{"exit", "[CODE]: leave QEMU", cmd_exit},
	{NULL, NULL, NULL},
};

static int run_line(char *line)
{
	char *argv[ARGS_MAX];
	int argc = split(line, argv);

	if (!argc)
		return 0;
	for (const struct shell_command *c = shell_commands; c->name; c++)
		if (!strcmp(c->name, argv[0]))
			return c->run(argc, argv);
	kprintf("%s: no such command; try help\n", argv[0]);
	return -ENOENT;
}

/* A line from the console, echoed. */
static void read_line(char *line, size_t size)
{
	size_t n = 0;

	for (;;) {
		char c = (char)serial_get(0);

		if (c == '\r' || c == '\n') {
			console_write("\n", 1);
			line[n] = 0;
			return;
		}
		if ((c == 8 || c == 127) && n) {
			n--;
			console_write("\b \b", 3);
		} else if (c >= ' ' && c < 127 && n + 1 < size) {
			line[n++] = c;
			console_write(&c, 1);
		}
	}
}

/* Commands of the boot script stand between semicolons. */
static void run_script(const char *script)
{
	char line[LINE_MAX];

	while (*script) {
		size_t n = 0;

		while (*script && *script != ';' && n + 1 < sizeof(line))
			line[n++] = *script++;
		line[n] = 0;
		if (*script == ';')
			script++;
		kprintf("# %s\n", line);
		run_line(line);
	}
}

static void shell(void *script)
{
	char line[LINE_MAX];

	run_script(script);
	for (;;) {
		console_write("# ", 2);
		read_line(line, sizeof(line));
		run_line(line);
	}
}

void shell_start(const char *script)
{
	struct spawn s = {.name = "shell", .fn = shell, .arg = (uint64_t)script, .detached = 1};

	task_spawn(&s);
}
