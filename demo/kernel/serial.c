/* SPDX-License-Identifier: MIT */
/* serial.c -- two 16550 ports: the console and the trace line. Output polls; input comes by interrupt into a queue. */
#include "kernel.h"
#include "lock.h"
#include "task.h"

#define QUEUE 4096 /* bytes of input that may wait; a power of two */

struct port {
	uint16_t io;
	struct spinlock lock;
	uint8_t queue[QUEUE];
	uint32_t head, tail; /* written at head, read at tail */
	uint64_t dropped;    /* bytes that found the queue full */
	struct task *reader; /* who sleeps until there is input */
};

static struct port ports[2] = {{.io = 0x3f8}, {.io = 0x2f8}};

void serial_init(void)
{
	for (int i = 0; i < 2; i++) {
		uint16_t io = ports[i].io;

		outb(io + 3, 0x80); /* divisor latch: 115200 baud */
		outb(io + 0, 1);
		outb(io + 1, 0);
		outb(io + 3, 0x03); /* 8n1 */
		outb(io + 2, 0xc7); /* FIFO on */
		outb(io + 4, 0x0b); /* DTR, RTS, interrupts reach the line */
		outb(io + 1, 0x01); /* interrupt on input */
	}
}

void serial_put(int port, uint8_t byte)
{
	uint16_t io = ports[port].io;

	while (!(inb(io + 5) & 0x20))
		;
	outb(io, byte);
}

/* When the transmitter is empty its FIFO takes 16 bytes without asking in between. */
void serial_write(int port, const void *data, size_t bytes)
{
	uint16_t io = ports[port].io;
	const uint8_t *p = data;

	while (bytes) {
		size_t n = bytes < 16 ? bytes : 16;

		while (!(inb(io + 5) & 0x20))
			cpu_pause();
		for (size_t i = 0; i < n; i++)
			outb(io, p[i]);
		p += n;
		bytes -= n;
	}
}

void serial_interrupt(int port)
{
	struct port *p = &ports[port];
	uint64_t flags = lock(&p->lock);

	while (inb(p->io + 5) & 1) {
		uint8_t byte = inb(p->io);

		if (p->head - p->tail < QUEUE)
			p->queue[p->head++ % QUEUE] = byte;
		else
			p->dropped++;
	}
	struct task *reader = p->reader;

	p->reader = NULL;
	unlock(&p->lock, flags);
	if (reader)
		wakeup(reader);
}

/* What is there, at most `size` bytes; if nothing is, wait for it, but not longer than `wait_ns` (FOREVER: as long as it takes). */
size_t serial_read(int port, uint8_t *buf, size_t size, uint64_t wait_ns)
{
	struct port *p = &ports[port];
	uint64_t end = wait_ns == FOREVER ? FOREVER : clock_ns() + wait_ns;
	size_t n = 0;

	for (;;) {
		uint64_t flags = lock(&p->lock);

		while (n < size && p->head != p->tail)
			buf[n++] = p->queue[p->tail++ % QUEUE];
		int done = n || clock_ns() >= end;

		p->reader = done ? NULL : current_task();
		if (!done)
			sleep_prepare(end); /* under the lock: what comes from here on wakes us */
		unlock(&p->lock, flags);
		if (done)
			return n;
		schedule();
	}
}

int serial_get(int port)
{
	struct port *p = &ports[port];

	for (;;) {
		uint64_t flags = lock(&p->lock);

		if (p->head != p->tail) {
			int byte = p->queue[p->tail++ % QUEUE];

			unlock(&p->lock, flags);
			return byte;
		}
		p->reader = current_task();
		current_task()->state = TASK_BLOCKED;
		unlock(&p->lock, flags);
		schedule();
	}
}
