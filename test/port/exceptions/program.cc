/* SPDX-License-Identifier: MIT */
/* program.cc -- throws through traced calls: from deep down, out of destructors' own try blocks, and again. */
#include <cstdio>
#include <stdexcept>
#include <thread>

#define NOINLINE __attribute__((noinline))

static thread_local int cleaned;

NOINLINE int thrower(int n)
{
	if (n == 0)
		throw std::runtime_error("bottom");
	return thrower(n - 1) + 1;
}

NOINLINE int quiet(int n)
{
	try {
		return thrower(n);
	} catch (const std::exception &) {
		return -1;
	}
}

/* Its destructor runs while an exception is on its way, and has one of its own. */
struct Guard {
	NOINLINE ~Guard()
	{
		cleaned += quiet(2) == -1;
	}
};

NOINLINE int guarded(int n)
{
	Guard g;

	return thrower(n) + 1;
}

NOINLINE int rethrows(int n)
{
	try {
		return guarded(n);
	} catch (const std::runtime_error &) {
		quiet(1);
		throw;
	}
}

NOINLINE int catcher(int n)
{
	try {
		return rethrows(n);
	} catch (const std::exception &) {
		return quiet(n);
	}
}

static void work(int *wrong)
{
	for (int i = 0; i < 100; i++)
		*wrong += catcher(i % 10) != -1;
	*wrong += cleaned != 100;
}

int main()
{
	int wrong[3] = {0, 0, 0};
	std::thread a(work, &wrong[0]), b(work, &wrong[1]);

	work(&wrong[2]);
	a.join();
	b.join();
	std::printf("%d wrong\n", wrong[0] + wrong[1] + wrong[2]);
	return wrong[0] + wrong[1] + wrong[2] != 0;
}
