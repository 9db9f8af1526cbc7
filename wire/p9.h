/* SPDX-License-Identifier: MIT */
/* p9.h -- 9P2000, the protocol that carries the control tree over a byte pipe, and what Fathom puts into spare bits. */
#ifndef WIRE_P9_H
#define WIRE_P9_H

#include <stddef.h>
#include <stdint.h>

/*
 * A message is size[4] type[1] tag[2] and its fields, little endian; `size` counts itself. A string is n[2] and n bytes.
 *
 * TYPE          FIELDS                                         ANSWER
 * Tversion 100  msize[4] version[s]                            the same
 * Tattach  104  fid[4] afid[4] uname[s] aname[s]               qid[13]
 * Tflush   108  oldtag[2]
 * Twalk    110  fid[4] newfid[4] n[2] n * name[s]              n[2] n * qid[13]
 * Topen    112  fid[4] mode[1]                                 qid[13] iounit[4]
 * Tcreate  114  fid[4] name[s] perm[4] mode[1]                 qid[13] iounit[4]
 * Tread    116  fid[4] offset[8] count[4]                      count[4] data
 * Twrite   118  fid[4] offset[8] count[4] data                 count[4]
 * Tclunk   120, Tremove 122  fid[4]
 * Tstat    124  fid[4]                                         n[2] stat[n]
 * Twstat   126  fid[4] n[2] stat[n]
 * Rerror   107                                                 text[s]
 */
enum wire_p9_type {
	WIRE_P9_TVERSION = 100,
	WIRE_P9_TAUTH = 102,
	WIRE_P9_TATTACH = 104,
	WIRE_P9_RERROR = 107,
	WIRE_P9_TFLUSH = 108,
	WIRE_P9_TWALK = 110,
	WIRE_P9_TOPEN = 112,
	WIRE_P9_TCREATE = 114,
	WIRE_P9_TREAD = 116,
	WIRE_P9_TWRITE = 118,
	WIRE_P9_TCLUNK = 120,
	WIRE_P9_TREMOVE = 122,
	WIRE_P9_TSTAT = 124,
	WIRE_P9_TWSTAT = 126,
};

#define WIRE_P9_VERSION	   "9P2000"
#define WIRE_P9_HEAD	   7u
#define WIRE_P9_NOTAG	   0xffffu
#define WIRE_P9_NOFID	   0xffffffffu
#define WIRE_P9_WALK_MAX   16u
#define WIRE_P9_MSIZE_MIN  256u
#define WIRE_P9_READ_HEAD  11u /* Rread before its data */
#define WIRE_P9_WRITE_HEAD 23u /* Twrite before its data */

enum wire_p9_mode {
	WIRE_P9_OREAD = 0,
	WIRE_P9_OWRITE = 1,
	WIRE_P9_ORDWR = 2,
	WIRE_P9_OTRUNC = 0x10,
};

#define WIRE_P9_DIR	   0x80000000u /* in a stat's mode and in Tcreate's perm */
#define WIRE_P9_STREAM	   0x40000000u /* "append only": reads and writes have no offset */
#define WIRE_P9_QID_DIR	   0x80u
#define WIRE_P9_QID_STREAM 0x40u

/*
 * Offsets never reach these bits, so they carry what 9P2000 has no field for. A plain client never sets them, and a
 * plain server would answer such a read with nothing.
 *
 * Tread:  NOWAIT  -EAGAIN instead of waiting, as O_NONBLOCK does, but for this read alone.
 *         POLL    answered with no data as soon as a read would not wait; with NOWAIT at once.
 * Twrite: PID     the low 32 bits are the process that writes, for markers.
 */
#define WIRE_P9_NOWAIT ((uint64_t)1 << 63)
#define WIRE_P9_POLL   ((uint64_t)1 << 62)
#define WIRE_P9_PID    ((uint64_t)1 << 63)

static inline uint32_t wire_p9_get(const uint8_t *p, uint32_t bytes)
{
	uint32_t v = 0;

	for (uint32_t i = 0; i < bytes; i++)
		v |= (uint32_t)p[i] << 8 * i;
	return v;
}

static inline void wire_p9_put(uint8_t *p, uint64_t v, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* Rerror carries text: Linux's words for the error number, and back. Unknown text is EIO (5). */
const char *fathom_p9_error_text(int error);
int fathom_p9_error_number(const char *text, size_t len);

#endif
