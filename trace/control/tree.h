/* SPDX-License-Identifier: MIT */
/* tree.h -- the tables the tree is made of: which directory has which files, and what a file does. */
#ifndef CONTROL_TREE_H
#define CONTROL_TREE_H

#include "fathom/inside/errno.h"
#include "fathom/fs.h"
#include "fathom/inside/event.h"
#include "wire/text.h"

/* Kinds of directory. `at` of a node: first event of the system, event, CPU. */
enum ctl_dir {
	CTL_DIR_ROOT,
	CTL_DIR_EVENTS,
	CTL_DIR_SYSTEM,
	CTL_DIR_EVENT,
	CTL_DIR_OPTIONS,
	CTL_DIR_PERCPU,
	CTL_DIR_CPU,
	CTL_DIR_INSTANCES,
	CTL_DIR_STAT,
	CTL_DIR_EXTRA,	  /* a folder of tracers that the port asked for: `at` is its number */
	CTL_DIR_PROGRAMS, /* from here on: programs/, which is config.programs' */
	CTL_DIR_PROGRAM,
	CTL_DIR_MAPS,
	CTL_DIR_KINDS,
};

/* What a file does. A NULL member is what Linux does without one: read and write are -EINVAL, open succeeds. */
struct ctl_file_ops {
	int (*open)(struct fathom_file *f);
	void (*close)(struct fathom_file *f);
	/*
	 * The text of piece number f->piece: 1 if another follows, 0 if it was the last, or an errno value. The same piece
	 * may be asked for again until it was read whole.
	 */
	int (*show)(struct fathom_file *f, struct fathom_text *out);
	int (*read)(struct fathom_file *f, void *buf, size_t bytes); /* a stream instead of show */
	int (*write)(struct fathom_file *f, const char *buf, size_t bytes);
	int (*poll)(struct fathom_file *f); /* NULL: always ready */
	uint8_t stream;			    /* cannot seek; may be written any bytes */
	uint8_t words;			    /* takes more than one word of a write, or of several */
};

enum ctl_entry_flags {
	CTL_TOP_ONLY = 1,     /* not in instances */
	CTL_IF_FUNCTION = 2,  /* only where functions can be traced */
	CTL_NOT_INTERNAL = 4, /* not for events of the `ftrace` system */
	CTL_PRINT_ONLY = 8,   /* of the `ftrace` system for `print` only */
	CTL_IF_PROFILE = 32,
	CTL_IF_PROGRAMS = 64,
	CTL_IF_DYNAMIC = 128,  /* its ops are config.dynamic->files */
	CTL_IF_SURVIVES = 256, /* only in the instance of config.last_boot */
};

struct fathom_fs_entry {
	const char *name;
	uint16_t mode;
	uint16_t flags;
	const struct ctl_file_ops *ops; /* NULL: config.dynamic->files */
	uint32_t arg;			/* what tells files with the same ops apart */
};

extern const struct fathom_fs_entry fathom_ctl_root_files[];
extern const struct fathom_fs_entry fathom_ctl_events_files[];
extern const struct fathom_fs_entry fathom_ctl_system_files[];
extern const struct fathom_fs_entry fathom_ctl_event_files[];
extern const struct fathom_fs_entry fathom_ctl_cpu_files[];
extern const struct fathom_fs_entry fathom_ctl_option_file; /* options/X: X is `at` */
extern const struct fathom_fs_entry fathom_ctl_stat_file;   /* trace_stat/functionN */

/* What config.programs points to (trace/programs): control/ never names it, so that a linker takes it only if a port does. */
struct fathom_programs {
	const struct fathom_fs_entry *files; /* of a program */
	int (*list)(const struct fathom_node *dir, uint32_t index, struct fathom_dirent *out);
	int (*alive)(const struct fathom_node *node); /* 0 or -ENOENT */
	int (*make)(const char *name, size_t len);
	void (*remove)(const struct fathom_node *node);
	void (*forget)(void); /* the pool is new */
};

enum ctl_dynamic_file {
	CTL_DYNAMIC_ALL,
	CTL_DYNAMIC_KPROBE,
	CTL_DYNAMIC_SYNTH,
	CTL_DYNAMIC_PROFILE,
};

struct ctl_hist;
struct hist_action;
struct hist_run;

/* What config.dynamic points to (trace/dynamic), in the same way. */
struct fathom_dynamic {
	const struct ctl_file_ops *files; /* `arg` of the entry says which of them */
	int (*turned)(
		struct fathom_event *ev); /* an event was switched: 0, or why it cannot be on */
	/* An action of a histogram that makes an event: as it is parsed, and as it runs, in any context: 1 if it nests too deep. */
	int (*action)(struct ctl_hist *h, struct hist_action *a, const struct fathom_event *ev,
		      const char *s, size_t n, const char **what);
	int (*make)(const struct ctl_hist *h, const struct hist_action *a,
		    const struct hist_run *run);
	uint32_t (*kept)(
		const struct fathom_object *o); /* places that `o`, which comes, may not take */
	void (*forget)(void);			/* the pool goes */
};

struct ctl_instance;

/* What config.last_boot points to (trace/lastboot), in the same way. */
struct fathom_last_boot {
	/* Give it its rings, with what the last boot left in them: 0 or an errno value. */
	int (*open)(struct ctl_instance *tr);
	void (*stats)(uint32_t cpu, struct fathom_text *out); /* of a CPU: what is damaged */
	void (*info)(const struct ctl_instance *tr, struct fathom_text *out);
};

const struct ctl_file_ops *fathom_fs_ops(const struct fathom_node *file);
void fathom_fs_root(struct fathom_node *out);

#endif
