/* SPDX-License-Identifier: MIT */
/* trace_leaf.c -- who called, at every single instruction of functions with and without a frame. */
#include "harness.h"
#include "../../ports/user/port.h"

#include <signal.h>
#include <stdint.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)

/* A driver with a frame calls a leaf, a function with a frame, one of another object through the PLT and the GOT. */
void leaf_driver(void);
extern const char leaf_at[], leaf_end[], leaf_ret[], framed_at[], framed_end[], framed_ret[];
extern const char plt_ret[], got_ret[], driver_body[], driver_end[], other_at[], other_end[];
__asm__(".pushsection .text\n"
	"leaf_at: mov $3, %ecx\n1: dec %ecx\njnz 1b\nret\nleaf_end:\n"
	"framed_at: endbr64\npush %rbp\nmov %rsp, %rbp\npush $0\nnop\nmov %rbp, %rsp\npop "
	"%rbp\nret\nframed_end:\n"
	"other_at: nop\nnop\nret\nother_end:\n"
	"stub_at: endbr64\nbnd jmp *other_slot(%rip)\n"
	".globl leaf_driver\nleaf_driver: push %rbp\nmov %rsp, %rbp\nsub $16, %rsp\n"
	"driver_body: call leaf_at\nleaf_ret: nop\ncall framed_at\nframed_ret: call "
	"stub_at\nplt_ret: nop\n"
	"call *other_slot(%rip)\ngot_ret: nop\n"
	/* What earlier calls left on the stack must not be taken for a caller. */
	"lea leaf_ret(%rip), %rcx\nmov %rcx, (%rsp)\nnop\n"
	"driver_end: leave\nret\n"
	".popsection\n.pushsection .data\n.balign 8\nother_slot: .quad other_at\n.popsection\n");

static volatile int steps, wrong;

static int read_any(uintptr_t at, uintptr_t out[2])
{
	struct iovec here = {out, 2 * sizeof(*out)}, there = {(void *)at, 2 * sizeof(*out)};

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 2 * sizeof(*out) ? 0 : -1;
}

static int inside(uintptr_t ip, const char *from, const char *to)
{
	return ip >= (uintptr_t)from && ip < (uintptr_t)to;
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	const greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t ip = (uintptr_t)g[REG_RIP], sp = (uintptr_t)g[REG_RSP];
	uintptr_t fp = (uintptr_t)g[REG_RBP], frame[2] = {0}, got, first;

	got = user_leaf_caller(ip, sp, fp, read_any);
	read_any(fp, frame);
	first = got ? got : frame[1];

	(void)sig;
	(void)info;
	if (inside(ip, leaf_at, leaf_end))
		wrong += got != (uintptr_t)leaf_ret;
	else if (inside(ip, framed_at, framed_end))
		wrong += first != (uintptr_t)framed_ret;
	else if (inside(ip, other_at, other_end))
		wrong += got != (uintptr_t)plt_ret && got != (uintptr_t)got_ret;
	else if (inside(ip, driver_body, driver_end))
		wrong += got != 0;
	else
		return;
	steps++;
}

TEST(every_instruction_knows_its_caller)
{
	struct sigaction sa = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &sa, NULL);
	for (int i = 0; i < 3; i++) {
		__asm__ volatile("pushf\norl $0x100, (%%rsp)\npopf\n"
				 "sub $128, %%rsp\ncall leaf_driver\nadd $128, %%rsp\n"
				 "pushf\nandl $~0x100, (%%rsp)\npopf\n" ::
					 : "rax", "rcx", "memory", "cc");
	}
	signal(SIGTRAP, SIG_DFL);
	CHECK(steps > 60);
	CHECK_EQ(wrong, 0);
}

static int read_nothing(uintptr_t at, uintptr_t out[2])
{
	(void)at;
	(void)out;
	return -1;
}

/* The word on top of the stack is anything, and nothing more can be read. */
TEST(words_that_are_no_address)
{
	static const uintptr_t words[] = {
		0, 1, 5, 4096, 4100, UINTPTR_MAX, UINTPTR_MAX - 3, 1ull << 63, 0};
	uintptr_t ip = (uintptr_t)leaf_at, at = (uintptr_t)words;

	CHECK_EQ(user_leaf_caller(ip, at, at, read_nothing), 0);
	CHECK_EQ(user_leaf_caller(ip, at + 1, at, read_any), 0);
	for (size_t i = 0; i + 1 < sizeof(words) / sizeof(words[0]); i++)
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			CHECK_EQ(user_leaf_caller(ip, at + i * sizeof(*words), words[k], read_any),
				 0);
}

#else

TEST(no_leaf_is_known)
{
	CHECK_EQ(user_leaf_caller(0, 0, 0, NULL), 0);
}

#endif

TEST_MAIN
