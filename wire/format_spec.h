/* SPDX-License-Identifier: MIT */
/* format_spec.h -- one conversion of a print format, parsed. */
#ifndef WIRE_FORMAT_SPEC_H
#define WIRE_FORMAT_SPEC_H

#include <stdint.h>

enum spec_kind {
	SPEC_NONE,    /* unknown: shown as it stands */
	SPEC_PERCENT, /* %% */
	SPEC_CHAR,
	SPEC_STRING,
	SPEC_SIGNED,
	SPEC_UNSIGNED,
	SPEC_HEX,
	SPEC_OCTAL,
	SPEC_POINTER,
};

struct fathom_spec {
	uint8_t kind;  /* enum spec_kind */
	uint8_t bytes; /* of an integer argument: 1, 2, 4, 8 */
	uint8_t left, alt, zero, upper;
	char sign;			  /* of numbers that are not negative: '+', ' ' or 0 */
	uint8_t width_arg, precision_arg; /* `*`: the value is the next int argument */
	int width;			  /* 0: none */
	int precision;			  /* -1: none */
	char ext;			  /* %pX: the letter X, 0 if none */
	char ext2;			  /* and the one after it: %phN */
};

/* Parse the conversion at fmt (after the '%'); where the text goes on. */
const char *fathom_spec_parse(const char *fmt, struct fathom_spec *s);

#endif
