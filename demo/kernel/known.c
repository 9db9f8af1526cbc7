/* SPDX-License-Identifier: MIT */
/* known.c -- functions that are called with known arguments and return known values: what a trace must show of them. */
#include <stdbool.h>
#include <stddef.h>
#include "known.h"

/* No call is inlined, cloned or turned round by what the compiler knows of its arguments. */
#ifdef __clang__
#define KNOWN __attribute__((noinline))
#else
#define KNOWN __attribute__((noipa))
#endif

enum colour {
	RED = 1,
	GREEN = 5,
	BLUE = -2,
};

struct pair {
	long a, b;
};

struct thing {
	int number;
	const char *name;
};

static volatile long sink;

static KNOWN int known_small(signed char a, unsigned char b, short c, unsigned short d)
{
	sink = a + b + c + d;
	return a - 1;
}

static KNOWN long known_wide(int a, unsigned b, long c, unsigned long d, long long e)
{
	sink = a + (long)b + c + (long)d + (long)e;
	return c * 2;
}

static KNOWN const char *known_text(const char *name, char letter)
{
	sink = *name + letter;
	return name + 1;
}

static KNOWN unsigned char known_thing(struct thing *t, void *nothing)
{
	sink = t->number + (nothing != NULL);
	return (unsigned char)t->number;
}

static KNOWN enum colour known_colour(enum colour c, bool bright)
{
	sink = c + bright;
	return bright ? GREEN : BLUE;
}

static KNOWN bool known_not(bool a)
{
	sink = a;
	return !a;
}

static KNOWN void known_nothing(int a)
{
	sink = a;
}

static KNOWN int known_error(unsigned number)
{
	sink = (long)number;
	return -(int)number;
}

static KNOWN long known_many(int a, int b, int c, int d, int e, int f, int g, int h, long i, long j)
{
	sink = a + b + c + d + e + f + g + h + i + j;
	return sink;
}

static KNOWN long known_pair(struct pair p, short after)
{
	sink = p.a + p.b + after;
	return p.a - p.b;
}

/* One that calls another: not a leaf. */
static KNOWN short known_outer(short a)
{
	return (short)(known_error((unsigned)a) * 2);
}

void known_calls(void)
{
	static struct thing thing = {207, "thing"};

	known_small(-100, 200, -30000, 60000);
	known_wide(-2000000000, 4000000000u, -9000000000, 0xfedcba9876543210ul, -1);
	known_text("some text", 'x');
	known_thing(&thing, NULL);
	known_colour(RED, true);
	known_colour(BLUE, false);
	known_not(true);
	known_nothing(-7);
	known_error(22);
	known_many(1, -2, 3, -4, 5, -6, 7, -8, 9, -10);
	known_pair((struct pair){-5, 6}, -9);
	known_outer(11);
}
