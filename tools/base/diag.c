/* SPDX-License-Identifier: MIT */
/* diag.c -- messages to a person: what file, where in it, what was expected. */
#include "base/diag.h"
#include "base/terminal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIAG_AT_MAX 20

static pthread_mutex_t diag_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long diag_at_count;

/* Messages quote names of files and pieces of the trace: they are escaped wherever they go. */
static void put_safe(const char *text)
{
	size_t n = strlen(text);
	char *safe = malloc(n * TERMINAL_GROWTH + 1);

	if (safe)
		fwrite(safe, 1, terminal_escape(safe, text, n), stderr);
	free(safe);
}

volatile sig_atomic_t diag_is_speaking;

static char *kept; /* where messages go instead; NULL: to stderr */
static size_t kept_bytes;

void diag_keep(char *last, size_t bytes)
{
	pthread_mutex_lock(&diag_lock);
	kept = last;
	kept_bytes = bytes;
	pthread_mutex_unlock(&diag_lock);
}

static void vsay(const char *kind, const char *where, const char *fmt, va_list ap)
{
	char *text = NULL;

	if (kept) {
		vsnprintf(kept, kept_bytes, fmt, ap);
		return;
	}
	fflush(stdout);
	diag_is_speaking = 1;
	fputs("fathom: ", stderr);
	put_safe(where);
	fputs(kind, stderr);
	if (vasprintf(&text, fmt, ap) >= 0) {
		put_safe(text);
		free(text);
	} else {
		fputs(fmt, stderr); /* no memory: at least what it is about */
	}
	fputc('\n', stderr);
	diag_is_speaking = 0;
}

void diag_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pthread_mutex_lock(&diag_lock);
	vsay("", "", fmt, ap);
	pthread_mutex_unlock(&diag_lock);
	va_end(ap);
}

void diag_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pthread_mutex_lock(&diag_lock);
	vsay("warning: ", "", fmt, ap);
	pthread_mutex_unlock(&diag_lock);
	va_end(ap);
}

void diag_at(const char *file, uint64_t offset, const char *fmt, ...)
{
	char where[512];
	va_list ap;

	va_start(ap, fmt);
	pthread_mutex_lock(&diag_lock);
	if (diag_at_count++ < DIAG_AT_MAX) {
		snprintf(where, sizeof(where), "%s: offset 0x%" PRIx64 ": ", file, offset);
		vsay("", where, fmt, ap);
	}
	pthread_mutex_unlock(&diag_lock);
	va_end(ap);
}

void diag_flush(void)
{
	pthread_mutex_lock(&diag_lock);
	if (diag_at_count > DIAG_AT_MAX)
		fprintf(stderr, "fathom: %lu more places\n", diag_at_count - DIAG_AT_MAX);
	diag_at_count = 0;
	pthread_mutex_unlock(&diag_lock);
}

const char *thousands(uint64_t v)
{
	static char ring[8][32];
	static unsigned next;
	char digits[24], *out = ring[next++ % 8], *p = out;
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = 0;
	return out;
}
