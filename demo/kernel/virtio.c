/* SPDX-License-Identifier: MIT */
/* virtio.c -- the trace line of a machine that has a virtio console: whole buffers, where a UART takes bytes. */
#include "arch.h"
#include "kernel.h"
#include "machine.h"
#include "vm.h"

/*
 * The legacy interface of virtio 1.2: registers among PCI's I/O ports, queues of a size that the device chooses. A console
 * with several ports has two queues for messages about these and two for each of them. Port 0 is for a console that may lose what it
 * cannot send at once; the line is port 1, where the device waits.
 */
enum register_at {
	GUEST_FEATURES = 4,
	QUEUE_PAGE = 8,
	QUEUE_SIZE = 12,
	QUEUE_SELECT = 14,
	QUEUE_NOTIFY = 16,
	STATUS = 18,
	ISR = 19, /* reading it ends the interrupt */
};

#define ID_CONSOLE	  0x10031af4u
#define CONFIG_COMMAND	  4
#define CONFIG_PORTS	  0x10
#define CONFIG_IRQ	  0x3c
#define COMMAND_IO_DMA	  5
#define PORTS_OURS	  0x1000 /* where nothing else of a machine without a BIOS is */
#define FEATURE_MULTIPORT 2u
#define STATUS_FOUND	  3u
#define STATUS_READY	  7u

#define QUEUE_MAX  128 /* of a queue */
#define DEVICE_PUT 2   /* the device writes into this buffer */
#define QUIET	   1   /* no interrupt when a buffer was used */

/* In two pages: the buffers, right after them those that the device may use, and on the second page those that it has used. */
struct queue {
	uint8_t memory[2 * PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));
	uint32_t size;
	struct buffer {
		uint64_t at;
		uint32_t bytes;
		uint16_t flags, next;
	} * buffer;
	struct given {
		uint16_t flags, count, which[QUEUE_MAX];
	} * given;
	struct used {
		uint16_t flags, count;
		struct {
			uint32_t buffer, bytes;
		} which[QUEUE_MAX];
	} * used;
};

enum queue_number {
	CONTROL_IN = 2,
	CONTROL_OUT = 3,
	LINE_IN = 4,
	LINE_OUT = 5,
};

static struct queue control_in, control_out, line_in, line_out;

enum message_event {
	DEVICE_READY = 0,
	PORT_READY = 3,
	PORT_OPEN = 6,
};

struct message {
	uint32_t port;
	uint16_t event, value;
};

#define IN_BUFFERS 16
static struct message message_in[IN_BUFFERS], message_out;
static uint16_t messages_seen;
static uint8_t in[IN_BUFFERS][256], out[4096];
static uint16_t in_seen; /* buffers that were read to their end */
static uint32_t in_at;	 /* in the one after them */
static uint32_t irq;
static uint32_t ports; /* where the registers are; 0: there is no such device */

static uint32_t find_slot(void)
{
	for (uint32_t slot = 1; slot < 32; slot++)
		if (pci_config(slot, 0) == ID_CONSOLE)
			return slot;
	return 0;
}

static int add_queue(enum queue_number n, struct queue *q)
{
	port_out(ports + QUEUE_SELECT, 2, n);
	q->size = port_in(ports + QUEUE_SIZE, 2);
	if (q->size < IN_BUFFERS || q->size > QUEUE_MAX)
		return 0;
	q->buffer = (struct buffer *)q->memory;
	q->given = (struct given *)(q->buffer + q->size);
	q->used = (struct used *)(q->memory + PAGE_SIZE);
	port_out(ports + QUEUE_PAGE, 4, (uint32_t)(virt_to_phys(q->memory) / PAGE_SIZE));
	return 1;
}

