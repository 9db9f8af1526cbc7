/* SPDX-License-Identifier: MIT */
/* record.c -- fathom record: trace a kernel under QEMU or a live target, or recover the rings from a kernel's memory. */
#include "cmd/cmd.h"
#include "base/diag.h"
#include "base/json.h"
#include "capture/record.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage_text[] =
	"usage: fathom record --target TARGET [OPTIONS] [COMMAND [ARGUMENT]...]\n"
	"       fathom record --qemu KERNEL [OPTIONS]\n"
	"       fathom record --from-memory IMAGE --kernel ELF [-o FILE]\n"
	"\n"
	"Writes a trace.dat. From a live TARGET (a pid, unix:PATH, tcp:HOST:PORT, a serial "
	"device,\n"
	"or the directory where its tree is mounted): while COMMAND runs, for --time seconds, or\n"
	"until it is interrupted. Or boots KERNEL (an ELF file, or `demo` for the demo kernel)\n"
	"under QEMU, runs commands in its shell and pulls its trace over the second serial port.\n"
	"Or finds the rings in a raw memory image (QEMU's pmemsave) or an ELF core\n"
	"(dump-guest-memory) of a kernel that hung or panicked.\n"
	"\n"
	"  -o, --output FILE     the trace (trace.dat)\n"
	"  -e, --event PATTERN   events to record: system:event, system:*, *; several times (*)\n"
	"  -t, --time SECONDS    QEMU: give up after (60); TARGET: record so long\n"
	"  -k, --kernel ELF      the kernel whose symbols the trace gets (IMAGE, TARGET)\n"
	"      --json            the counters of each CPU's ring for a script\n"
	"  -h, --help            this text\n"
	"with --target:\n"
	"  -p, --tracer NAME     current_tracer meanwhile; events then only those given with -e\n"
	"with --from-memory:\n"
	"      --base ADDRESS    physical address of a raw image's first byte (0)\n"
	"with --qemu:\n"
	"  -r, --run COMMAND     a line for the kernel's shell; may be given several times\n"
	"  -s, --smp N           CPUs of the guest (4)\n"
	"  -m, --memory MIB      memory of the guest (256)\n"
	"  -a, --append TEXT     the kernel's command line\n"
	"  -c, --console FILE    keep what the console said\n"
	"      --via WAY         line: pages over the serial port; memory: out of the guest's "
	"memory (line)\n";

enum {
	OPT_QEMU = 256,
	OPT_MEMORY,
	OPT_TARGET,
	OPT_VIA,
	OPT_JSON,
	OPT_BASE,
};

static const struct option options[] = {
	{"qemu", required_argument, NULL, OPT_QEMU},
	{"from-memory", required_argument, NULL, OPT_MEMORY},
	{"target", required_argument, NULL, OPT_TARGET},
	{"tracer", required_argument, NULL, 'p'},
	{"via", required_argument, NULL, OPT_VIA},
	{"output", required_argument, NULL, 'o'},
	{"run", required_argument, NULL, 'r'},
	{"event", required_argument, NULL, 'e'},
	{"smp", required_argument, NULL, 's'},
	{"memory", required_argument, NULL, 'm'},
	{"append", required_argument, NULL, 'a'},
	{"console", required_argument, NULL, 'c'},
	{"time", required_argument, NULL, 't'},
	{"kernel", required_argument, NULL, 'k'},
	{"json", no_argument, NULL, OPT_JSON},
	{"base", required_argument, NULL, OPT_BASE},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static bool number(const char *s, unsigned max, unsigned *out)
{
	char *end;
	unsigned long v = strtoul(s, &end, 10);

	if (*end || end == s || !v || v > max) {
		diag_error("'%s' is not a number from 1 to %u", s, max);
		return false;
	}
	*out = (unsigned)v;
	return true;
}

static bool address(const char *s, uint64_t *out)
{
	char *end;

	*out = strtoull(s, &end, 0);
	if (*s && !*end)
		return true;
	diag_error("--base: '%s' is not an address", s);
	return false;
}

/* `demo` lies beside this program: build/fathom, build/demo/L6/kernel.elf. */
static const char *demo_kernel(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *slash;

	if (n <= 0)
		return "build/demo/L6/kernel.elf";
	path[n] = 0;
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "demo/L6/kernel.elf");
	return path;
}

static bool list_add(const char **list, unsigned *n, const char *value)
{
	if (*n == RECORD_LIST_MAX) {
		diag_error("at most %d of each", RECORD_LIST_MAX);
		return false;
	}
	list[(*n)++] = value;
	return true;
}

