/* SPDX-License-Identifier: MIT */
/* files.c -- programs/ in the control tree: programs/NAME/{load,attach,run,events,stacks,stats,maps/...}. */
#include "wire/cold.h"
#include "control/str.h"
#include "programs/maps.h"

static struct program *programs[FATHOM_PROGRAMS_MAX];

/* `at` of a node: the program's slot, and above it the number of the map. */
static uint32_t node_slot(const struct fathom_node *n)
{
	return n->at & 0xff;
}

static struct program *program_of(const struct fathom_node *n)
{
	return programs[node_slot(n)];
}

static struct program_map *map_of(const struct fathom_node *n)
{
	return &program_of(n)->maps[n->at >> 8];
}

static int files_alive(const struct fathom_node *n)
{
	const struct program *p = node_slot(n) < FATHOM_PROGRAMS_MAX ? program_of(n) : 0;

	if (n->dir == CTL_DIR_PROGRAMS)
		return 0;
	if (!p || p->serial != n->age)
		return -FATHOM_ENOENT;
	return n->dir == CTL_DIR_MAPS && n->entry && (!p->loaded || n->at >> 8 >= p->head.nr_maps)
		       ? -FATHOM_ENOENT
		       : 0;
}

/* ---- load, attach, run ---- */

static int load_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	int err = fathom_program_load(program_of(&f->node), buf, bytes);

	return err ? err : (int)bytes;
}

/* A load that was not finished is begun anew. */
static int load_begin(struct fathom_file *f)
{
	struct program *p = program_of(&f->node);

	if (!p->loaded)
		fathom_program_unload(p);
	return 0;
}

static int attach_open(struct fathom_file *f)
{
	if ((f->flags & FATHOM_O_ACCMODE) != FATHOM_O_RDONLY && f->flags & FATHOM_O_TRUNC)
		fathom_program_detach_all(program_of(&f->node));
	return 0;
}

/* One line or several. */
static int attach_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		size_t n = ctl_find(buf + at, bytes - at, '\n');
		const char *s = buf + at;
		size_t len = n;
		int err;

		ctl_trim(&s, &len);
		err = len ? fathom_program_attach(program_of(&f->node), s, len) : 0;
		if (err)
			return err;
		at += n + 1;
	}
	return (int)bytes;
}

static int attach_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct program_link *l = fathom_program_link(program_of(&f->node), f->piece);

	if (!l)
		return 0;
	fathom_text_u64(t, l->part, 0, ' ');
	fathom_text_char(t, ' ');
	fathom_text_str(t, l->text);
	fathom_text_char(t, '\n');
	return fathom_program_link(program_of(&f->node), f->piece + 1) != 0;
}

static int run_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	struct program *p = program_of(&f->node);
	struct program_hit hit = {0};
	size_t n = bytes;
	uint64_t part;
	uintptr_t pin;

	ctl_trim(&buf, &n);
	if (!p->loaded || fathom_ctl_number(buf, n, 10, &part) || part >= p->head.nr_parts ||
	    p->parts[part].context_bytes)
		return -FATHOM_EINVAL;
	pin = fathom_port_pin();
	hit.cpu = fathom_port_cpu();
	fathom_pool_enter(hit.cpu);
	fathom_program_run(p, (uint32_t)part, &hit);
	fathom_pool_leave(hit.cpu);
	fathom_port_unpin(pin);
	return (int)bytes;
}

/* ---- results ---- */

static int events_read(struct fathom_file *f, void *buf, size_t bytes)
{
	int n = fathom_program_take(&program_of(&f->node)->ring, buf, bytes);

	return n ? n : -FATHOM_EAGAIN;
}

static int events_poll(struct fathom_file *f)
{
	const struct program_ring *r = &program_of(&f->node)->ring;

	return __atomic_load_n(&r->head, __ATOMIC_RELAXED) != r->tail ? FATHOM_POLL_IN : 0;
}

static void show_words(struct fathom_text *t, const uint8_t *at, uint32_t bytes, char between)
{
	for (uint32_t i = 0; i < bytes; i += 8) {
		uint64_t w;

		__builtin_memcpy(&w, at + i, 8);
		if (i)
			fathom_text_char(t, between);
		fathom_text_hex(t, w, 0, ' ');
	}
}

