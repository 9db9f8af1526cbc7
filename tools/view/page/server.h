/* SPDX-License-Identifier: MIT */
/* server.h -- the page's server: on this machine only, for those who have the token, read only. */
#ifndef VIEW_PAGE_SERVER_H
#define VIEW_PAGE_SERVER_H

#include "view/page/asks.h"

/*
 *   V1  It listens on 127.0.0.1 alone.
 *   V2  Every address begins with a random token of 128 bits; a question without it is answered 403.
 *   V3  The head `Host` must name this server, and `Origin`, if there is one, too: a page from elsewhere cannot ask, even if a
 *       name of its own leads here. Else 403.
 *   V4  GET and HEAD alone; nothing that is asked changes anything.
 */
struct server;

/* Port 0: any that is free. NULL with errno set; ELIBACC: libmicrohttpd is not installed. */
struct server *server_start(struct asks *a, uint16_t port);
/* "http://127.0.0.1:1234/TOKEN/" */
const char *server_url(const struct server *s);
void server_stop(struct server *s);

#endif
