/* SPDX-License-Identifier: MIT */
/* file_trace.c -- trace, trace_pipe and snapshot: the view of view.h behind a handle. */
#include "control/control.h"
#include "control/files.h"
#include "control/pool.h"
#include "control/str.h"
#include "fathom/inside/snapshot.h"
#include "functions/tracer.h"
#include "fathom/inside/view.h"

#define TRACE_LINE_MAX 8192u

/* What an open handle needs: taken from the pool when it is first read. */
struct trace_view {
	struct fathom_view *view;
	struct fathom_text_banner banner;
	void *mem;
	uint32_t bytes; /* of mem */
	uint32_t piece; /* the line at hand: piece number + 1 */
	uint32_t len;
	uint32_t done;	     /* of a pipe: bytes of the line that were read */
	uint32_t paused : 1; /* pause-on-trace: recording was stopped by this handle */
	int more;
	char symbols[2][64];
	char comm[16];
	char line[TRACE_LINE_MAX];
};

static int32_t trace_cpu(const struct fathom_file *f)
{
	return f->node.dir == CTL_DIR_CPU ? (int32_t)f->node.at : -1;
}

/* What a latency tracer kept of the worst case is shown by `trace`, from where that began. */
static int trace_is_worst(const struct fathom_file *f)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);

	return f->node.entry->ops == &fathom_ctl_trace && fathom_ctl_is_latency(tr) &&
	       fathom_ctl_has_snapshot(tr);
}

static struct fathom_ring *const *trace_rings(const struct fathom_file *f)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);

	if (f->node.entry->ops == &fathom_ctl_snapshot || trace_is_worst(f))
		return fathom_ctl_spares(tr);
	return tr->ring;
}

static const char *trace_symbol(uintptr_t at, char *buf, size_t size)
{
	const struct fathom_config *c = &fathom_core.config;
	uintptr_t offset = 0, bytes = 0;
	const char *name = c->symbol && at ? c->symbol(at, &offset, &bytes) : 0;
	struct fathom_text t;

	if (!at)
		return 0;
	fathom_text_init(&t, buf, size);
	if (name)
		fathom_text_str(&t, name);
	else
		fathom_text_hex(&t, at, 0, ' ');
	return fathom_text_cstr(&t);
}

static const struct fathom_text_banner *trace_banner(const struct ctl_instance *tr,
						     struct trace_view *v)
{
	struct fathom_latency_report r = {0};
	uint64_t us;

	if (fathom_ctl_is_latency(tr))
		r = fathom_latency_worst(tr->functions)->report;
	us = ctl_div(r.latency_ns, 1000);
	fathom_ctl_comm(r.pid, v->comm);
	v->banner = (struct fathom_text_banner){
		.release = fathom_core.config.release,
		.model = "desktop",
		.latency_us = us,
		.cpu = r.cpu,
		.comm = r.latency_ns ? v->comm : 0,
		.pid = r.pid,
		.nice = r.nice,
		.policy = r.policy,
		.rt_prio = r.rt_prio,
		.start_at = trace_symbol(r.started_at, v->symbols[0], sizeof(v->symbols[0])),
		.end_at = trace_symbol(r.ended_at, v->symbols[1], sizeof(v->symbols[1])),
	};
	return &v->banner;
}

/* Tasks of the last boot: their numbers are others' now. */
static const char *trace_no_comm(int32_t pid, char buf[16])
{
	(void)pid;
	(void)buf;
	return 0;
}

static int32_t trace_no_tgid(int32_t pid)
{
	(void)pid;
	return 0;
}

static void trace_config(struct fathom_file *f, struct trace_view *v, uint32_t flags,
			 struct fathom_view_config *c)
{
	const struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	const struct fathom_tracer *tracer = fathom_ctl_tracer(tr);

	__builtin_memset(c, 0, sizeof(*c));
	c->rings = trace_rings(f);
	c->nr_cpus = fathom_core.nr_cpus;
	c->cpu = trace_cpu(f);
	c->flags = flags;
	c->options = fathom_ctl_text_options(tr);
	c->tracer = tracer->name;
	if (!tr->index && fathom_ctl_draws_graph(tracer))
		c->graph = &fathom_view_graph;
	c->clock = tr->clock;
	c->start = tr->start;
	if (trace_is_worst(f))
		c->start = c->from = fathom_latency_worst(tr->functions)->report.start;
	c->banner = trace_banner(tr, v);
	c->comm = tr->last_boot ? trace_no_comm : fathom_ctl_saved_comm;
	c->tgid = tr->last_boot ? trace_no_tgid : fathom_ctl_saved_tgid;
}