static bool parse(int argc, char **argv, struct record_options *o)
{
	int opt;

	while ((opt = getopt_long(argc, argv, "+o:r:e:s:m:a:c:t:k:p:h", options, NULL)) != -1) {
		bool good = true;

		switch (opt) {
		case OPT_QEMU: o->qemu = optarg; break;
		case OPT_MEMORY: o->image = optarg; break;
		case OPT_TARGET: o->target = optarg; break;
		case OPT_JSON: o->json = true; break;
		case OPT_BASE: good = address(optarg, &o->base); break;
		case OPT_VIA:
			o->by_memory = !strcmp(optarg, "memory");
			good = o->by_memory || !strcmp(optarg, "line");
			break;
		case 'o': o->output = optarg; break;
		case 'r': good = list_add(o->run, &o->nr_run, optarg); break;
		case 'e': good = list_add(o->events, &o->nr_events, optarg); break;
		case 's': good = number(optarg, 255, &o->smp); break;
		case 'm': good = number(optarg, 1024, &o->memory_mib); break;
		case 'a': o->append = optarg; break;
		case 'c': o->console = optarg; break;
		case 't': good = number(optarg, 86400, &o->seconds); break;
		case 'k': o->kernel = optarg; break;
		case 'p': o->tracer = optarg; break;
		case 'h': o->help = true; return true;
		default: good = false;
		}
		if (!good)
			return false;
	}
	if (o->target && optind < argc)
		o->command = argv + optind;
	return o->target || optind == argc;
}

/* One of the three ways, and only options that it has. */
static bool sensible(const struct record_options *o)
{
	bool qemu_only = o->nr_run || o->append || o->console || o->by_memory;

	return !!o->target + !!o->qemu + !!o->image == 1 && (!o->image || o->kernel) &&
	       (o->qemu || !qemu_only) && (o->target || !o->tracer);
}

/* One object per CPU: what the ring counted, what is in the file, and what the file says is missing. */
static void print_json(const struct record_options *o, const struct capture *c)
{
	struct json j;

	json_init(&j, stdout, false);
	json_open(&j, NULL, '{');
	json_str(&j, "file", o->output);
	json_str(&j, "ended", c->ended);
	json_open(&j, "cpus", '[');
	for (uint32_t i = 0; i < c->nr_cpus; i++) {
		const struct capture_cpu *p = &c->cpus[i];

		json_open(&j, NULL, '{');
		json_u64(&j, "events", p->events);
		json_u64(&j, "missed", p->missed);
		json_u64(&j, "written", p->stats.written);
		json_u64(&j, "read", p->stats.read);
		json_u64(&j, "overwritten", p->stats.overwritten);
		json_u64(&j, "full", p->stats.full);
		json_u64(&j, "nested", p->stats.nested);
		json_u64(&j, "too_big", p->stats.too_big);
		json_u64(&j, "entries", p->stats.entries);
		json_u64(&j, "taken", p->taken);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	json_end(&j);
}

static void print_summary(const struct record_options *o, const struct capture *c)
{
	uint64_t events = 0, lost = 0;

	for (uint32_t i = 0; i < c->nr_cpus; i++) {
		const struct wire_stats *s = &c->cpus[i].stats;
		uint64_t counted =
			s->overwritten + s->full + s->nested + s->too_big + c->cpus[i].taken;

		events += c->cpus[i].events;
		lost += counted > c->cpus[i].missed ? counted : c->cpus[i].missed;
	}
	printf("%s: %llu events in %llu pages of %u CPUs, %llu lost\n", o->output,
	       (unsigned long long)events, (unsigned long long)c->nr_pages, c->nr_cpus,
	       (unsigned long long)lost);
}

int cmd_record(int argc, char **argv)
{
	struct record_options o = {.output = "trace.dat", .smp = 4, .memory_mib = 256};
	struct capture c;
	int err, status;

	if (!parse(argc, argv, &o) || (!o.help && !sensible(&o))) {
		fputs(usage_text, stderr);
		return EXIT_USAGE;
	}
	if (o.help) {
		fputs(usage_text, stdout);
		return EXIT_OK;
	}
	if (o.qemu) {
		o.kernel = strcmp(o.qemu, "demo") ? o.qemu : demo_kernel();
		o.seconds = o.seconds ? o.seconds : 60;
	}
	capture_init(&c);
	err = record_run(&o, &c, &status);
	if (c.nr_pages || !err)
		(o.json ? print_json : print_summary)(&o, &c);
	capture_free(&c);
	return err && !status ? EXIT_FAIL : status;
}