static void give(enum queue_number n, struct queue *q, uint16_t buffer)
{
	uint16_t count = q->given->count;

	q->given->which[count % q->size] = buffer;
	__atomic_store_n(&q->given->count, (uint16_t)(count + 1), __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	port_out(ports + QUEUE_NOTIFY, 2, n);
}

/* Has whoever listened to the line left since this was asked last? */
static int listener_left(void)
{
	int left = 0;

	while (__atomic_load_n(&control_in.used->count, __ATOMIC_ACQUIRE) != messages_seen) {
		uint32_t i = control_in.used->which[messages_seen++ % control_in.size].buffer;

		left |= message_in[i].port == 1 && message_in[i].event == PORT_OPEN &&
			!message_in[i].value;
		give(CONTROL_IN, &control_in, (uint16_t)i);
	}
	return left;
}

/* Waits until the device has taken it. QEMU never returns a buffer that it had begun to send to somebody who then left. */
static void send(enum queue_number n, struct queue *q, const void *data, uint32_t bytes)
{
	uint16_t used = q->used->count;

	q->given->flags = QUIET;
	q->buffer[0].at = virt_to_phys(data);
	q->buffer[0].bytes = bytes;
	listener_left();
	give(n, q, 0);
	while (__atomic_load_n(&q->used->count, __ATOMIC_ACQUIRE) == used && !listener_left())
		cpu_pause();
}

static void tell(uint32_t port, enum message_event event)
{
	message_out = (struct message){.port = port, .event = event, .value = 1};
	send(CONTROL_OUT, &control_out, &message_out, sizeof(message_out));
}

/* Buffers for what the device sends. */
static void give_all(enum queue_number n, struct queue *q, void *buffers, uint32_t bytes)
{
	for (uint16_t i = 0; i < IN_BUFFERS; i++) {
		q->buffer[i].at = virt_to_phys(buffers) + i * bytes;
		q->buffer[i].bytes = bytes;
		q->buffer[i].flags = DEVICE_PUT;
		give(n, q, i);
	}
}

void virtio_init(void)
{
	uint32_t slot = find_slot();

	if (!slot)
		return;
	if (!(pci_config(slot, CONFIG_PORTS) & ~3u))
		pci_set_config(slot, CONFIG_PORTS, PORTS_OURS);
	pci_set_config(slot, CONFIG_COMMAND, COMMAND_IO_DMA);
	ports = pci_config(slot, CONFIG_PORTS) & ~3u;
	port_out(ports + STATUS, 1, 0);
	port_out(ports + STATUS, 1, STATUS_FOUND);
	port_out(ports + GUEST_FEATURES, 4, FEATURE_MULTIPORT);
	if (!add_queue(CONTROL_IN, &control_in) || !add_queue(CONTROL_OUT, &control_out) ||
	    !add_queue(LINE_IN, &line_in) || !add_queue(LINE_OUT, &line_out))
		panic("the virtio console has no port 1, or its queues are too long");
	port_out(ports + STATUS, 1, STATUS_READY);
	control_in.given->flags = QUIET;
	give_all(CONTROL_IN, &control_in, message_in, sizeof(message_in[0]));
	give_all(LINE_IN, &line_in, in, sizeof(in[0]));
	tell(0, DEVICE_READY);
	tell(1, PORT_READY);
	tell(1, PORT_OPEN);
	irq = pci_config(slot, CONFIG_IRQ) & 0xff;
}

uint32_t virtio_irq(void)
{
	return irq;
}

int virtio_is_line(void)
{
	return ports != 0;
}

void virtio_put(const void *data, size_t bytes)
{
	while (bytes) {
		uint32_t n = (uint32_t)(bytes < sizeof(out) ? bytes : sizeof(out));

		memcpy(out, data, n);
		send(LINE_OUT, &line_out, out, n);
		data = (const uint8_t *)data + n;
		bytes -= n;
	}
}

void virtio_ack(void)
{
	port_in(ports + ISR, 1);
}

int virtio_get(void)
{
	uint32_t buffer, bytes;
	uint8_t byte;

	if (__atomic_load_n(&line_in.used->count, __ATOMIC_ACQUIRE) == in_seen)
		return -1;
	buffer = line_in.used->which[in_seen % line_in.size].buffer;
	bytes = line_in.used->which[in_seen % line_in.size].bytes;
	byte = in[buffer][in_at++];
	if (in_at == bytes) {
		in_at = 0;
		in_seen++;
		give(LINE_IN, &line_in, (uint16_t)buffer);
	}
	return byte;
}
