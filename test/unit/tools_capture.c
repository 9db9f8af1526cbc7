/* SPDX-License-Identifier: MIT */
/* tools_capture.c -- recordings and where they come from: the file at every moment, hostile 9P targets, memory images of every kind. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/link.h"
#include "capture/p9.h"
#include "capture/record.h"
#include "decode/source.h"
#include "harness.h"
#include "lib/image_make.h"
#include "lib/p9_target.h"
#include "wire/p9.h"
#include "wire/recording.h"

static char dir[] = "/tmp/fathom-capture-XXXXXX";

static bool made; /* the name alone does not tell: it may have an X of its own */

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static unsigned turn;
	char *to = path[turn++ % 4];

	if (!made && !mkdtemp(dir))
		abort();
	made = true;
	return snprintf(to, 128, "%s/%s", dir, name), to;
}

static void put_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	close(fd);
}

/* ---- the file of a recording ---- */

static void one_page(uint8_t *page, uint32_t n)
{
	struct image_make m = {.longs = 8};

	memset(page, 0, 4096);
	image_put(&m, page, 1000 * n, 8);
	image_put(&m, page + 8, image_record(&m, page + 16, 0, 3, 1, n), 8);
}

static void some_capture(struct capture *c)
{
	struct image_make m = {.longs = 8};
	uint8_t texts[4096];
	struct wire_beacon b;

	capture_init(c);
	capture_set_cpus(c, 2);
	image_texts(&m, texts, &b);
	capture_format(c, "test", strchr((char *)texts + 4, '\n') + 1, b.texts_bytes - 4 - 5);
	c->cpus[1].stats = (struct wire_stats){.nested = 3, .full = 5, .overwritten = 7, .read = 2};
	c->cpus[1].counted = true;
	strcpy(c->ended, "as planned");
	bytes_text(&c->cmdlines, "1 one\n");
}

static uint64_t events_of(struct source *s)
{
	uint64_t n = 0;
	struct event e;

	for (uint32_t i = 0; i < s->nr_streams; i++) {
		struct cursor *c = cursor_open(s, i);

		while (cursor_next(c, &e))
			n++;
		cursor_close(c);
	}
	return n;
}

TEST(a_recording_opens_at_every_moment)
{
	const char *path = in_dir("r.dat");
	struct recording r;
	struct capture c;
	struct source *s;
	uint8_t page[4096];

	some_capture(&c);
	REQUIRE(!recording_open(&r, path));
	CHECK(access(path, F_OK)); /* nothing is seen before it can be opened */
	REQUIRE(!recording_begin(&r, &c));
	for (uint32_t i = 0; i < 20; i++) {
		one_page(page, i + 1);
		CHECK_EQ(recording_page(&r, i % 2, page, i % 3 ? 4096 : 40), 0);
		REQUIRE(!source_open(path, NULL, &s));
		CHECK_EQ(events_of(s), i + 1);
		CHECK_STR(s->info.ended, "the recorder was killed");
		CHECK_EQ(s->damage_total, 0);
		source_close(s);
	}
	CHECK_EQ(recording_end(&r, &c), 0);
	CHECK_EQ(recording_close(&r), 0);
	REQUIRE(!source_open(path, NULL, &s));
	CHECK_EQ(events_of(s), 20);
	CHECK_STR(s->info.ended, "as planned");
	CHECK_STR(source_comm(s, 1), "one");
	/* Each counter under its own name, and none for the CPU that was not asked. */
	CHECK(strstr(s->info.cpustat, "CPU: 1\n"));
	CHECK(!strstr(s->info.cpustat, "CPU: 0\n"));
	CHECK(strstr(s->info.cpustat, "\noverrun: 7\n"));
	CHECK(strstr(s->info.cpustat, "\ncommit overrun: 3\n"));
	CHECK(strstr(s->info.cpustat, "\ndropped events: 5\n"));
	source_close(s);
	capture_free(&c);
}