/* The handle's view, made anew at the first piece. 0 or -ENOMEM. */
static int trace_begin(struct fathom_file *f, uint32_t flags)
{
	struct trace_view *v = f->ptr;
	struct fathom_view_config c;
	size_t bytes;

	if (!v) {
		v = f->ptr = fathom_pool_get(sizeof(*v));
		if (!v)
			return -FATHOM_ENOMEM;
	}
	trace_config(f, v, flags, &c);
	bytes = fathom_view_bytes(&c);
	if (v->bytes < bytes) {
		fathom_pool_put(v->mem);
		v->mem = fathom_pool_get(bytes);
		v->bytes = v->mem ? (uint32_t)bytes : 0;
	}
	if (!v->mem)
		return -FATHOM_ENOMEM;
	v->view = fathom_view_init(v->mem, bytes, &c);
	v->piece = 0;
	v->len = v->done = 0;
	return v->view ? 0 : -FATHOM_ENOMEM;
}

/* Recording stops while a handle reads, if the option says so. */
static void trace_pause(struct fathom_file *f, int on)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	struct trace_view *v = f->ptr;

	if (on && !v->paused && fathom_ctl_option(tr, CTL_OPT_PAUSE_ON_TRACE)) {
		v->paused = 1;
		tr->paused++;
	} else if (!on && v && v->paused) {
		v->paused = 0;
		tr->paused--;
	} else {
		return;
	}
	fathom_ctl_hold_update(tr);
}

static int trace_show(struct fathom_file *f, struct fathom_text *out)
{
	struct trace_view *v = f->ptr;
	struct fathom_text t;
	int err;

	if (!f->piece && (!v || v->piece != 1)) {
		err = trace_begin(f, 0);
		if (err)
			return err;
		v = f->ptr;
		trace_pause(f, 1);
	}
	if (!v->view)
		return -FATHOM_EINVAL;
	if (v->piece != f->piece + 1) {
		fathom_text_init(&t, v->line, sizeof(v->line));
		v->more = 1;
		if (!f->piece)
			fathom_view_header(v->view, &t);
		else
			v->more = fathom_view_next(v->view, &t);
		v->piece = f->piece + 1;
		v->len = (uint32_t)t.len;
	}
	fathom_text_bytes(out, v->line, v->len);
	return v->more;
}

/* O_TRUNC clears, of one CPU or all; O_APPEND and plain writing do not. */
static int trace_open(struct fathom_file *f)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);

	if (fathom_ctl_truncates(f))
		fathom_ctl_clear(tr, tr->ring, f->node.dir == CTL_DIR_CPU ? f->node.at : ~0u);
	if ((f->flags & FATHOM_O_ACCMODE) != FATHOM_O_WRONLY)
		tr->trace_open++;
	return 0;
}

static void trace_free(struct fathom_file *f)
{
	struct trace_view *v = f->ptr;

	trace_pause(f, 0);
	if (v)
		fathom_pool_put(v->mem);
	fathom_pool_put(v);
	f->ptr = 0;
}

static void trace_close(struct fathom_file *f)
{
	if ((f->flags & FATHOM_O_ACCMODE) != FATHOM_O_WRONLY)
		fathom_ctl_instance(&f->node)->trace_open--;
	trace_free(f);
}

static int trace_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	(void)f;
	(void)buf;
	return (int)bytes;
}

const struct ctl_file_ops fathom_ctl_trace = {
	.open = trace_open, .show = trace_show, .write = trace_write, .close = trace_close};

/* One consuming reader of the whole and one of each CPU. */
static int pipe_open(struct fathom_file *f)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	uint64_t bit = f->node.dir == CTL_DIR_CPU ? (uint64_t)1 << f->node.at : 0;

	if (bit ? tr->cpu_pipe_open & bit : tr->all_pipe_open)
		return -FATHOM_EBUSY;
	tr->cpu_pipe_open |= bit;
	tr->all_pipe_open += !bit;
	tr->pipe_open++;
	return 0;
}

static void pipe_close(struct fathom_file *f)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);

	if (f->node.dir == CTL_DIR_CPU)
		tr->cpu_pipe_open &= ~((uint64_t)1 << f->node.at);
	else
		tr->all_pipe_open--;
	tr->pipe_open--;
	trace_free(f);
}

/* Is a record there for this handle? */
static int pipe_poll(struct fathom_file *f)
{
	struct fathom_ring *const *rings = trace_rings(f);
	struct trace_view *v = f->ptr;
	struct fathom_record rec;
	int32_t only = trace_cpu(f);

	if (v && v->done < v->len)
		return FATHOM_POLL_IN | FATHOM_POLL_OUT;
	for (uint32_t cpu = 0; cpu < fathom_core.nr_cpus; cpu++)
		if ((only < 0 || cpu == (uint32_t)only) && fathom_ring_peek(rings[cpu], &rec) > 0)
			return FATHOM_POLL_IN | FATHOM_POLL_OUT;
	return FATHOM_POLL_OUT;
}

