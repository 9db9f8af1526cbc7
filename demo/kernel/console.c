/* SPDX-License-Identifier: MIT */
/* console.c -- kprintf: formatted text to the console, one line holder at a time. */
#include "kernel.h"
#include "lock.h"

static struct spinlock console_lock;

struct out {
	char *buf;
	size_t size, len;
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len++] = c;
}

struct spec {
	int width, zero, left, longs;
};

static void put_padded(struct out *o, const char *s, size_t n, const struct spec *sp)
{
	int pad = sp->width - (int)n;

	for (; !sp->left && pad > 0; pad--)
		put(o, sp->zero ? '0' : ' ');
	for (size_t i = 0; i < n; i++)
		put(o, s[i]);
	for (; pad > 0; pad--)
		put(o, ' ');
}

static void put_number(struct out *o, uint64_t v, unsigned base, int negative,
		       const struct spec *sp)
{
	char tmp[24];
	size_t n = sizeof(tmp);

	do {
		tmp[--n] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	if (negative)
		tmp[--n] = '-';
	put_padded(o, tmp + n, sizeof(tmp) - n, sp);
}

static const char *parse_spec(const char *f, struct spec *sp)
{
	*sp = (struct spec){0};
	for (; *f == '-' || *f == '0'; f++)
		*(*f == '-' ? &sp->left : &sp->zero) = 1;
	while (*f >= '0' && *f <= '9')
		sp->width = sp->width * 10 + *f++ - '0';
	for (; *f == 'l' || *f == 'z'; f++)
		sp->longs = 1;
	return f;
}

static void format(struct out *o, const char *f, va_list ap)
{
	struct spec sp;

	for (; *f; f++) {
		if (*f != '%') {
			put(o, *f);
			continue;
		}
		f = parse_spec(f + 1, &sp);
		int64_t d;
		const char *s;

		switch (*f) {
		case 'd':
			d = sp.longs ? va_arg(ap, int64_t) : va_arg(ap, int);
			put_number(o, d < 0 ? -(uint64_t)d : (uint64_t)d, 10, d < 0, &sp);
			break;
		case 'u':
		case 'x':
			put_number(o, sp.longs ? va_arg(ap, uint64_t) : va_arg(ap, unsigned),
				   *f == 'u' ? 10 : 16, 0, &sp);
			break;
		case 'p':
			sp.zero = 1;
			sp.width = 16;
			put_number(o, (uintptr_t)va_arg(ap, void *), 16, 0, &sp);
			break;
		case 's':
			s = va_arg(ap, const char *);
			put_padded(o, s ? s : "(null)", strlen(s ? s : "(null)"), &sp);
			break;
		case 'c': put(o, (char)va_arg(ap, int)); break;
		case '%': put(o, '%'); break;
		default: return;
		}
	}
}

void kvsnprintf(char *buf, size_t size, const char *fmt, va_list ap)
{
	struct out o = {buf, size, 0};

	format(&o, fmt, ap);
	buf[o.len] = 0;
}

void ksnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kvsnprintf(buf, size, fmt, ap);
	va_end(ap);
}

/* A line feed becomes CR LF, as terminals want it. */
void console_write(const char *s, size_t bytes)
{
	uint8_t out[64];
	size_t n = 0;
	uint64_t flags = lock(&console_lock);

	for (size_t i = 0; i < bytes; i++) {
		if (s[i] == '\n')
			out[n++] = '\r';
		out[n++] = (uint8_t)s[i];
		if (n >= sizeof(out) - 1 || i + 1 == bytes) {
			serial_write(0, out, n);
			n = 0;
		}
	}
	unlock(&console_lock, flags);
}

void console_sink(void *unused, const char *s, size_t bytes)
{
	(void)unused;
	console_write(s, bytes);
}

void console_unlock(void)
{
	console_lock.held = 0;
}

void kprintf(const char *fmt, ...)
{
	char buf[256];
	struct out o = {buf, sizeof(buf), 0};
	va_list ap;

	va_start(ap, fmt);
	format(&o, fmt, ap);
	va_end(ap);
	console_write(buf, o.len);
}
