/* SPDX-License-Identifier: MIT */
/* later.c -- functions of shared libraries that come and go while the program is traced. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "fathom/inside/errno.h"
#include "fathom/fs.h"
#include "fathom/trace.h"
#include "functions/tracer.h"
#include "fathom_user.h"
#include "harness.h"
#include "functions/sites.h"
#include "traced.h"

static char text[1 << 18];

static const char *get(const char *path)
{
	int n = fathom_get(path, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	return text;
}

static int put(const char *path, const char *value)
{
	return fathom_set(path, value);
}

static void append(const char *path, const char *value)
{
	struct fathom_node node;
	struct fathom_file f = {0};

	CHECK_EQ(fathom_fs_lookup(path, &node), 0);
	CHECK_EQ(fathom_fs_open(&f, &node, FATHOM_O_WRONLY | FATHOM_O_APPEND), 0);
	CHECK_EQ(fathom_fs_write(&f, value, strlen(value)), strlen(value));
	fathom_fs_close(&f);
}

static int has(const char *path, const char *what)
{
	return strstr(get(path), what) != NULL;
}

static uint32_t lines_with(const char *path, const char *what)
{
	uint32_t n = 0;

	for (const char *at = get(path); (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* The path of a library that was built with the test. */
static const char *path_of(const char *name)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	char *slash;

	path[n < 0 ? 0 : n] = 0;
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "../../tracers/");
	strcat(path, name);
	return path;
}

struct plug {
	void *library;
	int (*run)(int x);
};

static struct plug plug_open(const char *name)
{
	struct plug p = {dlopen(path_of(name), RTLD_NOW | RTLD_LOCAL), NULL};

	CHECK(p.library);
	if (!p.library) {
		printf("  %s\n", dlerror());
		exit(1);
	}
	p.run = (int (*)(int))dlsym(p.library, "plug_run");
	CHECK_EQ(p.run(5), 33);
	return p;
}

static void plug_close(struct plug *p)
{
	CHECK_EQ(dlclose(p->library), 0);
}

static void start(const char *options)
{
	CHECK_EQ(fathom_user_start(options), 0);
}

static void begin(void)
{
	start("tracer=nop,out=,buffer_kb=256");
	CHECK_EQ(put("trace", ""), 0);
}

TEST(listed_while_it_is_there)
{
	struct plug p;
	uint32_t before;

	begin();
	before = lines_with("available_filter_functions", "\n");
	CHECK(!has("available_filter_functions", "alpha_"));
	p = plug_open("alpha.so");
	CHECK(has("available_filter_functions", "alpha_leaf [alpha.so]\n"));
	CHECK(has("available_filter_functions", "alpha_top [alpha.so]\n"));
	CHECK_EQ(lines_with("available_filter_functions", "[alpha.so]"), 3);
	CHECK_EQ(lines_with("available_filter_functions", "\n"), before + 3);
	CHECK_EQ(strtoul(get("dyn_ftrace_total_info"), NULL, 10), before + 3);
	plug_close(&p);
	CHECK(!has("available_filter_functions", "alpha"));
	CHECK_EQ(lines_with("available_filter_functions", "\n"), before);
	CHECK_EQ(strtoul(get("dyn_ftrace_total_info"), NULL, 10), before);
	fathom_user_stop();
}

TEST(traced_at_once)
{
	struct plug p;

	begin();
	CHECK_EQ(put("current_tracer", "function"), 0);
	p = plug_open("alpha.so");
	CHECK(has("trace", ": alpha_leaf <-alpha_top\n"));
	CHECK_EQ(lines_with("trace", ": alpha_leaf <-alpha_top\n"), 2);
	CHECK(has("enabled_functions", "alpha_leaf [alpha.so] (1)"));
	plug_close(&p);
	CHECK(!has("enabled_functions", "alpha"));
	CHECK(has("trace", ": alpha_leaf <-alpha_top\n")); /* nothing else lies there yet */
	hij_leaf(1);
	CHECK(has("trace", ": hij_leaf <-"));
	fathom_user_stop();
}

