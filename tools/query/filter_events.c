/* SPDX-License-Identifier: MIT */
/* filter_events.c -- which events a filter is about: "sched/sched_switch, irq.*" by globs or regular expressions. */
#include "query/filter_int.h"
#include "wire/glob.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#define NAME_CHARS \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/,*?-.[]^$+|()\\ \t"

size_t filter_events_prefix(const char *s)
{
	size_t n = strspn(s, NAME_CHARS);

	return n && s[n] == ':' ? n : 0;
}

/* One name of the list at *list, without the blanks around it; *list moves past it. False at the end. */
static bool next_name(const char **list, const char **name, uint32_t *len)
{
	const char *s = *list + strspn(*list, " \t,");
	size_t n = strcspn(s, ",");

	if (!*s)
		return false;
	*list = s + n;
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	*name = s;
	*len = (uint32_t)n;
	return true;
}

/* A glob holds none of these; what does is a regular expression, as trace-cmd's filters have them. */
static bool is_regex(const char *s, uint32_t len)
{
	return strcspn(s, ".^$+|()\\") < len;
}

static bool compile_regex(const char *s, uint32_t len, regex_t *re)
{
	char text[260];

	return len < 256 && snprintf(text, sizeof(text), "^(%.*s)$", (int)len, s) > 0 &&
	       filter_regex_is_modest(text) && !regcomp(re, text, REG_EXTENDED | REG_NOSUB);
}

static bool matches(const char *pattern, uint32_t len, const char *name)
{
	regex_t re;
	bool yes;

	if (!is_regex(pattern, len))
		return fathom_glob(pattern, len, name, strlen(name));
	if (!compile_regex(pattern, len, &re))
		return false;
	yes = !regexec(&re, name, 0, NULL, 0);
	regfree(&re);
	return yes;
}

bool filter_events_valid(const char *list)
{
	const char *name;
	uint32_t len;

	while (next_name(&list, &name, &len)) {
		regex_t re;

		if (strcspn(name, " \t") < len)
			return false;
		if (!is_regex(name, len))
			continue;
		if (!compile_regex(name, len, &re))
			return false;
		regfree(&re);
	}
	return true;
}

bool filter_events_list(const char *text)
{
	size_t n = strspn(text, NAME_CHARS);

	return n && !text[n] && strspn(text, " \t") < n && filter_events_valid(text);
}

bool filter_events_has(const char *list, const struct format *f)
{
	const char *name, *slash;
	uint32_t len;

	if (!f)
		return false;
	while (next_name(&list, &name, &len)) {
		slash = memchr(name, '/', len);
		if (slash ? matches(name, (uint32_t)(slash - name), f->system) &&
				    matches(slash + 1, (uint32_t)(name + len - slash - 1), f->name)
			  : matches(name, len, f->name) || matches(name, len, f->system))
			return true;
	}
	return false;
}