/* Of a histogram only the buckets that have something: `number:count`. */
static void show_buckets(struct fathom_text *t, const uint8_t *at, uint32_t bytes)
{
	const char *between = "";

	for (uint32_t i = 0; i < bytes; i += 8) {
		uint64_t w;

		__builtin_memcpy(&w, at + i, 8);
		if (!w)
			continue;
		fathom_text_str(t, between);
		fathom_text_hex(t, i / 8, 0, ' ');
		fathom_text_char(t, ':');
		fathom_text_hex(t, w, 0, ' ');
		between = " ";
	}
}

/* `KEY,KEY = VALUE VALUE`, words of 64 bits in hex; of each CPU `KEY @CPU = VALUE`. */
static void map_show(const struct program_map *m, uint32_t slot, struct fathom_text *t)
{
	uint32_t seen;
	uint64_t index = slot;

	seen = __atomic_load_n(&m->state[slot], __ATOMIC_ACQUIRE);
	for (uint32_t c = 0; c < m->copies && (seen & SLOT_IS) == SLOT_LIVE; c++) {
		const uint8_t *key = m->data + (size_t)slot * m->stride;

		if (map_is_array(m))
			show_words(t, (const uint8_t *)&index, 8, ',');
		else
			show_words(t, key, m->key_room, ',');
		if (m->copies > 1) {
			fathom_text_str(t, " @");
			fathom_text_u64(t, c, 0, ' ');
		}
		fathom_text_str(t, " = ");
		if (m->spec.kind == BPF_MAP_LOG2 || m->spec.kind == BPF_MAP_LINEAR)
			show_buckets(t, fathom_map_value(m, slot, c), m->value_room);
		else
			show_words(t, fathom_map_value(m, slot, c), m->value_room, ' ');
		fathom_text_char(t, '\n');
	}
}

/*
 * Whole lines, as many as fit: values change while they are read, and a line that is made twice may be two different ones.
 * u[0] is the next slot. Only of a line that is longer than the reader's buffer u[1] bytes were given before.
 */
static int slots_read(struct fathom_file *f, const struct program_map *m, int numbered, uint8_t *to,
		      size_t bytes)
{
	size_t done = 0;

	while (f->u[0] < m->nr) {
		struct fathom_text t;
		size_t n;

		fathom_ctl_scratch(&t);
		map_show(m, (uint32_t)f->u[0], &t);
		if (numbered && t.len) {
			struct fathom_text line;
			char number[16];

			fathom_text_init(&line, number, sizeof(number));
			fathom_text_u64(&line, f->u[0] + 1, 0, ' ');
			fathom_text_char(&line, ' ');
			if (done + line.len + t.len > bytes)
				break;
			__builtin_memcpy(to + done, number, line.len);
			done += line.len;
		}
		n = t.len > f->u[1] ? t.len - (size_t)f->u[1] : 0;
		if (n > bytes - done && done)
			break;
		n = n < bytes - done ? n : bytes - done;
		__builtin_memcpy(to + done, t.buf + f->u[1], n);
		done += n;
		f->u[1] += n;
		if (f->u[1] < t.len)
			break;
		f->u[0]++;
		f->u[1] = 0;
	}
	f->pos += done;
	return (int)done;
}

static int map_read(struct fathom_file *f, void *buf, size_t bytes)
{
	return slots_read(f, map_of(&f->node), 0, buf, bytes);
}

static int map_write(struct fathom_file *f, const char *buf, size_t bytes)
{
	size_t n = bytes;

	ctl_trim(&buf, &n);
	if (ctl_is(buf, n, "clear"))
		fathom_map_reset(map_of(&f->node), 1);
	else if (ctl_is(buf, n, "zero"))
		fathom_map_reset(map_of(&f->node), 0);
	else
		return -FATHOM_EINVAL;
	return (int)bytes;
}

static int stacks_read(struct fathom_file *f, void *buf, size_t bytes)
{
	return slots_read(f, &program_of(&f->node)->stacks, 1, buf, bytes);
}

static void stat_line(struct fathom_text *t, const char *name, const char *of, uint64_t v)
{
	fathom_text_str(t, name);
	fathom_text_str(t, of);
	fathom_text_str(t, ": ");
	fathom_text_u64(t, v, 0, ' ');
	fathom_text_char(t, '\n');
}