TEST(a_line_that_waited)
{
	struct plug p;

	begin();
	CHECK_EQ(put("set_ftrace_filter", "*leaf:mod:alpha.so"), 0);
	CHECK_EQ(put("current_tracer", "function"), 0);
	hij_leaf(1);
	CHECK_STR(get("set_ftrace_filter"), "*leaf:mod:alpha.so\n");
	p = plug_open("alpha.so");
	CHECK_STR(get("set_ftrace_filter"), "alpha_leaf [alpha.so]\n");
	CHECK_EQ(lines_with("trace", ": alpha_leaf <-"), 2);
	CHECK_EQ(lines_with("trace", " <-"), 2);
	plug_close(&p);
	/* As in Linux: its functions are gone from the filter, which does not mean all of them now. */
	CHECK_STR(get("set_ftrace_filter"), "");
	append("set_ftrace_filter", "!hij_leaf\n");
	CHECK_STR(get("set_ftrace_filter"), "");
	hij_leaf(1);
	CHECK_EQ(lines_with("trace", " <-"), 2);
	p = plug_open("alpha.so");
	CHECK_EQ(lines_with("trace", " <-"), 2);
	CHECK_EQ(put("set_ftrace_filter", ""), 0);
	CHECK_STR(get("set_ftrace_filter"), "#### all functions enabled ####\n");
	p.run(5);
	CHECK_EQ(lines_with("trace", ": alpha_leaf <-"), 4);
	plug_close(&p);
	fathom_user_stop();
}

TEST(graph)
{
	struct plug p;

	begin();
	CHECK_EQ(put("current_tracer", "function_graph"), 0);
	p = plug_open("alpha.so");
	plug_close(&p);
	CHECK(has("trace", "plug_run() {\n"));
	CHECK(has("trace", "  alpha_top() {\n"));
	CHECK_EQ(lines_with("trace", "    alpha_leaf();\n"), 2);
	CHECK_EQ(strtoul(strstr(get("tracer_stats"), "return without call: ") + 21, NULL, 10), 0);
	fathom_user_stop();
}

TEST(what_hangs_on_it_goes_with_it)
{
	struct plug p;

	begin();
	p = plug_open("alpha.so");
	CHECK_EQ(put("set_ftrace_filter", "hij_leaf alpha_leaf:traceoff:3"), 0);
	CHECK_EQ(put("set_ftrace_notrace", "alpha_top"), 0);
	CHECK_EQ(put("set_graph_function", "alpha_top"), 0);
	CHECK_STR(get("set_ftrace_filter"), "hij_leaf\nalpha_leaf [alpha.so]:traceoff:count=3\n");
	CHECK_STR(get("set_graph_function"), "alpha_top [alpha.so]\n");
	CHECK_EQ(put("set_ftrace_filter", ""), 0);
	p.run(5);
	CHECK_STR(get("tracing_on"), "0\n");
	plug_close(&p);
	CHECK_STR(get("set_ftrace_filter"), "#### all functions enabled ####\n");
	CHECK_STR(get("set_ftrace_notrace"), "");
	CHECK_STR(get("set_graph_function"), "");
	CHECK_EQ(put("tracing_on", "1"), 0);
	p = plug_open("beta.so"); /* where the other was, and nobody's yet */
	p.run(5);
	CHECK_STR(get("tracing_on"), "1\n");
	CHECK_STR(get("set_ftrace_notrace"), "");
	plug_close(&p);
	fathom_user_stop();
}

static int profile_has(const char *line)
{
	int seen = 0;

	for (int cpu = 0; cpu < 32; cpu++) {
		char path[32];

		snprintf(path, sizeof(path), "trace_stat/function%d", cpu);
		seen += has(path, line);
	}
	return seen;
}

TEST(profiled)
{
	struct plug p;

	begin();
	CHECK_EQ(put("function_profile_enabled", "1"), 0);
	p = plug_open("alpha.so");
	CHECK_EQ(profile_has("  alpha_leaf                               2  "), 1);
	plug_close(&p);
	CHECK_EQ(profile_has("alpha"), 0);
	p = plug_open("beta.so"); /* in its place, and not with its counts */
	CHECK_EQ(profile_has("  beta_leaf                                2  "), 1);
	plug_close(&p);
	fathom_user_stop();
}

