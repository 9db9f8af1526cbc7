/* SPDX-License-Identifier: MIT */
/* steer.h -- change files of a control tree for a while: what they said before is put back. */
#ifndef CAPTURE_STEER_H
#define CAPTURE_STEER_H

#include "capture/tree.h"

struct steer {
	struct tree *t;
	const char *target; /* for messages */
	char instance[64];  /* "" or "instances/NAME/": where the files of the recording lie */
	bool made;	    /* the instance is the recorder's own */
	struct steer_undo *undo;
};

/* Paths are those of the top; files that every instance has are the instance's. All report errors. 0 or -1. */

/* An instance of the recorder's own. A new one has nothing switched on, so nothing needs to be restored. */
int steer_make_instance(struct steer *s, const char *name);
/* Work in an instance, which is created if needed. */
int steer_use_instance(struct steer *s, const char *name);
/* DIR/PATH of the instance, for files that are only read; `buf` has 512 bytes. */
const char *steer_path(const struct steer *s, const char *path, char *buf);

/* A file that holds one value. */
int steer_set(struct steer *s, const char *path, const char *value);
/* Replace the contents of a file that holds a list. */
int steer_list(struct steer *s, const char *path, const char *const *values, unsigned nr);
/* Add to a list that steer_list() has set. `wrong` is what -EINVAL means. */
int steer_add(struct steer *s, const char *path, const char *value, const char *wrong);
/* Set a trigger of an event; it is removed at the end. */
int steer_trigger(struct steer *s, const char *path, const char *trigger);
bool steer_has(const struct steer *s, const char *path);
/* Restore everything, the last change first. */
void steer_restore(struct steer *s);
/* Forget the changes: the target is gone. */
void steer_forget(struct steer *s);

#endif