static int program_stats_show(struct fathom_file *f, struct fathom_text *t)
{
	const struct program *p = program_of(&f->node);
	uint64_t runs = 0, n;

	for (uint32_t cpu = 0; p->loaded && cpu < fathom_core.nr_cpus; cpu++) {
		__builtin_memcpy(&n, p->runs[cpu].half, sizeof(n));
		runs += n;
	}
	stat_line(t, "loaded", "", p->loaded);
	stat_line(t, "runs", "", runs);
	stat_line(t, "stopped by the budget", "", p->stopped);
	stat_line(t, "record too short", "", p->too_short);
	stat_line(t, "record too large", "", p->unseen);
	stat_line(t, "nested too deep", "", p->nested);
	stat_line(t, "events lost", "", p->ring.lost);
	stat_line(t, "stacks lost", "", p->stacks.dropped);
	for (uint32_t i = 0; p->loaded && i < p->head.nr_maps; i++)
		stat_line(t, "keys lost by ", p->maps[i].spec.name, p->maps[i].dropped);
	return 0;
}

/* ---- the tree ---- */

static const struct ctl_file_ops load_ops = {.open = load_begin, .write = load_write, .stream = 1};
static const struct ctl_file_ops attach_ops = {
	.open = attach_open, .show = attach_show, .write = attach_write};
static const struct ctl_file_ops run_ops = {.write = run_write};
static const struct ctl_file_ops events_ops = {
	.read = events_read, .poll = events_poll, .stream = 1};
static const struct ctl_file_ops stacks_ops = {.read = stacks_read, .stream = 1};
static const struct ctl_file_ops stats_ops = {.show = program_stats_show};
static const struct ctl_file_ops map_ops = {.read = map_read, .write = map_write, .stream = 1};

static const struct fathom_fs_entry files[] = {
	{"attach", 0640, 0, &attach_ops, 0},
	{"events", 0440, 0, &events_ops, 0},
	{"load", 0200, 0, &load_ops, 0},
	{"run", 0200, 0, &run_ops, 0},
	{"stacks", 0440, 0, &stacks_ops, 0},
	{"stats", 0440, 0, &stats_ops, 0},
	{0, 0, 0, 0, 0},
};
static const struct fathom_fs_entry map_file = {"", 0640, 0, &map_ops, 0};

static void files_name(struct fathom_dirent *out, const char *name)
{
	size_t n = ctl_len(name);

	__builtin_memcpy(out->name, name, n + 1);
}

/* What is in the directory beside its files. */
static int files_list(const struct fathom_node *dir, uint32_t index, struct fathom_dirent *out)
{
	const struct program *p;

	if (dir->dir == CTL_DIR_PROGRAM) {
		if (index)
			return 0;
		files_name(out, "maps");
		out->node.dir = CTL_DIR_MAPS;
		return 1;
	}
	if (dir->dir == CTL_DIR_MAPS) {
		p = program_of(dir);
		if (!p->loaded || index >= p->head.nr_maps)
			return 0;
		files_name(out, p->maps[index].spec.name);
		out->node.entry = &map_file;
		out->node.at = (uint16_t)(p->slot | index << 8);
		return 1;
	}
	for (uint32_t i = 0; i < FATHOM_PROGRAMS_MAX; i++) {
		if (!programs[i] || index--)
			continue;
		files_name(out, programs[i]->name);
		out->node.dir = CTL_DIR_PROGRAM;
		out->node.at = (uint16_t)i;
		out->node.age = programs[i]->serial;
		return 1;
	}
	return 0;
}

static int files_make(const char *name, size_t len)
{
	static uint16_t serial;
	uint32_t slot = FATHOM_PROGRAMS_MAX;
	struct program *p;

	for (uint32_t i = FATHOM_PROGRAMS_MAX; i--;) {
		if (!programs[i])
			slot = i;
		else if (ctl_is(name, len, programs[i]->name))
			return -FATHOM_EEXIST;
	}
	p = slot < FATHOM_PROGRAMS_MAX ? fathom_pool_get(sizeof(*p)) : 0;
	if (!p)
		return -FATHOM_ENOMEM;
	__builtin_memcpy(p->name, name, len);
	p->serial = ++serial;
	p->slot = (uint8_t)slot;
	programs[slot] = p;
	return 0;
}

static void files_remove(const struct fathom_node *n)
{
	struct program *p = program_of(n);

	fathom_program_detach_all(p);
	fathom_program_retire(p);
	programs[node_slot(n)] = 0;
	fathom_pool_retire(p);
}

static void files_forget(void)
{
	for (uint32_t i = 0; i < FATHOM_PROGRAMS_MAX; i++)
		programs[i] = 0;
	fathom_program_forget();
}

const struct fathom_programs fathom_programs = {.files = files,
						.list = files_list,
						.alive = files_alive,
						.make = files_make,
						.remove = files_remove,
						.forget = files_forget};