TEST(instances)
{
	struct fathom_node root;
	struct plug p;

	begin();
	CHECK_EQ(fathom_fs_lookup("instances", &root), 0);
	CHECK_EQ(fathom_fs_mkdir(&root, "one", 3), 0);
	CHECK_EQ(put("instances/one/set_ftrace_filter", "alpha_top:mod:alpha.so"), 0);
	CHECK_EQ(put("instances/one/current_tracer", "function"), 0);
	p = plug_open("alpha.so");
	CHECK_STR(get("instances/one/set_ftrace_filter"), "alpha_top [alpha.so]\n");
	CHECK_EQ(lines_with("instances/one/trace", " <-"), 1);
	CHECK(has("instances/one/trace", ": alpha_top <-plug_run"));
	CHECK_EQ(lines_with("trace", " <-"), 0);
	plug_close(&p);
	CHECK_STR(get("instances/one/set_ftrace_filter"), "");
	hij_leaf(1);
	CHECK_EQ(lines_with("instances/one/trace", " <-"), 1);
	fathom_user_stop();
}

/* Who has a filter open while modules come and go edits what is meant, not what took its place. */
TEST(a_file_that_is_open_meanwhile)
{
	struct fathom_node node;
	struct fathom_file f = {0};
	struct plug p;

	begin();
	p = plug_open("alpha.so");
	CHECK_EQ(put("set_ftrace_filter", "alpha_leaf hij_mid"), 0);
	CHECK_EQ(fathom_fs_lookup("set_ftrace_filter", &node), 0);
	CHECK_EQ(fathom_fs_open(&f, &node, FATHOM_O_WRONLY | FATHOM_O_APPEND), 0);
	plug_close(&p);
	p = plug_open("beta.so");
	CHECK_EQ(fathom_fs_write(&f, "hij_top beta_top ", 17), 8);
	CHECK_EQ(fathom_fs_write(&f, "beta_top ", 9), 9);
	fathom_fs_close(&f);
	CHECK(has("set_ftrace_filter", "hij_mid\n"));
	CHECK(has("set_ftrace_filter", "hij_top\n"));
	CHECK(has("set_ftrace_filter", "beta_top [beta.so]\n"));
	CHECK_EQ(lines_with("set_ftrace_filter", "\n"), 3);
	plug_close(&p);
	fathom_user_stop();
}

TEST(two_and_the_order_they_go_in)
{
	struct plug a, b;

	begin();
	CHECK_EQ(put("current_tracer", "function"), 0);
	a = plug_open("alpha.so");
	b = plug_open("beta.so");
	CHECK_EQ(lines_with("available_filter_functions", "[alpha.so]"), 3);
	CHECK_EQ(lines_with("available_filter_functions", "[beta.so]"), 3);
	plug_close(&a);
	CHECK_EQ(lines_with("available_filter_functions", "[beta.so]"), 3);
	CHECK_EQ(put("trace", ""), 0);
	CHECK_EQ(b.run(5), 33);
	CHECK_EQ(lines_with("trace", ": beta_leaf <-beta_top"), 2);
	a = plug_open("alpha.so");
	CHECK_EQ(a.run(5), 33);
	CHECK_EQ(put("set_ftrace_filter", "*_leaf:mod:?[el]*.so"), 0);
	CHECK_EQ(lines_with("set_ftrace_filter", "\n"), 2);
	plug_close(&b);
	CHECK_STR(get("set_ftrace_filter"), "alpha_leaf [alpha.so]\n");
	plug_close(&a);
	fathom_user_stop();
}

TEST(without_sites)
{
	struct plug p;

	begin();
	CHECK_EQ(put("current_tracer", "function"), 0);
	p = plug_open("plain.so");
	CHECK(!has("available_filter_functions", "plain"));
	CHECK(!has("trace", "plain_"));
	plug_close(&p);
	fathom_user_stop();
}