TEST(a_cut_recording_shows_the_rest)
{
	const char *path = in_dir("r.dat"), *cut = in_dir("cut.dat");
	struct recording r;
	struct capture c;
	struct source *s;
	uint8_t page[4096], *bytes;
	struct stat st;
	int fd;

	some_capture(&c);
	REQUIRE(!recording_open(&r, path) && !recording_begin(&r, &c));
	for (uint32_t i = 0; i < 3; i++) {
		one_page(page, i + 1);
		recording_page(&r, 0, page, 4096);
	}
	fd = open(path, O_RDONLY);
	REQUIRE(!fstat(fd, &st));
	bytes = malloc((size_t)st.st_size);
	REQUIRE(read(fd, bytes, (size_t)st.st_size) == st.st_size);
	close(fd);
	for (uint32_t off = 1; off < 8000; off += 501) {
		put_file(cut, bytes, (size_t)st.st_size - off);
		REQUIRE(!source_open(cut, NULL, &s));
		CHECK_EQ(events_of(s), off <= 4112 ? 2 : 1);
		CHECK(s->damage_total > 0);
		source_close(s);
	}
	/* A record that is damaged is passed over. */
	memset(bytes + st.st_size - 2 * 4112, 0, 8);
	put_file(cut, bytes, (size_t)st.st_size);
	REQUIRE(!source_open(cut, NULL, &s));
	CHECK_EQ(events_of(s), 2);
	CHECK(s->damage_total > 0);
	source_close(s);
	free(bytes);
	recording_close(&r);
	capture_free(&c);
}

