/* SPDX-License-Identifier: MIT */
/* server.c -- the page's server: on this machine only, for those who have the token, read only. */
#include "view/page/server.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define THREADS	     4u
#define CLIENT_BYTES (1u << 20) /* of heads and address: lists of names may be long */

/* The library is loaded when a server is wanted: with all that it needs, it would double the time every command takes to start. */
#define LIBRARY "libmicrohttpd.so.12"
static struct {
	__typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
	__typeof__(&MHD_add_response_header) add_response_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
	__typeof__(&MHD_lookup_connection_value) lookup_connection_value;
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_get_daemon_info) get_daemon_info;
	__typeof__(&MHD_stop_daemon) stop_daemon;
} mhd;

static bool load_library(void)
{
	const struct {
		const char *name;
		void *to;
	} wanted[] = {{"MHD_create_response_from_buffer", &mhd.create_response_from_buffer},
		      {"MHD_add_response_header", &mhd.add_response_header},
		      {"MHD_queue_response", &mhd.queue_response},
		      {"MHD_destroy_response", &mhd.destroy_response},
		      {"MHD_lookup_connection_value", &mhd.lookup_connection_value},
		      {"MHD_start_daemon", &mhd.start_daemon},
		      {"MHD_get_daemon_info", &mhd.get_daemon_info},
		      {"MHD_stop_daemon", &mhd.stop_daemon}};
	void *lib = dlopen(LIBRARY, RTLD_NOW);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *f = lib ? dlsym(lib, wanted[i].name) : NULL;

		if (!f)
			return false;
		memcpy(wanted[i].to, &f, sizeof(f));
	}
	return true;
}

struct server {
	struct MHD_Daemon *daemon;
	struct asks *asks;
	uint16_t port;
	char token[33];
	char url[96];
};

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, const char *type,
			     char *bytes, size_t n)
{
	struct MHD_Response *r = mhd.create_response_from_buffer(n, bytes, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result ok;

	if (!r) {
		free(bytes);
		return MHD_NO;
	}
	mhd.add_response_header(r, "Content-Type", type);
	mhd.add_response_header(r, "Cache-Control", "no-store");
	mhd.add_response_header(r, "X-Content-Type-Options", "nosniff");
	mhd.add_response_header(r, "Referrer-Policy", "no-referrer");
	mhd.add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	mhd.add_response_header(r, "X-Frame-Options", "DENY");
	ok = mhd.queue_response(c, status, r);
	mhd.destroy_response(r);
	return ok;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status, const char *why)
{
	char *text = NULL;
	int n = asprintf(&text, "%s\n", why);

	return n < 0 ? MHD_NO : reply(c, status, "text/plain; charset=utf-8", text, (size_t)n);
}

/* ---- who may ask ---- */

/* In a time that does not show how much of it was right. */
static bool same_token(const char *a, const char *b)
{
	uint8_t diff = 0;

	for (size_t i = 0; i < 32; i++) {
		if (!a[i])
			return false;
		diff |= (uint8_t)(a[i] ^ b[i]);
	}
	return !diff && a[32] == '/';
}

static bool names_us(const struct server *s, const char *host, const char *before)
{
	char here[64], local[64];

	snprintf(here, sizeof(here), "%s127.0.0.1:%u", before, s->port);
	snprintf(local, sizeof(local), "%slocalhost:%u", before, s->port);
	return host && (!strcmp(host, here) || !strcmp(host, local));
}

static bool is_allowed(const struct server *s, struct MHD_Connection *c, const char *url)
{
	const char *origin = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
	const char *site = mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");

	return names_us(s, mhd.lookup_connection_value(c, MHD_HEADER_KIND, "Host"), "") &&
	       (!origin || names_us(s, origin, "http://")) &&
	       (!site || !strcmp(site, "same-origin") || !strcmp(site, "none")) && url[0] == '/' &&
	       same_token(url + 1, s->token);
}

/* ---- answers ---- */

static const char *parameter(void *arg, const char *name)
{
	return mhd.lookup_connection_value(arg, MHD_GET_ARGUMENT_KIND, name);
}

/* The first answer becomes a page with it inside. */
static int wrap(const char *title, char **text, size_t *n)
{
	char *meta = *text;
	size_t bytes = *n;
	FILE *f = open_memstream(text, n);

	if (f)
		page_shell(title, meta, bytes, f);
	else
		*text = NULL;
	free(meta);
	return f && !fclose(f) ? 0 : -ENOMEM;
}

static enum MHD_Result answer(struct server *s, struct MHD_Connection *c, const char *what)
{
	struct asked q = {parameter, c};
	char why[256] = "", *text = NULL;
	bool binary = false;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	int err = f ? 0 : -ENOMEM;

	if (f)
		err = ask(s->asks, *what ? what : "meta", &q, f, &binary, why);
	if (f && fclose(f))
		err = -ENOMEM;
	if (!err && !*what)
		err = wrap(s->asks->title, &text, &n);
	if (!err)
		return reply(c, MHD_HTTP_OK,
			     !*what   ? "text/html; charset=utf-8"
			     : binary ? "application/octet-stream"
				      : "application/json",
			     text, n);
	free(text);
	if (err == -ENOENT)
		return refuse(c, MHD_HTTP_NOT_FOUND, "there is no such answer");
	if (err == -EINVAL)
		return refuse(c, MHD_HTTP_BAD_REQUEST,
			      *why ? why : "a parameter is missing, or is not a number");
	return refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(-err));
}

static enum MHD_Result request(void *arg, struct MHD_Connection *c, const char *url,
			       const char *method, const char *version, const char *data,
			       size_t *bytes, void **state)
{
	struct server *s = arg;

	(void)version;
	(void)data;
	(void)bytes;
	(void)state;
	if (!is_allowed(s, c, url))
		return refuse(c, MHD_HTTP_FORBIDDEN,
			      "not allowed: open the address that fathom view printed");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "this server is read only");
	return answer(s, c, url + 34);
}

/* ---- begin and end ---- */

static bool make_token(char token[33])
{
	uint8_t bytes[16];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

struct server *server_start(struct asks *a, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct server *s = calloc(1, sizeof(*s));
	const union MHD_DaemonInfo *info;

	if (!s || !make_token(s->token) || !load_library()) {
		errno = s && s->token[0] ? ELIBACC : ENOMEM;
		free(s);
		return NULL;
	}
	s->asks = a;
	s->daemon = mhd.start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, request, s,
				     MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_THREAD_POOL_SIZE,
				     THREADS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)CLIENT_BYTES, MHD_OPTION_CONNECTION_LIMIT, 64u,
				     MHD_OPTION_CONNECTION_TIMEOUT, 60u, MHD_OPTION_END);
	info = s->daemon ? mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		server_stop(s);
		return NULL;
	}
	s->port = info->port;
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u/%s/", s->port, s->token);
	return s;
}

const char *server_url(const struct server *s)
{
	return s->url;
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	if (s->daemon)
		mhd.stop_daemon(s->daemon);
	free(s);
}
