/* SPDX-License-Identifier: MIT */
/* main.c -- find the subcommand and run it; help for all of them. */
#include "cmd/cmd.h"
#include "base/diag.h"
#include "base/guess.h"
#include "base/output.h"
#include "base/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
	const char *name; /* NULL: a heading */
	const char *help;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
#define COMMAND(name, help) {#name, help, cmd_##name},
#define GROUP(what)	    {NULL, what, NULL},
#include "cmd/commands.h"
#undef GROUP
#undef COMMAND
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *to)
{
	fputs("usage: fathom COMMAND [OPTIONS] [FILE ...]\n", to);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (commands[i].name)
			fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
		else
			fprintf(to, "\n%s:\n", commands[i].help);
	fputs("\n`fathom help COMMAND` explains a command, `man fathom` everything. To begin:\n"
	      "  fathom report trace.dat | less\n",
	      to);
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (commands[i].name && !strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static int unknown(const char *name)
{
	diag_error("'%s' is not a fathom command", name);
	if (!access(name, F_OK))
		fprintf(stderr, "        it is a file: `fathom report %s` prints it\n", name);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (commands[i].name && guess_similar(name, strlen(name), commands[i].name))
			fprintf(stderr, "        did you mean '%s'?\n", commands[i].name);
	fputs("        `fathom --help` lists them\n", stderr);
	return EXIT_USAGE;
}

/* Everything printed must have arrived: a full disk is an error, a reader that went away (head) is not. */
static int finish(int rc)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return rc;
	if (errno == EPIPE)
		return rc;
	diag_error("cannot write the output: %s", strerror(errno));
	return EXIT_FAIL;
}

/* Traces are mapped: if another program truncates one while it is read, we end here with a message. */
static void file_shrank(int sig)
{
	static const char text[] = "fathom: a file became shorter while it was read\n";
	ssize_t ignored = write(2, text, sizeof(text) - 1);

	(void)ignored;
	(void)sig;
	output_abandon();
	_exit(EXIT_FAIL);
}

/*
 * The reader of stdout has seen enough (head): that is not an error, and the rest of a long search is not done. But a file that
 * is being written is finished, and a message that nobody reads does not end the program.
 */
static void reader_left(int sig)
{
	struct pollfd out = {.fd = STDOUT_FILENO};
	int saved = errno;

	(void)sig;
	if (!diag_is_speaking && !output_pending() && poll(&out, 1, 0) == 1 &&
	    out.revents & POLLERR)
		_exit(EXIT_OK);
	errno = saved;
}

static int run(int argc, char **argv);

int main(int argc, char **argv)
{
	terminal_guard();
	signal(SIGBUS, file_shrank);
	signal(SIGPIPE, reader_left);
	return finish(run(argc, argv));
}

static int run(int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version"))
		argv[1] = "version";
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		if (argc < 3 || !strcmp(argv[2], "help")) {
			usage(stdout);
			return EXIT_OK;
		}
		c = find(argv[2]);
		if (!c)
			return unknown(argv[2]);
		char *help[] = {argv[2], "--help", NULL};

		return c->run(2, help);
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	return c->run(argc - 1, argv + 1);
}
