/* SPDX-License-Identifier: MIT */
/* trace_patch.c -- text is rewritten while threads run it: no thread ever sees half an instruction. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "fathom/inside/errno.h"
#include "fathom/inside/patch.h"
#include "fathom/trace.h"
#include "harness.h"

#ifdef __x86_64__

/*
 * Functions made by hand: 5 bytes of NOP or jmp, then `mov eax,1; ret`, and at the jump's end `mov eax,2; ret`. They
 * stand 67 bytes apart, so sites fall on every offset of a cache line.
 */
#define NR_SITES 64
#define STRIDE	 67

static uint8_t *text;	 /* as the threads run it: read and execute */
static uint8_t *writing; /* the same pages, writable */
static const uint8_t nop5[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
static const uint8_t jump[5] = {0xe9, 6, 0, 0, 0};
static atomic_int traps, strangers, refuse_after = -1;
static int maps, mapped, syncs, stops;

static void *alias_map(void *at, size_t bytes)
{
	(void)bytes;
	if (refuse_after >= 0 && maps >= refuse_after)
		return NULL;
	maps++;
	mapped++;
	return writing + ((uint8_t *)at - text);
}

static int call(int i)
{
	int (*fn)(void) = (int (*)(void))(uintptr_t)(text + i * STRIDE);

	return fn();
}

static int run_between; /* an interrupt comes after each store */
static int halves;	/* what it ran was neither the old code nor the new */

static void alias_unmap(void *alias, size_t bytes)
{
	(void)bytes;
	mapped--;
	if (run_between) {
		int r = call((int)(((uint8_t *)alias - writing) / STRIDE));

		halves += r != 1 && r != 2;
	}
}

static void all_sync(void)
{
	syncs++;
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}

static void fake_stop(void (*fn)(void *), void *arg)
{
	stops++;
	fn(arg);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uintptr_t ip = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	atomic_fetch_add(&traps, 1);
	if (!fathom_arch_breakpoint(&ip))
		atomic_fetch_add(&strangers, 1);
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
}

static int set_up(int with_sync)
{
	static const uint8_t body[] = {0x0f, 0x1f, 0x44, 0, 0, 0xb8, 1, 0,   0,
				       0,    0xc3, 0xb8, 2, 0, 0,    0, 0xc3};
	size_t bytes = 2 * 4096;
	int fd = memfd_create("text", 0);
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	struct fathom_config config = {.nr_cpus = 2,
				       .text_map = alias_map,
				       .text_unmap = alias_unmap,
				       .sync = with_sync ? all_sync : 0};

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return -1;
	writing = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	text = mmap(0, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	if (writing == MAP_FAILED || text == MAP_FAILED)
		return -1;
	for (int i = 0; i < NR_SITES; i++)
		memcpy(writing + i * STRIDE, body, sizeof(body));
	sigaction(SIGTRAP, &sa, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	maps = mapped = syncs = stops = 0;
	atomic_store(&refuse_after, -1);
	fathom_arch_patch_init(&config);
	return 0;
}

static int want_on;

static uintptr_t set_at(const void *arg, uint32_t i, size_t *bytes)
{
	(void)arg;
	*bytes = 5;
	return (uintptr_t)text + i * STRIDE;
}

static size_t set_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	(void)arg;
	if (i % 3 == 2)
		return 0; /* these are left alone */
	memcpy(out, want_on ? jump : nop5, 5);
	return 5;
}

static const struct fathom_patch_set set = {NR_SITES, set_at, set_code, 0};
static atomic_int stop_now;
static atomic_llong wrong, calls;

static void *runner(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop_now)) {
		for (int i = 0; i < NR_SITES; i++) {
			int r = call(i);

			if (r != 1 && (r != 2 || i % 3 == 2))
				atomic_fetch_add(&wrong, 1);
		}
		atomic_fetch_add_explicit(&calls, NR_SITES, memory_order_relaxed);
	}
	return 0;
}

