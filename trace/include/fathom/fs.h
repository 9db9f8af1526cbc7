/* SPDX-License-Identifier: MIT */
/* fs.h -- the control tree: tracefs as nodes and handles, for a shell, a VFS, the 9P server or plain C calls. */
#ifndef FATHOM_FS_H
#define FATHOM_FS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Names, values and error numbers are Linux's (docs/TRACEFS.md). A node is a value that names a file or a directory;
 * a handle is the caller's memory and lives from open to close. Everything here is task context and takes the tree's
 * lock; the event path never does. Nothing blocks: a read that would wait returns -EAGAIN, and the caller waits in its
 * own way (fathom_fs_poll() says whether it is worth another try).
 */

/* How a file is opened: Linux's bits. O_CREAT and the rest are ignored, O_APPEND is the same as not truncating. */
enum fathom_open_flags {
	FATHOM_O_RDONLY = 0,
	FATHOM_O_WRONLY = 1,
	FATHOM_O_RDWR = 2,
	FATHOM_O_ACCMODE = 3,
	FATHOM_O_TRUNC = 01000,
	FATHOM_O_APPEND = 02000,
	FATHOM_O_NONBLOCK = 04000,
};

enum fathom_mode_bits {
	FATHOM_MODE_DIR = 0040000,
	FATHOM_MODE_FILE = 0100000
};
enum fathom_poll_bits {
	FATHOM_POLL_IN = 1,
	FATHOM_POLL_OUT = 4
};

#define FATHOM_NAME_MAX 63 /* longest name of a file or an instance */

struct fathom_fs_entry; /* control/tree.h */

struct fathom_node {
	const struct fathom_fs_entry *entry; /* NULL: the directory itself */
	uint8_t dir;			     /* which kind of directory it is in, or is */
	uint8_t instance;		     /* 0: the top */
	uint16_t serial; /* of the instance, so that a node of a removed one is noticed */
	uint16_t at;	 /* event, CPU or option of that directory */
	uint16_t age;	 /* of the event's place, so that a node of one that left is noticed */
};

struct fathom_stat {
	uint32_t mode; /* type and permissions */
	uint64_t id;   /* unique in the tree */
};

struct fathom_dirent {
	char name[FATHOM_NAME_MAX + 1];
	struct fathom_node node;
};

/* An open file. Its members are the library's. */
struct fathom_file {
	struct fathom_node node;
	uint32_t flags;
	uint32_t piece;	     /* next piece of text to make */
	uint32_t piece_skip; /* bytes of it that were read already */
	uint64_t pos;	     /* where a sequential read goes on */
	uint64_t u[4];	     /* of the kind of file */
	void *ptr;
	int32_t pid;   /* who writes, for markers; 0: ask the port */
	uint16_t used; /* characters in token */
	uint8_t open;
	uint8_t eof;
	char token[150]; /* a word split over writes */
};

/* One name ("..", "." too). 0, -ENOENT, -ENOTDIR. */
int fathom_fs_walk(const struct fathom_node *dir, const char *name, size_t len,
		   struct fathom_node *out);
/* A path from the root, `/` at the front or not. */
int fathom_fs_lookup(const char *path, struct fathom_node *out);
/* Entry number `index` of a directory: 1, 0 behind the last one, -ENOTDIR, -ENOENT. */
int fathom_fs_list(const struct fathom_node *dir, uint32_t index, struct fathom_dirent *out);
/* 0 or -ENOENT if it was removed meanwhile. */
int fathom_fs_stat(const struct fathom_node *node, struct fathom_stat *out);

int fathom_fs_open(struct fathom_file *f, const struct fathom_node *node, uint32_t flags);
void fathom_fs_close(struct fathom_file *f);
/* Bytes, 0 at the end, -EAGAIN where Linux would wait, or another negative errno value. */
int fathom_fs_read(struct fathom_file *f, void *buf, size_t bytes);
int fathom_fs_pread(struct fathom_file *f, void *buf, size_t bytes, uint64_t offset);
/* Bytes taken, which may be fewer: one word per call in the files that take a list of words. */
int fathom_fs_write(struct fathom_file *f, const void *buf, size_t bytes);
int fathom_fs_poll(struct fathom_file *f);

/* Only in `instances` and `programs`: 0, -EEXIST, -EPERM (elsewhere), -ENOMEM, -EBUSY (in use). */
int fathom_fs_mkdir(const struct fathom_node *dir, const char *name, size_t len);
int fathom_fs_rmdir(const struct fathom_node *node);

#endif
