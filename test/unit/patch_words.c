/* SPDX-License-Identifier: MIT */
/* patch_words.c -- the patcher of aarch64 and riscv64, and the branches it writes, on this machine with a made-up port. */
#define _GNU_SOURCE /* registers of a signal's context */
#include "arch/text.h"
#include "arch/arch.h"
#include "fathom/inside/errno.h"
#include "fathom/trace.h"
#include "harness.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

/*
 * Linked with trace/arch/{text,patch_word}.c and one architecture's site.c, nothing else of the library. Text is an array, its
 * alias another one; what happens is written down in order: m(ap) f(lush) u(nmap) s(ync) S(top).
 */
static uint32_t running[16], alias[16];
static char log_text[256];
static uintptr_t flushed_at;
static const void *flushed_alias;
static int refuse_from = -1, maps;
static uintptr_t far_jumps;

static void say(char what)
{
	size_t n = strlen(log_text);

	if (n + 1 < sizeof(log_text))
		log_text[n] = what, log_text[n + 1] = 0;
}

/* What the entries would be. They need only addresses. */
void fathom_arch_entry_function(void)
{
}
void fathom_arch_entry_hijack(void)
{
}
void fathom_arch_entry_any(void)
{
}
void fathom_arch_return(void)
{
}
extern const uint8_t fathom_arch_entries[];
const uint8_t fathom_arch_entries[32] __attribute__((aligned(16))) = {0}; /* riscv64's */
uintptr_t fathom_module_far(uintptr_t at)
{
	(void)at;
	return far_jumps;
}

void fathom_arch_text_flush(const void *to, uintptr_t at, size_t bytes)
{
	CHECK_EQ(bytes, 4);
	flushed_alias = to;
	flushed_at = at;
	say('f');
}

static void *fake_map(void *at, size_t bytes)
{
	(void)bytes;
	if (refuse_from >= 0 && maps >= refuse_from)
		return 0;
	maps++;
	say('m');
	return (uint8_t *)alias + ((uint8_t *)at - (uint8_t *)running);
}

static void fake_unmap(void *to, size_t bytes)
{
	CHECK(to == flushed_alias && bytes == 4);
	say('u');
}

static void fake_sync(void)
{
	say('s');
}

static void fake_stop(void (*fn)(void *), void *arg)
{
	say('S');
	fn(arg);
}

static void start(int with_sync, int with_stop)
{
	struct fathom_config c = {.nr_cpus = 2,
				  .text_map = fake_map,
				  .text_unmap = fake_unmap,
				  .sync = with_sync ? fake_sync : 0,
				  .stop_cpus = with_stop ? fake_stop : 0};

	memset(alias, 0, sizeof(alias));
	log_text[0] = 0;
	refuse_from = -1;
	maps = 0;
	fathom_arch_patch_init(&c);
}

static uintptr_t two_at(const void *arg, uint32_t i, size_t *bytes)
{
	(void)arg;
	*bytes = 4;
	return (uintptr_t)&running[3 + 4 * i];
}

static size_t two_code(const void *arg, uint32_t i, uint8_t out[FATHOM_PATCH_BYTES_MAX])
{
	static const uint8_t code[2][4] = {{0x78, 0x56, 0x34, 0x12}, {1, 2, 3, 4}};

	(void)arg;
	memcpy(out, code[i], 4);
	return 4;
}

static const struct fathom_patch_set two = {2, two_at, two_code, 0};

TEST(words_are_written_flushed_and_synced)
{
	start(1, 0);
	CHECK_EQ(fathom_arch_patch_many(&two), 2);
	CHECK_STR(log_text, "mfumfus");
	CHECK_EQ(alias[3], 0x12345678);
	CHECK_EQ(alias[7], 0x04030201);
	CHECK(flushed_alias == &alias[7] && flushed_at == (uintptr_t)&running[7]);
}

#ifdef __x86_64__

static uint32_t *guarded; /* a page that cannot be written to: every store to it is seen */
static int stores;

static void on_store(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	int step = sig == SIGSEGV; /* let this one instruction through */

	(void)info;
	stores += step;
	mprotect(guarded, 4096, step ? PROT_READ | PROT_WRITE : PROT_READ);
	if (step)
		uc->uc_mcontext.gregs[REG_EFL] |= 0x100;
	else
		uc->uc_mcontext.gregs[REG_EFL] &= ~0x100ll;
}

static void *guarded_map(void *at, size_t bytes)
{
	(void)bytes;
	return (uint8_t *)guarded + ((uint8_t *)at - (uint8_t *)running);
}

/* A CPU that runs the word meanwhile sees the old one or the new one: there is one store. */
TEST(a_word_is_one_store)
{
	struct fathom_config c = {.nr_cpus = 1, .text_map = guarded_map};
	struct sigaction sa = {.sa_sigaction = on_store, .sa_flags = SA_SIGINFO}, segv, trap;

	guarded = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fathom_arch_patch_init(&c);
	log_text[0] = 0;
	stores = 0;
	sigaction(SIGSEGV, &sa, &segv);
	sigaction(SIGTRAP, &sa, &trap);
	CHECK_EQ(fathom_arch_patch_many(&two), 2);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGTRAP, &trap, NULL);
	CHECK_EQ(stores, 2);
	CHECK_EQ(guarded[3], 0x12345678);
	CHECK_EQ(guarded[7], 0x04030201);
	munmap(guarded, 4096);
}

#endif

TEST(sync_is_used_before_stop)
{
	start(1, 1);
	CHECK_EQ(fathom_arch_patch_many(&two), 2);
	CHECK_STR(log_text, "mfumfus");
	start(0, 1);
	CHECK_EQ(fathom_arch_patch_many(&two), 2);
	CHECK_STR(log_text, "Smfumfu");
	start(0, 0);
	CHECK_EQ(fathom_arch_patch_many(&two), 2);
	CHECK_STR(log_text, "mfumfu");
}