TEST(patch_one)
{
	CHECK_EQ(set_up(1), 0);
	CHECK_EQ(call(3), 1);
	CHECK_EQ(fathom_arch_patch(text + 3 * STRIDE, jump, 5), 0);
	CHECK_EQ(call(3), 2);
	CHECK_EQ(call(4), 1);
	CHECK_EQ(syncs, 4);
	CHECK_EQ(fathom_arch_patch(text + 3 * STRIDE, nop5, 5), 0);
	CHECK_EQ(call(3), 1);
	CHECK_EQ(fathom_arch_patch(text, nop5, 0), -FATHOM_EINVAL);
	CHECK_EQ(fathom_arch_patch(text, nop5, FATHOM_PATCH_BYTES_MAX + 1), -FATHOM_EINVAL);
}

TEST(patch_without_map)
{
	struct fathom_config none = {.nr_cpus = 1};

	fathom_arch_patch_init(&none);
	CHECK(!fathom_arch_can_patch());
	CHECK_EQ(fathom_arch_patch(text, nop5, 5), -FATHOM_ENOSYS);
}

TEST(patch_stopped)
{
	struct fathom_config config = {.nr_cpus = 2,
				       .text_map = alias_map,
				       .text_unmap = alias_unmap,
				       .stop_cpus = fake_stop};

	CHECK_EQ(set_up(0), 0);
	fathom_arch_patch_init(&config);
	want_on = 1;
	run_between = 1;
	CHECK_EQ(fathom_arch_patch_many(&set), NR_SITES - NR_SITES / 3);
	run_between = 0;
	CHECK_EQ(halves, 0);
	CHECK_EQ(mapped, 0);
	CHECK_EQ(stops, 1);
	CHECK_EQ(call(0), 2);
	CHECK_EQ(call(2), 1);
}

TEST(patch_many_under_threads)
{
	pthread_t t[3];

	CHECK_EQ(set_up(1), 0);
	atomic_store(&stop_now, 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, runner, 0);
	while (!atomic_load(&calls))
		usleep(100);
	for (int round = 0; round < 2000; round++) {
		want_on = !(round & 1);
		CHECK_EQ(fathom_arch_patch_many(&set), NR_SITES - NR_SITES / 3);
		CHECK_EQ(call(0), want_on ? 2 : 1);
		if (round % 8 == 0)
			usleep(50);
	}
	atomic_store(&stop_now, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	CHECK_EQ(atomic_load(&wrong), 0);
	CHECK_EQ(atomic_load(&strangers), 0);
	CHECK(atomic_load(&calls) > 0);
	printf("  %lld calls, %d traps\n", (long long)atomic_load(&calls), atomic_load(&traps));
}

TEST(patch_refused)
{
	CHECK_EQ(set_up(1), 0);
	want_on = 1;
	atomic_store(&refuse_after, 10); /* the 11th breakpoint cannot be written */
	CHECK_EQ(fathom_arch_patch_many(&set), -FATHOM_EFAULT);
	CHECK_EQ(call(20), 1);
	atomic_store(&refuse_after, -1);
	CHECK_EQ(fathom_arch_patch_many(&set), -FATHOM_EIO); /* the tails failed too */
	CHECK_EQ(call(0), 1);				     /* traps, and goes on */
}

TEST(patch_stranger)
{
	uintptr_t ip;

	CHECK_EQ(set_up(1), 0);
	writing[40] = 0xcc;
	ip = (uintptr_t)text + 41;
	CHECK_EQ(fathom_arch_breakpoint(&ip), 0);
	CHECK_EQ(ip, (uintptr_t)text + 41);
	ip = (uintptr_t)text + 1; /* trapped before step 3, handled after it */
	CHECK_EQ(fathom_arch_breakpoint(&ip), 1);
	CHECK_EQ(ip, (uintptr_t)text);
}

#endif

TEST_MAIN