/*
 * Whole lines as far as they fit, a part of one if not even that fits. Empty: -EAGAIN, or the end of the file if
 * recording is off and something was read (then no more is to come), as in Linux.
 */
static int pipe_read(struct fathom_file *f, void *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	struct trace_view *v = f->ptr;
	size_t done = 0;
	int err = v ? 0 : trace_begin(f, FATHOM_VIEW_CONSUME);

	if (err)
		return err;
	v = f->ptr;
	while (done < bytes) {
		size_t n;

		if (v->done == v->len) {
			struct fathom_text t;

			/* The live rings may have been exchanged by a snapshot, options may have changed. */
			trace_config(f, v, FATHOM_VIEW_CONSUME, &v->view->config);
			v->view->text.options = v->view->config.options;
			fathom_text_init(&t, v->line, sizeof(v->line));
			if (!fathom_view_next(v->view, &t))
				break;
			v->len = (uint32_t)t.len;
			v->done = 0;
		}
		n = v->len - v->done;
		if (n > bytes - done) {
			if (done)
				break;
			n = bytes;
		}
		__builtin_memcpy((char *)buf + done, v->line + v->done, n);
		v->done += (uint32_t)n;
		done += n;
	}
	if (done)
		f->u[0] = 1;
	else if (bytes && (!f->u[0] || fathom_ctl_is_recording(tr)))
		return -FATHOM_EAGAIN;
	return (int)done;
}

const struct ctl_file_ops fathom_ctl_trace_pipe = {
	.open = pipe_open, .read = pipe_read, .poll = pipe_poll, .close = pipe_close, .stream = 1};

static void snapshot_help(struct fathom_file *f, struct fathom_text *t)
{
	int one = f->node.dir == CTL_DIR_CPU;

	fathom_text_str(t, "#\n# * Snapshot is ");
	fathom_text_str(t, fathom_ctl_has_snapshot(fathom_ctl_instance(&f->node)) ? "allocated"
										  : "freed");
	fathom_text_str(t, " *\n#\n# Snapshot commands:\n");
	fathom_text_str(t, one ? "# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
			       : "# echo 0 > snapshot : Clears and frees snapshot buffer\n");
	fathom_text_str(
		t, "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
		   "#                      Takes a snapshot of the main buffer");
	fathom_text_str(t, one ? " for this cpu.\n# echo 2 > snapshot : Clears this cpu's snapshot "
				 "buffer (but does not allocate)\n"
			       : ".\n# echo 2 > snapshot : Clears snapshot buffer (but does not "
				 "allocate or free)\n");
	fathom_text_str(
		t, "#                      (Doesn't have to be '2' works with any number that\n"
		   "#                       is not a '0' or '1')\n");
}

static int snapshot_show(struct fathom_file *f, struct fathom_text *t)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);

	if (!f->piece) {
		f->u[0] = fathom_ctl_has_snapshot(tr) && pipe_poll(f) & FATHOM_POLL_IN;
	}
	if (f->u[0] && fathom_ctl_has_snapshot(tr))
		return trace_show(f, t);
	if (f->piece)
		return 0;
	fathom_text_str(t, "# tracer: ");
	fathom_text_str(t, fathom_ctl_tracer(tr)->name);
	fathom_text_str(t, "\n#\n");
	snapshot_help(f, t);
	return 0;
}

/* 0 frees, 1 takes, anything else clears. */
static int snapshot_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct ctl_instance *tr = fathom_ctl_instance(&f->node);
	uint32_t cpu = f->node.dir == CTL_DIR_CPU ? f->node.at : ~0u;
	uint64_t v;
	int err = fathom_ctl_write_number(buf, bytes, &v);

	if (err)
		return err;
	if (fathom_ctl_is_latency(tr))
		return -FATHOM_EBUSY;
	if (v == 0) {
		if (cpu != ~0u)
			return -FATHOM_EINVAL;
		fathom_ctl_snapshot_free(tr);
	} else if (v == 1) {
		err = fathom_ctl_snapshot_alloc(tr);
		if (!err)
			err = fathom_ctl_snapshot_take(tr, cpu);
	} else if (fathom_ctl_has_snapshot(tr)) {
		fathom_ctl_clear(tr, fathom_ctl_spares(tr), cpu);
	}
	return err ? err : (int)bytes;
}

static void snapshot_close(struct fathom_file *f)
{
	trace_free(f);
}

const struct ctl_file_ops fathom_ctl_snapshot = {
	.show = snapshot_show, .write = snapshot_write, .close = snapshot_close};
