/* SPDX-License-Identifier: MIT */
/* walk.c -- names: which files and directories there are, found by name or listed by number. */
#include "control/control.h"
#include "control/str.h"
#include "control/tree.h"
#include "functions/extra.h"

void fathom_fs_root(struct fathom_node *out)
{
	*out = (struct fathom_node){.dir = CTL_DIR_ROOT};
}

/* Folder number n of the tracers that the port asked for. NULL: there are not so many. */
static const struct fathom_extra_folder *walk_extra(uint32_t n)
{
	for (uint32_t i = 0; i < FATHOM_EXTRAS; i++) {
		const struct fathom_extra *x = fathom_extra_at(i);

		for (const struct fathom_extra_folder *f = x ? x->folders : 0; f && f->name; f++)
			if (!n--)
				return f;
	}
	return 0;
}

static const struct fathom_fs_entry *walk_table(const struct fathom_node *dir)
{
	switch (dir->dir) {
	case CTL_DIR_EXTRA: return walk_extra(dir->at)->files;
	case CTL_DIR_ROOT: return fathom_ctl_root_files;
	case CTL_DIR_EVENTS: return fathom_ctl_events_files;
	case CTL_DIR_SYSTEM: return fathom_ctl_system_files;
	case CTL_DIR_EVENT: return fathom_ctl_event_files;
	case CTL_DIR_CPU: return fathom_ctl_cpu_files;
	case CTL_DIR_PROGRAM: return fathom_core.config.programs->files;
	default: return 0;
	}
}

/* The fixed subdirectories of a root. */
static const struct {
	const char *name;
	uint8_t dir;
	uint8_t flags;
} walk_subdirs[] = {
	{"events", CTL_DIR_EVENTS, 0},
	{"instances", CTL_DIR_INSTANCES, CTL_TOP_ONLY},
	{"options", CTL_DIR_OPTIONS, 0},
	{"per_cpu", CTL_DIR_PERCPU, 0},
	{"programs", CTL_DIR_PROGRAMS, CTL_TOP_ONLY | CTL_IF_PROGRAMS},
	{"trace_stat", CTL_DIR_STAT, CTL_TOP_ONLY | CTL_IF_PROFILE},
};
#define WALK_SUBDIRS (sizeof(walk_subdirs) / sizeof(walk_subdirs[0]))

static int walk_present(const struct fathom_node *dir, uint32_t flags)
{
	if (flags & CTL_TOP_ONLY && dir->instance)
		return 0;
	if (flags & CTL_IF_SURVIVES && !fathom_ctl_instance(dir)->survives)
		return 0;
	if (dir->dir == CTL_DIR_EVENT || dir->dir == CTL_DIR_SYSTEM) {
		const struct fathom_event *ev = fathom_ctl_event(dir->at);
		int internal = ev && fathom_event_is_internal(ev);

		if (flags & CTL_NOT_INTERNAL && internal)
			return flags & CTL_PRINT_ONLY && dir->dir == CTL_DIR_EVENT &&
			       ctl_same(ev->name, "print");
	}
	return fathom_ctl_feature(flags);
}

static const char *walk_system(uint32_t event)
{
	return fathom_ctl_event(event)->system;
}

static void walk_name(struct fathom_dirent *out, const char *name)
{
	size_t n = ctl_len(name);

	if (n > FATHOM_NAME_MAX)
		n = FATHOM_NAME_MAX;
	__builtin_memcpy(out->name, name, n);
	out->name[n] = '\0';
}

static void walk_numbered(struct fathom_dirent *out, const char *prefix, uint32_t number)
{
	struct fathom_text t;

	fathom_text_init(&t, out->name, sizeof(out->name));
	fathom_text_str(&t, prefix);
	fathom_text_u64(&t, number, 0, ' ');
	fathom_text_cstr(&t);
}

