/* SPDX-License-Identifier: MIT */
/* weak.h -- memory as a weakly ordered CPU may show it, under code built with -fsanitize=thread. */
#ifndef MODEL_WEAK_H
#define MODEL_WEAK_H

#include <stddef.h>
#include <stdint.h>

/* What the model gives. */
uint32_t weak_choose(uint32_t n, const char *point); /* one of n: 0 first */
int weak_thread(void);				     /* who runs: 0 or 1; -1: nobody looks */
void weak_failed(const char *what, size_t at);	     /* at: bytes into the watched memory */
void weak_exchanged(const void *at, uint64_t old, uint64_t put);
/* Before each access of what is watched, and before each fence (NULL): others may run now. Only if weak.c is built with WEAK_STEPS. */
void weak_step(const void *at);

/* Memory that both threads use; the first is 4096-aligned from `pages` on, whose words may be seen one by one. */
void weak_watch(void *memory, size_t bytes, size_t pages);
void weak_watch_more(void *memory, size_t bytes);

void weak_start(uint32_t stale); /* a run begins: at most so many loads see an old value */
void weak_flush(void);		 /* before another context runs, or anyone looks */
void weak_sync(void);		 /* every CPU has executed a full barrier */

/* Thread 1 has read these bytes for good: thread 0 may overwrite them only if it knows. */
void weak_claim(const void *from, size_t bytes);

#endif
