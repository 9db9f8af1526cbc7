/* SPDX-License-Identifier: MIT */
/* serial.c -- two ports, the console and the trace line: UARTs, or a virtio console. Output polls; input comes by interrupt into a queue. */
#include "kernel.h"
#include "lock.h"
#include "machine.h"
#include "task.h"

#define QUEUE 4096 /* bytes of input that may wait; a power of two */

struct port {
	struct spinlock lock;
	uint8_t queue[QUEUE];
	uint32_t head, tail; /* written at head, read at tail */
	uint64_t dropped;    /* bytes that found the queue full */
	struct task *reader; /* who sleeps until there is input */
};

static struct port ports[2];

void serial_write(int port, const void *data, size_t bytes)
{
	if (port && virtio_is_line())
		virtio_put(data, bytes);
	else
		uart_put(port, data, bytes);
}

void serial_interrupt(int port)
{
	struct port *p = &ports[port];
	uint64_t flags = lock(&p->lock);
	int virtio = port && virtio_is_line(), byte;

	if (virtio)
		virtio_ack();
	while ((byte = virtio ? virtio_get() : uart_get(port)) >= 0) {
		if (p->head - p->tail < QUEUE)
			p->queue[p->head++ % QUEUE] = (uint8_t)byte;
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