/* The file may not grow any more: the page that does not fit is still in it, after the others, and so is the end. */
TEST(a_full_disk_loses_no_page)
{
	const char *path = in_dir("full.dat");
	struct rlimit old, full;
	struct recording r;
	struct capture c;
	struct source *s;
	struct cursor *at;
	struct event e;
	uint8_t page[4096];
	uint64_t n, last = 0;
	uint32_t i = 0;

	some_capture(&c);
	REQUIRE(!recording_open(&r, path) && !recording_begin(&r, &c));
	getrlimit(RLIMIT_FSIZE, &old);
	full = (struct rlimit){r.at + 5 * 4112 + 1000, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &full);
	do {
		one_page(page, ++i);
	} while (!recording_pages(&r, 0, page, 4096));
	CHECK_EQ(r.err, -EFBIG);
	CHECK_EQ(i, 6);
	recording_end(&r, &c);
	CHECK_EQ(recording_close(&r), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	REQUIRE(!source_open(path, NULL, &s));
	at = cursor_open(s, 0);
	while (cursor_next(at, &e)) {
		REQUIRE(source_field(s, &e, "n", &n));
		CHECK_EQ(n, last + 1);
		last = n;
	}
	CHECK_EQ(last, 6);
	CHECK_STR(s->info.ended, "as planned");
	CHECK(strstr(s->info.cpustat, "\ndropped events: 5\n"));
	CHECK_STR(source_comm(s, 1), "one");
	CHECK_EQ(s->damage_total, 0);
	cursor_close(at);
	source_close(s);
	capture_free(&c);
}

/* ---- hostile targets ---- */

static int count_entry(void *arg, const char *name, const struct p9_stat *st)
{
	(void)st;
	*(size_t *)arg += strlen(name);
	return 0;
}

/* What a stat or a listing says of the target's answers: an errno. */
static int ask(uint8_t *answers, size_t bytes, bool list)
{
	struct p9_target t;
	struct p9_stat st;
	int err = -ENOTCONN;
	size_t sum = 0;
	struct p9 *c;

	p9_target_start(&t, answers, bytes, 60000);
	c = p9_attach(t.pair[0], "target");
	if (c) {
		err = list ? p9_list(c, "x", count_entry, &sum) : p9_stat(c, "x", &st);
		p9_close(c);
	}
	p9_target_end(&t);
	return err;
}

/* Rversion with the largest messages, Rattach, Rwalk of one name. */
static size_t greet(uint8_t *p, uint32_t msize)
{
	static const uint8_t rest[] = {20, 0, 0, 0, 105, 0, 0,	0x80, 0, 0, 0,	 0, 1, 0,
				       0,  0, 0, 0, 0,	 0, 22, 0,    0, 0, 111, 0, 0, 1,
				       0,  0, 0, 0, 0,	 0, 0,	0,    0, 0, 0,	 0, 0, 0};
	static const uint8_t version[] = {19, 0, 0, 0,	 101, 0xff, 0xff, 0,   0,  0,
					  0,  6, 0, '9', 'P', '2',  '0',  '0', '0'};

	memcpy(p, version, sizeof(version));
	wire_p9_put(p + 7, msize, 4);
	memcpy(p + sizeof(version), rest, sizeof(rest));
	return sizeof(version) + sizeof(rest);
}

#define STAT_FIXED 41u /* of a stat behind its size, up to the name */

/* The last stat of the largest answer claims to be shorter than its fixed part; its name would lie behind the message. */
TEST(p9_stat_that_is_shorter_than_its_fixed_part)
{
	static uint8_t p[1 << 17];
	static const uint8_t opened[] = {24, 0, 0, 0, 113, 0, 0, 0x80, 0, 0, 0, 0,
					 1,  0, 0, 0, 0,   0, 0, 0,    0, 0, 0, 0};
	size_t at = greet(p, 65536), size = 65536;
	uint8_t *read;

	memcpy(p + at, opened, sizeof(opened));
	read = p + at + sizeof(opened);
	wire_p9_put(read, (uint32_t)size, 4);
	read[4] = 117;
	wire_p9_put(read + 7, (uint32_t)size - 11, 4);
	/* One long stat, so that the next one ends with the message. */
	wire_p9_put(read + 11, (uint32_t)(size - 11 - 2 - 2 - STAT_FIXED), 2);
	wire_p9_put(read + size - STAT_FIXED - 2, 2, 2);
	wire_p9_put(read + size - 2, 255, 2);
	CHECK_EQ(ask(p, at + sizeof(opened) + size, true), -EPROTO);
}

TEST(p9_message_larger_than_agreed)
{
	static uint8_t p[1 << 18];
	size_t at = greet(p, 8192);

	wire_p9_put(p + at, 200000, 4);
	p[at + 4] = 125;
	CHECK_EQ(ask(p, at + 200000, false), -EIO);
	wire_p9_put(p + at, 8193, 4);
	CHECK_EQ(ask(p, at + 8193, false), -EIO);
}

/* ---- a slow client ---- */

#define OWN_PATIENCE_MS 2000

static sem_t put_aside, answered;

/* The client is put aside here, for longer than it has patience; the target answers meanwhile. */
static bool slow_look(void)
{
	static bool once;

	if (!once) {
		once = true;
		sem_post(&put_aside);
		sem_wait(&answered);
		usleep((OWN_PATIENCE_MS + 100) * 1000);
	}
	return false;
}

static void *answer_meanwhile(void *arg)
{
	static uint8_t missing[] = "\x22\0\0\0\x6b\0\0\x19\0No such file or directory";
	uint8_t p[128];
	size_t n = greet(p, 8192) - 22; /* without the walk */
	int fd = *(int *)arg, tag[2];

	if (p9_target_request(fd, 60000) < 0 || send(fd, p, 19, 0) < 0 ||
	    p9_target_request(fd, 60000) < 0 || send(fd, p + 19, n - 19, 0) < 0 ||
	    (tag[0] = p9_target_request(fd, 60000)) < 0 ||
	    (tag[1] = p9_target_request(fd, 60000)) < 0)
		return NULL;
	sem_wait(&put_aside);
	for (int i = 0; i < 2; i++) {
		wire_p9_put(missing + 5, (uint32_t)tag[i], 2);
		send(fd, missing, sizeof(missing) - 1, MSG_NOSIGNAL);
	}
	sem_post(&answered);
	return NULL;
}

/* What passed while the client itself did not run is not the target's silence. */
TEST(p9_patience_is_the_clients_own_time)
{
	struct p9_stat st;
	pthread_t thread;
	int pair[2];
	struct p9 *c;

	sem_init(&put_aside, 0, 0);
	sem_init(&answered, 0, 0);
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	REQUIRE(!pthread_create(&thread, NULL, answer_meanwhile, &pair[1]));
	c = p9_attach(pair[0], "target");
	REQUIRE(c);
	p9_stop_when(c, slow_look);
	p9_patience(c, OWN_PATIENCE_MS, OWN_PATIENCE_MS);
	CHECK_EQ(p9_stat(c, "x", &st), -ENOENT);
	CHECK(!p9_is_dead(c));
	p9_close(c);
	pthread_join(thread, NULL);
	close(pair[1]);
}

/* ---- a slow line ---- */

#define PIECE_US 100000

/* An answer that takes more than three seconds, a byte at a time. */
static void *answer_slowly(void *arg)
{
	uint8_t request[WIRE_FRAME_BYTES(0)], answer[WIRE_FRAME_BYTES(12)] = {0};
	int fd = *(int *)arg;

	if (p9_target_take(fd, request, sizeof(request)))
		return NULL;
	fathom_frame_seal(answer, WIRE_FRAME_STATS | WIRE_FRAME_ANSWER, 1, 0, 12);
	for (size_t i = 0; i < sizeof(answer) && send(fd, answer + i, 1, MSG_NOSIGNAL) == 1; i++)
		usleep(PIECE_US);
	return NULL;
}

/* What is on its way is not asked for again: that would come on top of it. */
TEST(line_that_is_slow)
{
	static struct link l;
	struct wire_frame f;
	pthread_t thread;
	int pair[2];

	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	REQUIRE(!pthread_create(&thread, NULL, answer_slowly, &pair[1]));
	l = (struct link){.fd = pair[0]};
	fcntl(l.fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(link_ask(&l, WIRE_FRAME_STATS, 0, NULL, 0, &f), 0);
	CHECK_EQ(l.resent, 0);
	CHECK_EQ(f.bytes, 12);
	close(pair[0]);
	pthread_join(thread, NULL);
	close(pair[1]);
}

static void put_answer(int fd, uint8_t type, uint32_t number, int32_t result, const void *data,
		       uint32_t bytes)
{
	uint8_t frame[WIRE_FRAME_MAX];
	uint32_t n;

	memcpy(frame + WIRE_FRAME_HEADER, data, bytes);
	n = fathom_frame_seal(frame, type | WIRE_FRAME_ANSWER, number, (uint32_t)result, bytes);
	CHECK_EQ(write(fd, frame, n), n);
}

/* Pages come packed, or as they are from a target that knows no others; it is asked for packed ones once. */
TEST(pages_of_old_and_new_targets)
{
	static struct wire_packer packer;
	static struct link l;

	for (int old = 0; old < 2; old++) {
		const char *path = in_dir("packed.dat");
		uint8_t page[4096], packed[WIRE_PACKED_HEAD + 4096];
		struct recording r;
		struct capture c;
		struct source *s;
		uint32_t number = 0;
		int pair[2];
		bool full;

		some_capture(&c);
		REQUIRE(!recording_open(&r, path));
		REQUIRE(!recording_begin(&r, &c));
		REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		fcntl(pair[0], F_SETFL, O_NONBLOCK);
		l = (struct link){.fd = pair[0]};
		for (uint32_t i = 0; i < 3; i++) {
			one_page(page, i + 1);
			if (old && !i)
				put_answer(pair[1], WIRE_FRAME_PACKED, ++number, -ENOSYS, page, 0);
			if (old)
				put_answer(pair[1], WIRE_FRAME_PAGE, ++number, 0, page, 40);
			else
				put_answer(pair[1], WIRE_FRAME_PACKED, ++number, 0, packed,
					   fathom_page_pack(&packer, page, 40, packed));
			CHECK_EQ(link_pages(&l, &r, 1, &full), 1);
			CHECK(!full);
		}
		put_answer(pair[1], old ? WIRE_FRAME_PAGE : WIRE_FRAME_PACKED, ++number, 0, page,
			   0);
		CHECK_EQ(link_pages(&l, &r, 1, &full), 0);
		if (!old) { /* a packed page that is none */
			put_answer(pair[1], WIRE_FRAME_PACKED, ++number, 0, packed, 7);
			CHECK_EQ(link_pages(&l, &r, 1, &full), -EPROTO);
		}
		CHECK_EQ(recording_end(&r, &c), 0);
		CHECK_EQ(recording_close(&r), 0);
		REQUIRE(!source_open(path, NULL, &s));
		CHECK_EQ(events_of(s), 3);
		CHECK_EQ(s->damage_total, 0);
		source_close(s);
		capture_free(&c);
		close(pair[0]);
		close(pair[1]);
	}
}

/* ---- memory images ---- */

static int recover(const struct image_make *m, uint64_t base, struct capture *c, const char *out)
{
	struct record_options o = {
		.output = out, .image = in_dir("image"), .kernel = in_dir("elf")};
	uint8_t elf[1024];
	size_t n = image_kernel_elf(m, elf);
	int status;

	put_file(o.image, m->bytes, sizeof(m->bytes));
	put_file(o.kernel, elf, n);
	o.base = base;
	capture_init(c);
	return record_run(&o, c, &status);
}

/* Every event is there once, in order, and the missing ones stand where they are missing. */
static void check_image(const char *path, uint32_t events)
{
	uint64_t n, seen = 0, lost = 0, value = 0;
	struct source *s;
	struct cursor *c;
	struct event e;

	REQUIRE(!source_open(path, NULL, &s));
	c = cursor_open(s, 0);
	while (cursor_next(c, &e)) {
		REQUIRE(source_field(s, &e, "n", &n));
		lost += e.lost;
		CHECK_EQ(n, value + e.lost);
		value = n + 1;
		seen++;
	}
	CHECK_EQ(seen, events);
	CHECK_EQ(lost, 5);
	CHECK_EQ(s->damage_total, 0);
	CHECK(strstr(s->info.cpustat, "\noverrun: 11\n"));
	CHECK(strstr(s->info.cpustat, "\ndropped events: 12\n"));
	CHECK(strstr(s->info.cpustat, "\ncommit overrun: 13\n"));
	cursor_close(c);
	source_close(s);
}

TEST(memory_of_every_kind)
{
	static struct image_make m;

	for (int kind = 0; kind < 4; kind++) {
		struct capture c;
		uint32_t events;

		m.big = kind & 1;
		m.longs = kind & 2 ? 4 : 8;
		events = image_make(&m);
		CHECK_EQ(recover(&m, kind * 0x40000000ull, &c, in_dir("m.dat")), 0);
		check_image(in_dir("m.dat"), events);
		CHECK_EQ(c.nr_formats, 1);
		CHECK(strstr((char *)c.kallsyms.data, "c0000010 T work\n"));
		capture_free(&c);
	}
}

/* Addresses that lead out of the block, one member at a time: nothing crashes, and what can be read is. */
TEST(memory_that_leads_nowhere)
{
	static struct image_make m;
	static const uint64_t values[] = {
		0, 1, ~0ull, IMAGE_VIRT + IMAGE_BYTES - 4096 - 8, 0xc0000ff8, IMAGE_VIRT - 8};

	m.longs = 8;
	for (unsigned member = 0; member < 30; member++)
		for (unsigned v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			struct capture c;

			image_make(&m);
			image_put(&m, m.bytes + 3 * 4096 + IMAGE_HEAD + 8 * member, values[v], 8);
			recover(&m, 0, &c, in_dir("m.dat"));
			capture_free(&c);
		}
	for (unsigned slot = 0; slot < 3; slot++) {
		struct capture c;

		image_make(&m);
		image_put(&m, m.bytes + 3 * 4096 + IMAGE_SLOTS + 8 * slot, 3 + slot, 8);
		image_put(&m, m.bytes + 4096 + offsetof(struct wire_beacon, block_bytes),
			  5 * 4096 + 8 * slot, 8);
		image_seal(&m);
		recover(&m, 0, &c, in_dir("m.dat"));
		capture_free(&c);
	}
}

/* A beacon with one wrong bit is none, wherever the bit is. */
TEST(memory_with_a_damaged_beacon)
{
	static struct image_make m = {.longs = 8};
	struct capture c;

	for (size_t at = 0; at < sizeof(struct wire_beacon); at += 5) {
		image_make(&m);
		m.bytes[4096 + at] ^= 0x10;
		CHECK(recover(&m, 0, &c, in_dir("m.dat")) < 0);
		capture_free(&c);
	}
}

/* ARM and RISC-V mark code and data by symbols that are no names. */
TEST(mapping_symbols_are_no_names)
{
	static struct image_make m = {.longs = 8};
	static const char *const marks[] = {"$x", "$d", "$d.1", "$xrv"}, *const names[] = {"$y",
											   "x$"};
	uint8_t elf[1024];
	struct capture c;

	for (unsigned i = 0; i < 6; i++) {
		size_t n = image_kernel_elf(&m, elf);

		strcpy((char *)elf + n - 31, i < 4 ? marks[i] : names[i - 4]);
		put_file(in_dir("elf"), elf, n);
		capture_init(&c);
		CHECK_EQ(capture_kallsyms(&c, in_dir("elf")), i < 4 ? -1 : 0);
		capture_free(&c);
	}
}

TEST(nothing_is_left)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK(!made || !system(command));
}

TEST_MAIN