TEST(only_aligned_words_are_written)
{
	const uint8_t code[8] = {1, 2, 3, 4, 5, 6, 7, 8};

	start(1, 1);
	CHECK_EQ(fathom_arch_patch((uint8_t *)running + 2, code, 4), -FATHOM_EINVAL);
	CHECK_EQ(fathom_arch_patch(running, code, 2), -FATHOM_EINVAL);
	CHECK_EQ(fathom_arch_patch(running, code, 8), -FATHOM_EINVAL);
	CHECK_EQ(fathom_arch_patch(running, code, 0), -FATHOM_EINVAL);
	CHECK(!strchr(log_text, 'm'));
	for (int i = 0; i < 16; i++)
		CHECK_EQ(alias[i], 0);
	CHECK_EQ(fathom_arch_patch(running, code, 4), 0);
	CHECK_EQ(alias[0], 0x04030201);
}

TEST(text_that_cannot_be_mapped)
{
	start(1, 0);
	refuse_from = 1;
	CHECK_EQ(fathom_arch_patch_many(&two), -FATHOM_EFAULT);
	CHECK_STR(log_text, "mfus"); /* what was written is made known all the same */
	CHECK_EQ(alias[7], 0);
}

static uint32_t code_at(uintptr_t at, enum fathom_entry entry, size_t *bytes)
{
	uint8_t out[FATHOM_PATCH_BYTES_MAX] = {0};

	*bytes = fathom_arch_site_code(at, entry, out);
	return out[0] | (uint32_t)out[1] << 8 | (uint32_t)out[2] << 16 | (uint32_t)out[3] << 24;
}

#ifdef WORDS_aarch64
/* BL reaches from -128 MiB to 128 MiB less one instruction. */
static uintptr_t bl_target(uintptr_t at, uint32_t word)
{
	int64_t distance = (int64_t)((uint64_t)(word & 0x03ffffff) << 38) >> 36;

	CHECK_EQ(word >> 26, 0x25);
	return at + (uintptr_t)distance;
}

TEST(branches_reach_or_are_refused)
{
	uintptr_t entry = fathom_arch_entry_address(FATHOM_ENTRY_ANY) & ~(uintptr_t)3;
	static const int64_t reach = 1 << 27;
	static const int64_t good[] = {4, -4, 4096, -4096, (1 << 27) - 4, -(1 << 27)};
	size_t n;

	far_jumps = 0;
	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uintptr_t at = entry - (uintptr_t)good[i];
		uint32_t word = code_at(at, FATHOM_ENTRY_ANY, &n);

		CHECK_EQ(n, 4);
		CHECK_EQ(bl_target(at, word), entry);
	}
	for (int64_t d = reach; d <= 4 * reach; d += reach / 2) {
		code_at(entry - (uintptr_t)d, FATHOM_ENTRY_ANY, &n);
		CHECK_EQ(n, 0);
		code_at(entry + (uintptr_t)(d + 4), FATHOM_ENTRY_ANY, &n);
		CHECK_EQ(n, 0);
	}
	far_jumps = entry - (uintptr_t)(4 * reach) + 64; /* the module has jumps of its own */
	n = 0;
	bl_target(0, code_at(entry - (uintptr_t)(4 * reach), FATHOM_ENTRY_ANY, &n));
	CHECK_EQ(n, 4);
}
#else
/* auipc t0 and jalr t0: 2 GiB either way. */
static uintptr_t jalr_target(uintptr_t at, uint32_t word)
{
	uint8_t out[FATHOM_PATCH_BYTES_MAX];
	uintptr_t where;
	uint32_t upper;

	CHECK_EQ(fathom_arch_site_fixed(at, out, &where), 4);
	CHECK_EQ(where, at - 4);
	upper = out[0] | (uint32_t)out[1] << 8 | (uint32_t)out[2] << 16 | (uint32_t)out[3] << 24;
	CHECK_EQ(upper & 0xfff, 0x297);
	CHECK_EQ(word & 0xfffff, 0x282e7);
	return where + (uintptr_t)(int64_t)(int32_t)(upper & ~0xfffu) +
	       (uintptr_t)(int64_t)((int32_t)word >> 20);
}

/* The table is there twice: 16 bytes after the first one is the second. */
static void check_site(uintptr_t at)
{
	static const enum fathom_entry entries[] = {FATHOM_ENTRY_FUNCTION, FATHOM_ENTRY_HIJACK,
						    FATHOM_ENTRY_ANY};
	uintptr_t table = (uintptr_t)fathom_arch_entries, used = 0;

	for (unsigned int i = 0; i < 3; i++) {
		size_t n;
		uint32_t word = code_at(at, entries[i], &n);
		uintptr_t first = jalr_target(at, word) - 4 * i;

		CHECK_EQ(n, 4);
		CHECK(first == table || first == table + 16);
		CHECK(!i || first == used);
		used = first;
	}
}

TEST(branches_reach_or_are_refused)
{
	uintptr_t table = (uintptr_t)fathom_arch_entries;
	static const int64_t good[] = {0x7fffe000, -0x7ffff000};
	size_t n;

	far_jumps = 0;
	for (uintptr_t d = 0; d < 8192; d += 4)
		check_site(table - 4096 + d);
	for (unsigned int i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		check_site(table - (uintptr_t)good[i]);
	code_at(table - 0x80000000u, FATHOM_ENTRY_ANY, &n);
	CHECK_EQ(n, 0);
	code_at(table + 0x80001000u, FATHOM_ENTRY_ANY, &n);
	CHECK_EQ(n, 0);
}
#endif

TEST_MAIN