TEST(here_before_tracing_and_after)
{
	struct plug p = plug_open("alpha.so");

	begin();
	CHECK_EQ(lines_with("available_filter_functions", "[alpha.so]"), 3);
	CHECK_EQ(put("current_tracer", "function_graph"), 0);
	CHECK_EQ(p.run(5), 33);
	CHECK_EQ(lines_with("trace", "    alpha_leaf();\n"), 2);
	fathom_user_stop();
	CHECK_EQ(p.run(5), 33);
	begin();
	CHECK_EQ(lines_with("available_filter_functions", "[alpha.so]"), 3);
	fathom_user_stop();
	plug_close(&p);
	begin();
	CHECK_EQ(lines_with("available_filter_functions", "[alpha.so]"), 0);
	fathom_user_stop();
}

/* All of a library or nothing, and it is told. */
TEST(no_room)
{
	struct plug a, b;

	start("tracer=nop,out=,buffer_kb=256,functions=5");
	a = plug_open("alpha.so");
	b = plug_open("beta.so");
	CHECK_EQ(lines_with("available_filter_functions", "[alpha.so]"), 3);
	CHECK_EQ(lines_with("available_filter_functions", "[beta.so]"), 0);
	CHECK(has("tracer_stats", "modules' functions without room: "));
	CHECK(!has("tracer_stats",
		   "modules' functions without room: 0\n")); /* 3, and the event's */
	plug_close(&a);
	plug_close(&b);
	b = plug_open("beta.so");
	CHECK_EQ(lines_with("available_filter_functions", "[beta.so]"), 3);
	plug_close(&b);
	fathom_user_stop();
}

/* ---- events ---- */

TEST(events_are_in_the_tree_while_it_is_there)
{
	struct plug a, b;

	begin();
	CHECK(!has("available_events", "plug:step"));
	a = plug_open("alpha.so");
	CHECK_EQ(lines_with("available_events", "plug:step\n"), 1);
	CHECK_EQ(put("events/plug/step/enable", "1"), 0);
	CHECK_EQ(a.run(7), 45);
	CHECK_EQ(lines_with("trace", ": step: x=7\n"), 1);
	CHECK(has("events/plug/step/format", "name: step\n"));
	b = plug_open("beta.so"); /* has one of the same name */
	CHECK_EQ(lines_with("available_events", "plug:step\n"), 2);
	CHECK_STR(get("events/plug/enable"), "X\n");
	CHECK_EQ(put("events/plug/enable", "1"), 0);
	CHECK_EQ(b.run(8), 51);
	CHECK_EQ(lines_with("trace", ": step: x=8\n"), 1);
	plug_close(&a); /* it stood for the system */
	CHECK_EQ(lines_with("available_events", "plug:step\n"), 1);
	CHECK_STR(get("events/plug/step/enable"), "1\n");
	CHECK_EQ(b.run(9), 57);
	CHECK_EQ(lines_with("trace", ": step: x=9\n"), 1);
	plug_close(&b);
	CHECK_EQ(lines_with("trace", ": step: x=9\n"), 1); /* what was recorded can be read */
	CHECK_EQ(lines_with("available_events", "plug"), 0);
	CHECK_EQ(lines_with("set_event", "plug"), 0);
	CHECK_EQ(put("events/plug/step/enable", "1"), -FATHOM_ENOENT);
	CHECK_EQ(put("set_event", "plug:step"), -FATHOM_EINVAL);
	fathom_user_stop();
}

TEST(events_that_were_there_first)
{
	struct plug a = plug_open("alpha.so"), b = plug_open("beta.so");

	start("events=plug:*,out=,buffer_kb=256");
	CHECK_EQ(lines_with("set_event", "plug:step\n"), 2);
	plug_close(&a); /* which shifts the others in the registry */
	CHECK_EQ(lines_with("available_events", "plug:step\n"), 1);
	CHECK_EQ(lines_with("set_event", "plug:step\n"), 1);
	CHECK_EQ(b.run(9), 57);
	CHECK_EQ(lines_with("trace", ": step: x=9\n"), 1);
	a = plug_open("alpha.so"); /* wanted by events= */
	CHECK_EQ(lines_with("set_event", "plug:step\n"), 2);
	CHECK_EQ(put("trace", ""), 0);
	CHECK_EQ(a.run(3), 21);
	CHECK_EQ(lines_with("trace", ": step: x=3\n"), 1);
	plug_close(&b);
	plug_close(&a);
	CHECK_STR(get("set_event"), "");
	fathom_user_stop();
}

