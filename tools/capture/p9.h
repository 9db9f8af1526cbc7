/* SPDX-License-Identifier: MIT */
/* p9.h -- a target's control tree over 9P: any number of threads, one pipe, reads that wait and can be given up. */
#ifndef CAPTURE_P9_H
#define CAPTURE_P9_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct p9;

/*
 * TARGET: a pid (a process with the user port), unix:PATH or the path of a socket, tcp:HOST:PORT, udp:HOST:PORT, or a serial device
 * (/dev/..., 115200 unless `:BAUD` follows). NULL with a message if it cannot be reached or does not speak 9P.
 */
struct p9 *p9_connect(const char *target);
bool p9_is_process(const char *target);		/* a pid */
struct p9 *p9_attach(int fd, const char *name); /* over a pipe that is open already; takes it */
/* The same over a line that may lose bytes: in frames, if the target has them (line.h). */
struct p9 *p9_attach_line(int fd, const char *name);
bool p9_is_framed(const struct p9 *c);
void p9_close(struct p9 *c);
/* The pipe broke, or the target no longer answers: every call fails with -EIO. */
bool p9_is_dead(struct p9 *c);
/* Calls that still have to see their answer, or that there will be none. */
uint32_t p9_waiting(struct p9 *c);
/* Asked in the calling thread while a call waits: true (a signal, FUSE's interrupt) ends it with -EINTR. */
void p9_stop_when(struct p9 *c, bool (*told_to_stop)(void));
/* A target that is silent for so long though it was asked is gone; one that is asked to forget a call may take `flush_ms`. */
void p9_patience(struct p9 *c, int64_t silent_ms, int64_t flush_ms);
/* Only one program on this machine has it at a time, until p9_close(): 0 or -EBUSY. */
int p9_claim(struct p9 *c);

struct p9_stat {
	uint32_t mode; /* Linux's, with the type */
	uint64_t id;
	bool is_dir;
	bool is_stream; /* has no offset */
};

/* Calls return 0 or a count, or a negative errno value. Paths have no `/` at the front; "" is the root. */
int p9_stat(struct p9 *c, const char *path, struct p9_stat *st);
/* flags: O_RDONLY, O_WRONLY, O_RDWR with O_TRUNC. */
int p9_open(struct p9 *c, const char *path, int flags, uint32_t *fid, struct p9_stat *st);
int p9_clunk(struct p9 *c, uint32_t fid);
/* The same without waiting: what is asked after it finds it done. */
void p9_let_go(struct p9 *c, uint32_t fid);
int p9_mkdir(struct p9 *c, const char *path);
int p9_rmdir(struct p9 *c, const char *path);
int p9_list(struct p9 *c, const char *path,
	    int (*each)(void *arg, const char *name, const struct p9_stat *st), void *arg);

ssize_t p9_read(struct p9 *c, uint32_t fid, void *buf, size_t bytes, uint64_t offset, bool nowait);
/* pid: who writes, for markers; 0: unknown. */
ssize_t p9_write(struct p9 *c, uint32_t fid, const void *buf, size_t bytes, pid_t pid);
/* 1: a read would not wait, 0: it would. */
int p9_readable(struct p9 *c, uint32_t fid);
/* Call `ready` (once, from the receiving thread) when it no longer would. It is also called if the fid goes away. */
int p9_notify(struct p9 *c, uint32_t fid, void (*ready)(void *arg), void *arg);

/* Write all of it, as a shell's `echo` would. */
int p9_store(struct p9 *c, const char *path, int flags, const void *data, size_t bytes);

#endif
