/* SPDX-License-Identifier: MIT */
/* tools_frames.c -- fuzz target: the trace line. Frames whose checksum is right and whose contents are not, as a kernel may send them. */
#include "capture/link.h"
#include "wire/frame.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t asked[] = {WIRE_FRAME_HELLO, WIRE_FRAME_EVENT, WIRE_FRAME_PACKED,
				WIRE_FRAME_PAGE,  WIRE_FRAME_STATS, WIRE_FRAME_PRINTK};

/* Answers to what use() asks, in its order: u16 bytes, u8 argument, payload. What is left is sent as it is. */
static void answer(int fd, const uint8_t *data, size_t size)
{
	uint8_t frame[WIRE_FRAME_MAX];

	for (uint32_t i = 0; i < sizeof(asked) && size >= 3; i++) {
		size_t n = (size_t)(data[0] | data[1] << 8) % (WIRE_FRAME_PAYLOAD + 1), sealed;

		n = n < size - 3 ? n : size - 3;
		memcpy(frame + WIRE_FRAME_HEADER, data + 3, n);
		sealed = fathom_frame_seal(frame, asked[i] | WIRE_FRAME_ANSWER, i + 1,
					   (uint32_t)(int8_t)data[2], (uint32_t)n);
		if (send(fd, frame, sealed, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sealed)
			return;
		data += 3 + n;
		size -= 3 + n;
	}
	send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void use(struct link *l)
{
	struct recording r;
	struct capture c;
	uint32_t events;
	bool full;

	capture_init(&c);
	if (!recording_open(&r, "/dev/null")) {
		if (!link_hello(l, &c, &events) && !link_formats(l, &c, events ? 1 : 0) &&
		    !recording_begin(&r, &c) && link_pages(l, &r, 1, &full) >= 0 &&
		    !link_stats(l, &c))
			link_printks(l, &c);
		r.begun = false;
		recording_close(&r);
	}
	capture_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int pair[2];

	if (!size || size > 60000 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 0;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	answer(pair[1], data, size);
	shutdown(pair[1], SHUT_WR);

	struct link l = {.fd = pair[0], .other_fd = -1};

	use(&l);
	close(pair[0]);
	close(pair[1]);
	return 0;
}