static int walk_subdir(const struct fathom_node *dir, uint32_t index, struct fathom_dirent *out)
{
	for (uint32_t i = 0; i < WALK_SUBDIRS; i++) {
		if (!walk_present(dir, walk_subdirs[i].flags) || index--)
			continue;
		walk_name(out, walk_subdirs[i].name);
		out->node.dir = walk_subdirs[i].dir;
		return 1;
	}
	if (dir->instance || !walk_extra(index))
		return 0;
	walk_name(out, walk_extra(index)->name);
	out->node.dir = CTL_DIR_EXTRA;
	out->node.at = (uint16_t)index;
	return 1;
}

/* events/ lists systems, each by its first event; a system lists its events. */
static int walk_event(const struct fathom_node *dir, uint32_t index, struct fathom_dirent *out)
{
	int systems = dir->dir == CTL_DIR_EVENTS;

	for (uint32_t i = 0; i < fathom_ctl.nr_events; i++) {
		if (fathom_ctl.place[i].system != (systems ? i : dir->at) || index--)
			continue;
		walk_name(out, systems ? walk_system(i) : fathom_ctl_event(i)->name);
		out->node.dir = systems ? CTL_DIR_SYSTEM : CTL_DIR_EVENT;
		out->node.at = (uint16_t)i;
		out->node.age = fathom_ctl.place[i].age;
		return 1;
	}
	return 0;
}

static int walk_instance(uint32_t index, struct fathom_dirent *out)
{
	for (uint32_t i = 1; i <= FATHOM_INSTANCES_MAX; i++) {
		const struct ctl_instance *tr = fathom_ctl_instance_at(i);

		if (!tr || index--)
			continue;
		walk_name(out, tr->name);
		out->node = (struct fathom_node){
			.dir = CTL_DIR_ROOT, .instance = (uint8_t)i, .serial = tr->serial};
		return 1;
	}
	return 0;
}

/* Directories made of what exists: entry number `index`, counted from 0 behind the files. 1 or 0. */
static int walk_dynamic(const struct fathom_node *dir, uint32_t index, struct fathom_dirent *out)
{
	uint32_t option;

	out->node.entry = 0;
	switch (dir->dir) {
	case CTL_DIR_ROOT: return walk_subdir(dir, index, out);
	case CTL_DIR_EVENTS:
	case CTL_DIR_SYSTEM: return walk_event(dir, index, out);
	case CTL_DIR_OPTIONS:
		option = fathom_ctl_option_nth(dir->instance, index);
		if (option == ~0u)
			return 0;
		out->node.at = (uint16_t)option;
		walk_name(out, fathom_ctl_option_name(out->node.at));
		out->node.entry = &fathom_ctl_option_file;
		return 1;
	case CTL_DIR_PERCPU:
	case CTL_DIR_STAT:
		if (index >= fathom_core.nr_cpus)
			return 0;
		out->node.at = (uint16_t)index;
		walk_numbered(out, dir->dir == CTL_DIR_PERCPU ? "cpu" : "function", index);
		if (dir->dir == CTL_DIR_PERCPU)
			out->node.dir = CTL_DIR_CPU;
		else
			out->node.entry = &fathom_ctl_stat_file;
		return 1;
	case CTL_DIR_INSTANCES: return walk_instance(index, out);
	case CTL_DIR_PROGRAMS:
	case CTL_DIR_PROGRAM:
	case CTL_DIR_MAPS: return fathom_core.config.programs->list(dir, index, out);
	default: return 0;
	}
}

static int walk_list(const struct fathom_node *dir, uint32_t index, struct fathom_dirent *out)
{
	const struct fathom_fs_entry *e = walk_table(dir);

	out->node = *dir;
	for (; e && e->name; e++) {
		if (!walk_present(dir, e->flags) || index--)
			continue;
		walk_name(out, e->name);
		out->node.entry = e;
		return 1;
	}
	return walk_dynamic(dir, index, out);
}

int fathom_fs_list(const struct fathom_node *dir, uint32_t index, struct fathom_dirent *out)
{
	int ret;

	if (dir->entry)
		return -FATHOM_ENOTDIR;
	fathom_lock();
	ret = fathom_ctl_ready();
	if (!ret)
		ret = fathom_ctl_alive(dir);
	if (!ret)
		ret = walk_list(dir, index, out);
	fathom_unlock();
	return ret;
}

