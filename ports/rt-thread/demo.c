/* SPDX-License-Identifier: MIT */
/* demo.c -- `work N` in RT-Thread's shell: threads that hand each other a semaphore and messages, and allocate. It prints what it did. */
#include <rtthread.h>
#include <stdlib.h>

static struct rt_semaphore ping, pong, done;
static rt_mailbox_t box;
static rt_mutex_t shared;
static volatile unsigned counter;

static void hand(struct rt_semaphore *take, struct rt_semaphore *give, unsigned n)
{
	while (n--) {
		if (give)
			rt_sem_release(give);
		rt_sem_take(take, RT_WAITING_FOREVER);
	}
}

static void pinger(void *n)
{
	hand(&pong, &ping, (unsigned)(rt_ubase_t)n);
	rt_sem_release(&done);
}

static void ponger(void *n)
{
	for (unsigned i = 0; i < (unsigned)(rt_ubase_t)n; i++) {
		rt_sem_take(&ping, RT_WAITING_FOREVER);
		rt_sem_release(&pong);
	}
	rt_sem_release(&done);
}

static void sender(void *n)
{
	for (rt_ubase_t i = 0; i < (rt_ubase_t)n; i++)
		rt_mb_send_wait(box, i, RT_WAITING_FOREVER);
	rt_sem_release(&done);
}

static void receiver(void *n)
{
	for (rt_ubase_t i = 0; i < (rt_ubase_t)n; i++) {
		rt_ubase_t value;
		void *block = rt_malloc(32 + i % 100);

		rt_mb_recv(box, &value, RT_WAITING_FOREVER);
		rt_mutex_take(shared, RT_WAITING_FOREVER);
		counter++;
		rt_mutex_release(shared);
		rt_free(block);
	}
	rt_sem_release(&done);
}

static int work(int argc, char **argv)
{
	static void (*const run[])(void *) = {pinger, ponger, sender, receiver};
	static const char *const name[] = {"pinger", "ponger", "sender", "receiver"};
	const unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 100;

	rt_sem_init(&ping, "ping", 0, RT_IPC_FLAG_FIFO);
	rt_sem_init(&pong, "pong", 0, RT_IPC_FLAG_FIFO);
	rt_sem_init(&done, "done", 0, RT_IPC_FLAG_FIFO);
	box = rt_mb_create("box", 8, RT_IPC_FLAG_FIFO);
	shared = rt_mutex_create("shared", RT_IPC_FLAG_PRIO);
	counter = 0;
	for (int i = 0; i < 4; i++)
		rt_thread_startup(
			rt_thread_create(name[i], run[i], (void *)(rt_ubase_t)n, 8192, 18, 5));
	for (int i = 0; i < 4; i++)
		rt_sem_take(&done, RT_WAITING_FOREVER);
	rt_mb_delete(box);
	rt_mutex_delete(shared);
	rt_sem_detach(&ping);
	rt_sem_detach(&pong);
	rt_sem_detach(&done);
	rt_kprintf("worked rounds=%u counter=%u .\n", n, counter);
	return 0;
}
MSH_CMD_EXPORT(work, threads that talk to each other);
