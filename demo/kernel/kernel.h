/* SPDX-License-Identifier: MIT */
/* kernel.h -- the small services everyone uses: console, panic, clock, strings, devices. */
#ifndef DEMO_KERNEL_H
#define DEMO_KERNEL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct trapframe;

/* The errno values that programs and traces see, as Linux numbers them. */
enum {
	ENOENT = 2,
	ESRCH = 3,
	EAGAIN = 11,
	ENOMEM = 12,
	EFAULT = 14,
	EBUSY = 16,
	EINVAL = 22,
	EPIPE = 32,
	ENOSYS = 38,
	ECHILD = 10,
	EBADF = 9,
};

/* console.c: %s %c %d %u %x %p %ld %lu %lx with width, zero-fill and '-'. */
void kprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ksnprintf(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void kvsnprintf(char *buf, size_t size, const char *fmt, va_list ap);
void console_write(const char *s, size_t bytes);
void console_sink(void *unused, const char *s, size_t bytes); /* for the tracer */
void console_unlock(void); /* panic: whoever holds the console will not come back */

/* panic.c */
void panic_text(const char *text) __attribute__((noreturn));
void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void panic_frame(const struct trapframe *f, const char *what) __attribute__((noreturn));
void backtrace(uintptr_t fp);

/* clock.c: nanoseconds since boot, the same on every CPU. */
void clock_init(void);
uint64_t clock_ns(void);
void delay_us(uint32_t us);
extern uint64_t clock_hz; /* of clock_counter() */

/* virtio.c: the trace line, if the machine has a virtio console. */
void virtio_init(void);
int virtio_is_line(void);
uint32_t virtio_irq(void);			 /* as a BIOS has set it */
void virtio_put(const void *data, size_t bytes); /* waits until they are taken */
void virtio_ack(void);				 /* its interrupt has come */
int virtio_get(void);				 /* the next byte that has come, or -1 */

/* serial.c: port 0 is the console, port 1 the trace line. */
void serial_write(int port, const void *data, size_t bytes);
int serial_get(int port); /* the next byte; waits in the scheduler's way */
#define FOREVER (~0ull)
size_t serial_read(int port, uint8_t *buf, size_t size, uint64_t wait_ns);
void serial_interrupt(int port);

/* ksyms.c: the kernel's own symbol table. */
const char *ksym_name(uintptr_t at, uintptr_t *offset, uintptr_t *size);
uintptr_t ksym_lookup(const char *name);
void ksym_name_parts(void); /* for the tracer */

/* shell.c */
void shell_start(const char *script); /* run the script, then read the console */
const char *boot_option(const char *name, char *buf,
			size_t bytes); /* NAME=VALUE of the command line, or NULL */

/* kept.c: memory that a warm reset leaves as it is. */
struct kept {
	uint8_t *memory;
	size_t bytes;
};
extern struct kept kept;
void kept_init(
	void); /* boot only, before any other memory is taken: so it lies at the same place again */

/* cause.c: what an interrupt of a storm takes, while one is made. */
void cause_interrupt(void);

/* string.c */
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *at, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
void copy_name(char *to, const char *from, size_t size); /* cut to fit, always ended */
uint64_t parse_u64(const char *s);

#endif
