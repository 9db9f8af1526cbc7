/* SPDX-License-Identifier: MIT */
/* options.c -- parses FATHOM_TRACE. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "port.h"

/* `list` has the size of user_options.events, .filter and .options. */
static int add_pattern(char list[1024], const char *key, const char *value, char why[USER_WHY])
{
	size_t used = 0, n = strlen(value);

	while (list[used])
		used += strlen(list + used) + 1;
	if (!n || used + n + 2 > 1024) {
		snprintf(why, USER_WHY, "%s: %s", key, n ? "too many patterns" : "no pattern");
		return -EINVAL;
	}
	memcpy(list + used, value, n + 1);
	list[used + n + 1] = 0;
	return 0;
}

static int set_tracer(struct user_options *o, const char *value, char why[USER_WHY])
{
	if (snprintf(o->tracer, sizeof(o->tracer), "%s", value) < (int)sizeof(o->tracer))
		return 0;
	snprintf(why, USER_WHY, "tracer=%.40s: no such tracer", value);
	return -EINVAL;
}

static int set_number(uint32_t *to, const char *key, const char *value, uint32_t least,
		      uint32_t most, char why[USER_WHY])
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(value, &end, 10);
	if (errno || end == value || *end || *value == '-' || v < least || v > most) {
		snprintf(why, USER_WHY, "%s=%.40s: a number from %u to %u is needed", key, value,
			 least, most);
		return -EINVAL;
	}
	*to = (uint32_t)v;
	return 0;
}

/* `%p` becomes the process id: processes of one run must not write the same file. */
static int set_path(char to[256], const char *key, const char *value, char why[USER_WHY])
{
	const char *p = strstr(value, "%p");
	int n = p ? snprintf(to, 256, "%.*s%d%s", (int)(p - value), value, getpid(), p + 2)
		  : snprintf(to, 256, "%s", value);

	if (n < 0 || n >= 256) {
		snprintf(why, USER_WHY, "%s: the path is longer than 255 bytes", key);
		return -EINVAL;
	}
	return 0;
}

static int set_mode(struct user_options *o, const char *value, char why[USER_WHY])
{
	if (!strcmp(value, "overwrite") || !strcmp(value, "discard")) {
		o->discard = *value == 'd';
		return 0;
	}
	snprintf(why, USER_WHY, "mode=%.40s: overwrite or discard is needed", value);
	return -EINVAL;
}

static int set_option(struct user_options *o, const char *key, const char *value,
		      char why[USER_WHY])
{
	uint32_t flag = 0;
	int err;

	if (!strcmp(key, "events"))
		return add_pattern(o->events, key, value, why);
	if (!strcmp(key, "filter"))
		return add_pattern(o->filter, key, value, why);
	if (!strcmp(key, "option"))
		return add_pattern(o->options, key, value, why);
	if (!strcmp(key, "tracer"))
		return set_tracer(o, value, why);
	if (!strcmp(key, "out"))
		return set_path(o->out, key, value, why);
	if (!strcmp(key, "rings"))
		return set_path(o->rings, key, value, why);
	if (!strcmp(key, "mode"))
		return set_mode(o, value, why);
	if (!strcmp(key, "buffer_kb"))
		return set_number(&o->buffer_kb, key, value, 12, 1u << 18, why);
	if (!strcmp(key, "cpus"))
		return set_number(&o->cpus, key, value, 1, 64, why);
	if (!strcmp(key, "functions"))
		return set_number(&o->functions, key, value, 0, 1u << 20, why);
	if (!strcmp(key, "library_events"))
		return set_number(&o->library_events, key, value, 0, 1u << 15, why);
	if (!strcmp(key, "record"))
		return set_number(&o->only_pid, key, value, 1, INT32_MAX, why);
	if (!strcmp(key, "sample"))
		return set_number(&o->sample_us, key, value, 100, 10000000, why);
	if (strcmp(key, "dump") && strcmp(key, "off") && strcmp(key, "serve") &&
	    strcmp(key, "quiet")) {
		snprintf(why, USER_WHY,
			 "%.20s: events, tracer, filter, option, sample, record, out, rings, "
			 "buffer_kb, cpus, functions, library_events, mode, dump, off, quiet, "
			 "serve are known",
			 key);
		return -EINVAL;
	}
	err = set_number(&flag, key, value, 0, 1, why);
	*(*key == 'd'	? &o->dump
	  : *key == 'o' ? &o->off
	  : *key == 'q' ? &o->quiet
			: &o->serve) = (uint8_t)flag;
	return err;
}

int user_options_parse(const char *text, struct user_options *o, char why[USER_WHY])
{
	char copy[2048], *rest = copy, *word;

	memset(o, 0, sizeof(*o));
	strcpy(o->out, "trace.dat");
	o->buffer_kb = 1024;
	o->cpus = 32;
	o->functions = 8192;
	o->library_events = 1024;
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy)) {
		snprintf(why, USER_WHY, "longer than %zu bytes", sizeof(copy) - 1);
		return -EINVAL;
	}
	while ((word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');
		int err;

		if (!*word || !strcmp(word, "1"))
			continue;
		if (value)
			*value++ = 0;
		err = set_option(o, word, value ? value : "1", why);
		if (err)
			return err;
	}
	if (o->only_pid && !o->sample_us)
		o->sample_us = USER_SAMPLE_US;
	return o->events[0] || o->tracer[0] || (o->sample_us && !o->only_pid)
		       ? 0
		       : add_pattern(o->events, "events", "*", why);
}