static void walk_up(const struct fathom_node *dir, struct fathom_node *out)
{
	static const uint8_t parent[CTL_DIR_KINDS] = {
		[CTL_DIR_ROOT] = CTL_DIR_ROOT,	   [CTL_DIR_EVENTS] = CTL_DIR_ROOT,
		[CTL_DIR_SYSTEM] = CTL_DIR_EVENTS, [CTL_DIR_EVENT] = CTL_DIR_SYSTEM,
		[CTL_DIR_OPTIONS] = CTL_DIR_ROOT,  [CTL_DIR_PERCPU] = CTL_DIR_ROOT,
		[CTL_DIR_CPU] = CTL_DIR_PERCPU,	   [CTL_DIR_INSTANCES] = CTL_DIR_ROOT,
		[CTL_DIR_STAT] = CTL_DIR_ROOT,	   [CTL_DIR_EXTRA] = CTL_DIR_ROOT,
		[CTL_DIR_PROGRAMS] = CTL_DIR_ROOT, [CTL_DIR_PROGRAM] = CTL_DIR_PROGRAMS,
		[CTL_DIR_MAPS] = CTL_DIR_PROGRAM,
	};

	*out = *dir;
	out->dir = parent[dir->dir];
	if (dir->dir == CTL_DIR_MAPS)
		return; /* the same program */
	out->at = out->age = 0;
	if (out->dir == CTL_DIR_SYSTEM) {
		out->at = fathom_ctl.place[dir->at].system;
		out->age = fathom_ctl.place[out->at].age;
	}
	if (dir->dir == CTL_DIR_ROOT && dir->instance)
		*out = (struct fathom_node){.dir = CTL_DIR_INSTANCES};
}

int fathom_fs_walk(const struct fathom_node *dir, const char *name, size_t len,
		   struct fathom_node *out)
{
	struct fathom_dirent e;
	int ret;

	if (dir->entry)
		return -FATHOM_ENOTDIR;
	if (ctl_is(name, len, ".") || ctl_is(name, len, "..")) {
		if (len == 2)
			walk_up(dir, out);
		else
			*out = *dir;
		return 0;
	}
	fathom_lock();
	ret = fathom_ctl_ready();
	if (!ret)
		ret = fathom_ctl_alive(dir);
	for (uint32_t i = 0; !ret; i++) {
		if (walk_list(dir, i, &e) != 1)
			ret = -FATHOM_ENOENT;
		else if (ctl_is(name, len, e.name))
			break;
	}
	fathom_unlock();
	if (!ret)
		*out = e.node;
	return ret;
}

int fathom_fs_lookup(const char *path, struct fathom_node *out)
{
	struct fathom_node node;
	int ret = 0;

	fathom_fs_root(&node);
	while (*path && !ret) {
		size_t n = ctl_find(path, ctl_len(path), '/');

		if (n)
			ret = fathom_fs_walk(&node, path, n, &node);
		path += n;
		while (*path == '/')
			path++;
	}
	*out = node;
	return ret;
}

int fathom_fs_stat(const struct fathom_node *node, struct fathom_stat *out)
{
	static const uint16_t dir_mode = 0750;
	uint64_t file = 0;
	int ret;

	fathom_lock();
	ret = fathom_ctl_alive(node);
	fathom_unlock();
	if (ret)
		return ret;
	if (node->entry) {
		const struct fathom_fs_entry *t = walk_table(node);

		file = t ? (uint64_t)(node->entry - t) + 1 : 1;
		out->mode = FATHOM_MODE_FILE | node->entry->mode;
	} else {
		out->mode = FATHOM_MODE_DIR | dir_mode;
		if (node->dir == CTL_DIR_ROOT && !node->instance)
			out->mode = FATHOM_MODE_DIR | 0700;
	}
	out->id = file | (uint64_t)node->dir << 8 | (uint64_t)node->at << 16 |
		  (uint64_t)(node->age & 0xff) << 32 | (uint64_t)node->instance << 40 |
		  (uint64_t)node->serial << 48;
	return 0;
}
