/* SPDX-License-Identifier: MIT */
/* attach.c -- where programs run: events, entries and returns of functions, samples. */
#include "wire/cold.h"
#include "arch/regs.h"
#include "control/str.h"
#include "control/trigger.h"
#include "functions/probes.h"
#include "functions/sites.h"
#include "functions/tracers.h"
#include "programs/programs.h"

/*
 * Events have programs as triggers (control/trigger.h). Functions and samples look for them in this list, inside
 * fathom_pool_enter() and leave(); who changes it holds the lock, unlinks first and retires then.
 */
static struct program_link *links;

static struct program_link *link_next(struct program_link *const *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* ---- running ---- */

static void program_event(void *data, const void *record, uint32_t bytes, uint32_t cpu,
			  uint64_t time)
{
	const struct program_link *l = data;
	const struct wire_common *common = record;
	struct program_hit hit = {.record = record, .bytes = bytes, .cpu = cpu};

	if (!record) {
		__atomic_fetch_add(&l->program->unseen, 1, __ATOMIC_RELAXED);
		return;
	}
	hit.pid = common->pid;
	hit.ticks = time;
	fathom_program_run(l->program, l->part, &hit);
}

/* Programs of one point that want the function, which is any for samples. The caller is pinned. */
static void link_run(enum program_point point, uint32_t site, struct program_hit *hit)
{
	hit->cpu = fathom_port_cpu();
	hit->pid = fathom_port_task();
	fathom_pool_enter(hit->cpu);
	for (struct program_link *l = link_next(&links); l; l = link_next(&l->next))
		if (l->point == point &&
		    (!l->functions || fathom_load(&l->functions[site / 32]) >> site % 32 & 1))
			fathom_program_run(l->program, l->part, hit);
	fathom_pool_leave(hit->cpu);
}

#ifdef FATHOM_ARCH_NO_REGS
#define LINK_REGISTERS 0
#else
#define LINK_REGISTERS 1
#endif
/* Words from the slot of the return address. */
static const int8_t link_registers[BPF_CONTEXT_ARGS + 2] = {FATHOM_ARCH_ARGS};

static void link_enter(const struct fathom_call *call, uint32_t context)
{
	int has_args = LINK_REGISTERS && call->slot;
	struct {
		struct fathom_rec_function r;
		uint64_t args[BPF_CONTEXT_ARGS] __attribute__((aligned(8)));
	} c = {.r = {.ip = call->ip, .parent_ip = call->parent_ip}};
	struct program_hit hit = {.record = &c,
				  .bytes = has_args ? sizeof(c) : sizeof(c.r),
				  .fp = call->fp,
				  .ip = call->ip,
				  .parent_ip = call->parent_ip};
	uint64_t common = fathom_common_word(WIRE_ID_FUNCTION, context);

	__builtin_memcpy(&c.r.ent, &common, sizeof(common));
	for (uint32_t i = 0; has_args && i < BPF_CONTEXT_ARGS; i++)
		c.args[i] = call->slot[link_registers[i]];
	hit.ticks = call->time;
	link_run(POINT_ENTRY, call->site, &hit);
}

static void link_leave(const struct fathom_left *left, uint32_t context)
{
	struct {
		struct fathom_rec_funcgraph_exit r;
		uint64_t retval __attribute__((aligned(8)));
	} c = {.r = {.func = left->func,
		     .depth = (int32_t)left->depth,
		     .overrun = left->overrun,
		     .calltime = fathom_to_ns(left->calltime),
		     .rettime = fathom_to_ns(left->rettime)}};
	struct program_hit hit = {.record = &c, .bytes = sizeof(c.r), .ip = left->func};
	uint64_t common = fathom_common_word(WIRE_ID_FUNCGRAPH_EXIT, context);
	int site = fathom_site_find(left->func);
	uintptr_t v;

	__builtin_memcpy(&c.r.ent, &common, sizeof(common));
	if (left->slot && fathom_arch_retval(left->slot, left->replaced, &v)) {
		c.retval = v;
		hit.bytes = sizeof(c);
	}
	hit.ticks = left->rettime;
	if (site >= 0)
		link_run(POINT_RETURN, (uint32_t)site, &hit);
}

static void link_sample(uintptr_t ip, uintptr_t fp)
{
	struct program_hit hit = {.fp = fp, .ip = ip};

	link_run(POINT_SAMPLE, 0, &hit);
}

/* ---- sites ---- */

static uint32_t link_wants(uint32_t site)
{
	uint32_t users = 0;

	for (const struct program_link *l = links; l; l = l->next)
		if (l->functions && l->functions[site / 32] >> site % 32 & 1)
			users |= l->point == POINT_ENTRY ? SITE_PROGRAM : SITE_PROGRAM_RETURN;
	return users;
}

static struct fathom_watch link_watch = {.enter = link_enter, .leave = link_leave};

/* What is called follows what there is. Sites that lead here are switched after that, and before it when the last goes. */
static int link_refresh(void)
{
	int entries = 0, returns = 0, samples = 0, err;

	for (const struct program_link *l = links; l; l = l->next) {
		entries += l->point == POINT_ENTRY;
		returns += l->point == POINT_RETURN;
		samples += l->point == POINT_SAMPLE;
	}
	if (samples)
		__atomic_store_n(&fathom_gate.sample, link_sample, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&fathom_gate.sample, (void (*)(uintptr_t, uintptr_t))0,
				 __ATOMIC_RELEASE);
	/* Calls that were open when returns were last off are still on the stacks where their returns were not seen. */
	if (returns && !fathom_watch_returns() && !fathom_tracer_wants.graph &&
	    !fathom_profile_is_on())
		fathom_graph_reset();
	if (entries || returns) {
		link_watch.wants = link_wants;
		/* Pairs with the acquire in functions/. */
		__atomic_store_n(&fathom_watch[FATHOM_WATCH_PROGRAMS], &link_watch,
				 __ATOMIC_RELEASE);
	}
	link_watch.returns = returns != 0;
	fathom_want_switches();
	err = link_watch.wants ? fathom_tracer_refresh() : 0;
	if (!entries && !returns)
		link_watch.wants = 0;
	return err;
}

/* ---- attaching ---- */

static int attach_event(struct program_link *l, const char *s, size_t n)
{
	uint32_t event = fathom_ctl_event_find(s, n);

	if (event == fathom_ctl.nr_events)
		return -FATHOM_ENOENT;
	l->event = (uint16_t)event;
	l->age = fathom_ctl.place[event].age;
	return fathom_trigger_call(event, program_event, l);
}

static int attach_functions(struct program_link *l, const char *s, size_t n)
{
	struct function_match m;
	int err = fathom_functions_check(), at;

	if (err)
		return err;
	l->functions = fathom_pool_get((fathom_functions.room_sites / 32 + 1) * sizeof(uint32_t));
	if (!l->functions)
		return -FATHOM_ENOMEM;
	err = -FATHOM_ENOENT;
	fathom_match_init(&m, s, n);
	while ((at = fathom_match_next(&m)) >= 0) {
		l->functions[(uint32_t)at / 32] |= 1u << (uint32_t)at % 32;
		err = 0;
	}
	return err;
}

/* `hz:N`: the sampler runs so often, if it does not run already. */
static int attach_samples(const char *s, size_t n)
{
	size_t skip = ctl_starts(s, n, "hz:");
	uint64_t hz;

	if (!fathom_gate.sampling)
		return -FATHOM_ENODEV;
	if (!skip || fathom_ctl_number(s + skip, n - skip, 10, &hz) || !hz || hz > 100000)
		return -FATHOM_EINVAL;
	return fathom_gate.sampling((uint32_t)(1000000 / (uint32_t)hz));
}

static const struct {
	const char *name;
	uint8_t point;
} points[] = {
	{"tracepoint:", POINT_EVENT},
	{"kprobe:", POINT_ENTRY},
	{"kretprobe:", POINT_RETURN},
	{"profile:", POINT_SAMPLE},
};
#define NR_POINTS (sizeof(points) / sizeof(points[0]))

static int attach_new(struct program *p, uint32_t part, const char *s, size_t n)
{
	struct program_link *l = fathom_pool_get(sizeof(*l));
	size_t skip = 0, i;
	int err = -FATHOM_EINVAL;

	if (!l)
		return -FATHOM_ENOMEM;
	*l = (struct program_link){.program = p, .part = (uint16_t)part};
	for (i = 0; i < NR_POINTS && !(skip = ctl_starts(s, n, points[i].name)); i++)
		;
	if (i < NR_POINTS && n < sizeof(l->text)) {
		__builtin_memcpy(l->text, s, n);
		l->point = points[i].point;
		s += skip;
		n -= skip;
		err = l->point == POINT_EVENT	 ? attach_event(l, s, n)
		      : l->point == POINT_SAMPLE ? attach_samples(s, n)
						 : attach_functions(l, s, n);
	}
	if (err) {
		fathom_pool_put(l->functions);
		fathom_pool_put(l);
		return err;
	}
	l->next = links;
	/* Pairs with the acquire in link_next(). */
	__atomic_store_n(&links, l, __ATOMIC_RELEASE);
	return l->point == POINT_EVENT ? 0 : link_refresh();
}

static void detach(struct program_link **at)
{
	struct program_link *l = *at;
	uint8_t point = l->point;

	if (point == POINT_EVENT && fathom_ctl.place[l->event].age == l->age)
		fathom_trigger_uncall(l->event, l);
	__atomic_store_n(at, l->next, __ATOMIC_SEQ_CST);
	fathom_pool_retire(l->functions);
	fathom_pool_retire(l);
	if (point != POINT_EVENT)
		link_refresh();
}

void fathom_program_detach_all(struct program *p)
{
	struct program_link **at = &links;

	while (*at)
		if ((*at)->program == p)
			detach(at);
		else
			at = &(*at)->next;
}

void fathom_program_forget(void)
{
	links = 0;
	link_watch.wants = 0;
	fathom_gate.sample = 0;
}

const struct program_link *fathom_program_link(const struct program *p, uint32_t index)
{
	const struct program_link *l = links;

	while (l && (l->program != p || index--))
		l = l->next;
	return l;
}

int fathom_program_attach(struct program *p, const char *s, size_t n)
{
	int remove = n && s[0] == '!';
	size_t blank;
	uint64_t part;

	s += remove;
	n -= (size_t)remove;
	blank = ctl_find(s, n, ' ');
	if (!p->loaded || blank == n || fathom_ctl_number(s, blank, 10, &part) ||
	    part >= p->head.nr_parts)
		return -FATHOM_EINVAL;
	s += blank + 1;
	n -= blank + 1;
	ctl_trim(&s, &n);
	for (struct program_link **at = &links; *at; at = &(*at)->next) {
		if ((*at)->program != p || (*at)->part != part || !ctl_is(s, n, (*at)->text))
			continue;
		if (!remove)
			return -FATHOM_EEXIST;
		detach(at);
		return 0;
	}
	return remove ? -FATHOM_ENOENT : attach_new(p, (uint32_t)part, s, n);
}
