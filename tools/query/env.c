/* SPDX-License-Identifier: MIT */
/* env.c -- what expressions may ask about a trace: names of addresses and tasks, printk formats. */
#include "query/expr.h"
#include "decode/source.h"

static const char *env_symbol(void *arg, uint64_t addr, uint64_t *offset, uint64_t *size)
{
	struct symbol sym;

	if (!source_symbol(arg, addr, &sym))
		return NULL;
	*offset = sym.offset;
	*size = sym.size;
	return sym.name;
}

static const char *env_comm(void *arg, int32_t pid)
{
	return source_comm(arg, pid);
}

static const char *env_printk(void *arg, uint64_t addr)
{
	return source_printk(arg, addr);
}

void expr_env_of(struct expr_env *env, struct source *s)
{
	*env = (struct expr_env){.symbol = env_symbol,
				 .comm = env_comm,
				 .printk = env_printk,
				 .arg = s,
				 .swap = s->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__),
				 .long_bytes = (uint8_t)s->long_bytes,
				 .kernel = source_kernel(s)};
}