static struct fathom_file opened(const char *path, uint32_t flags)
{
	struct fathom_node node;
	struct fathom_file f = {0};

	CHECK_EQ(fathom_fs_lookup(path, &node), 0);
	CHECK_EQ(fathom_fs_open(&f, &node, flags), 0);
	return f;
}

/* Its files say so, and are not those of what takes its place. */
TEST(events_that_go_while_they_are_looked_at)
{
	struct fathom_file filter, format;
	struct fathom_node dir, file;
	struct fathom_stat st;
	struct plug p;
	char buf[64];

	begin();
	p = plug_open("alpha.so");
	filter = opened("events/plug/step/filter", FATHOM_O_RDWR);
	format = opened("events/plug/step/format", FATHOM_O_RDONLY);
	CHECK_EQ(fathom_fs_lookup("events/plug/step", &dir), 0);
	CHECK_EQ(fathom_fs_write(&filter, "x > 3", 5), 5);
	CHECK_EQ(fathom_fs_read(&format, buf, 20), 20);
	plug_close(&p);
	p = plug_open("beta.so");
	CHECK_EQ(fathom_fs_read(&format, buf, 20), -FATHOM_ENODEV);
	CHECK_EQ(fathom_fs_write(&filter, "x > 4", 5), -FATHOM_ENODEV);
	CHECK_EQ(fathom_fs_walk(&dir, "filter", 6, &file), -FATHOM_ENOENT);
	CHECK_EQ(fathom_fs_stat(&dir, &st), -FATHOM_ENOENT);
	CHECK_STR(get("events/plug/step/filter"), "none\n");
	fathom_fs_close(&filter);
	fathom_fs_close(&format);
	plug_close(&p);
	fathom_user_stop();
}

TEST(what_hangs_on_an_event_goes_with_it)
{
	struct fathom_node root;
	struct plug p;

	begin();
	CHECK_EQ(fathom_fs_lookup("instances", &root), 0);
	CHECK_EQ(fathom_fs_mkdir(&root, "one", 3), 0);
	p = plug_open("alpha.so");
	CHECK_EQ(put("events/plug/step/filter", "x == 5"), 0);
	CHECK_EQ(put("events/plug/step/trigger", "traceoff if x == 77"), 0);
	CHECK_EQ(put("instances/one/events/plug/step/enable", "1"), 0);
	CHECK_EQ(put("instances/one/events/plug/filter", "nosuch == 1"), 0);
	append("set_ftrace_filter", "hij_leaf:enable_event:plug:step\n");
	append("set_ftrace_filter", "hij_leaf:traceoff:1\n");
	CHECK(has("set_ftrace_filter", "hij_leaf:enable_event:plug:step:unlimited\n"));
	CHECK(has("events/plug/step/trigger", "traceoff:unlimited if x == 77\n"));
	plug_close(&p);
	CHECK(!has("set_ftrace_filter", "plug"));
	CHECK(has("set_ftrace_filter", "hij_leaf:traceoff:count=1\n"));
	hij_leaf(1);
	CHECK_STR(get("tracing_on"), "0\n");
	CHECK_EQ(put("tracing_on", "1"), 0);
	p = plug_open("beta.so"); /* in its place */
	CHECK_STR(get("events/plug/step/enable"), "0\n");
	CHECK_STR(get("events/plug/step/filter"), "none\n");
	CHECK(!has("events/plug/step/trigger", "77"));
	CHECK_STR(get("instances/one/events/plug/step/enable"), "0\n");
	CHECK(has("instances/one/events/plug/filter", "### global filter ###"));
	p.run(77);
	CHECK_STR(get("tracing_on"), "1\n");
	CHECK(!has("instances/one/trace", "step:"));
	plug_close(&p);
	fathom_user_stop();
}

/* An event of the program that turns one of the library. */
TEST(triggers_that_aim_at_it)
{
	struct plug a, b;

	begin();
	a = plug_open("alpha.so");
	CHECK_EQ(put("events/plug/step/trigger", "enable_event:plug:step"), 0);
	plug_close(&a);
	a = plug_open("alpha.so");
	b = plug_open("beta.so");
	CHECK(!has("events/plug/step/trigger", "enable_event:plug"));
	CHECK_EQ(put("events/plug/step/trigger", "enable_event:plug:step"),
		 0); /* the first's, at the first */
	plug_close(&a);
	CHECK(!has("events/plug/step/trigger", "enable_event:plug"));
	CHECK_STR(get("events/plug/step/enable"), "0\n");
	plug_close(&b);
	fathom_user_stop();
}

/* However often a library comes: the ids are 16 bits. */
TEST(an_event_that_is_back_has_its_id)
{
	unsigned long id = 0;

	begin();
	for (int i = 0; i < 5; i++) {
		struct plug p = plug_open("alpha.so");

		if (!i)
			id = strtoul(get("events/plug/step/id"), NULL, 10);
		CHECK(id);
		CHECK_EQ(strtoul(get("events/plug/step/id"), NULL, 10), id);
		plug_close(&p);
	}
	fathom_user_stop();
}

TEST(no_room_for_events)
{
	struct plug a, b;

	start("tracer=nop,out=,buffer_kb=256,library_events=1");
	CHECK_EQ(put("trace", ""), 0);
	a = plug_open("alpha.so");
	b = plug_open("beta.so");
	CHECK_EQ(lines_with("available_events", "plug:step\n"), 1);
	CHECK_EQ(b.run(2), 15);
	plug_close(&a);
	CHECK_EQ(lines_with("available_events", "plug:step\n"), 0);
	a = plug_open("alpha.so");
	CHECK_EQ(lines_with("available_events", "plug:step\n"), 1);
	plug_close(&b);
	plug_close(&a);
	fathom_user_stop();
}

/* ---- under load ---- */

static atomic_int done;

static void *work(void *wrong)
{
	while (!atomic_load(&done)) {
		if (hij_top(3) != ret_top(3))
			atomic_fetch_add((atomic_int *)wrong, 1);
		hij_work();
		ret_work();
	}
	return NULL;
}

/* A library that stays, and is called all the time. */
static void *work_in(void *library)
{
	int (*run)(int) = (int (*)(int))dlsym(library, "plug_run");
	long wrong = 0;

	while (!atomic_load(&done))
		for (int i = 0; i < 100; i++)
			wrong += run(i) != 6 * i + 3;
	return (void *)wrong;
}

static void *steer(void *rounds)
{
	static const char *const tracers[] = {"function_graph", "function", "nop"};

	for (int n = 0; !atomic_load(&done); n = atomic_fetch_add((atomic_int *)rounds, 1) + 1) {
		CHECK_EQ(put("set_ftrace_filter", n % 4 == 3 ? "*_leaf" : ""), 0);
		CHECK_EQ(put("current_tracer", tracers[n % 3]), 0);
	}
	return NULL;
}

TEST(come_and_go_under_load)
{
	pthread_t worker[2], caller, steerer;
	atomic_int wrong = 0, rounds = 0;
	struct plug stays;
	int times = 0;
	void *bad = NULL;

	begin();
	stays = plug_open("beta.so");
	atomic_store(&done, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&worker[i], NULL, work, &wrong);
	pthread_create(&caller, NULL, work_in, stays.library);
	pthread_create(&steerer, NULL, steer, &rounds);
	/* Who waits for the lock longest need not get it next: so many times and changes, however long that takes. */
	for (; times < 100 || atomic_load(&rounds) < 12; times++) {
		struct plug p = plug_open("alpha.so");

		for (int k = 0; k < 50; k++)
			CHECK_EQ(p.run(k), 6 * k + 3);
		plug_close(&p);
	}
	atomic_store(&done, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(worker[i], NULL);
	pthread_join(caller, &bad);
	pthread_join(steerer, NULL);
	CHECK_EQ(wrong, 0);
	CHECK_EQ((long)bad, 0);
	CHECK_EQ(fathom_functions.nr_named, fathom_functions.nr_sites);
	printf("  %d times, %d changes of the tracer\n", times, rounds);
	plug_close(&stays);
	fathom_user_stop();
}

TEST_MAIN
