/* SPDX-License-Identifier: MIT */
/* shell.h -- the table of shell commands. */
#ifndef DEMO_SHELL_H
#define DEMO_SHELL_H

struct shell_command {
	const char *name, *help;
	int (*run)(int argc, char **argv); /* 0, or what went wrong */
};

int cmd_trace(int argc, char **argv);  /* shell_trace.c */
int cmd_sample(int argc, char **argv); /* sample.c */
int cmd_cat(int argc, char **argv);    /* shell_fs.c */
int cmd_echo(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_cd(int argc, char **argv);
int cmd_mkdir(int argc, char **argv);
int cmd_rmdir(int argc, char **argv);
int cmd_toggle(int argc, char **argv); /* shell_toggle.c */
int cmd_delay(int argc, char **argv);  /* shell_delay.c */
int cmd_disk(int argc, char **argv);   /* shell_disk.c */
int cmd_cause(int argc, char **argv);  /* cause.c */
int cmd_reset(int argc, char **argv);  /* kept.c */
int cmd_spoil(int argc, char **argv);

extern const struct shell_command shell_commands[]; /* ends with a NULL name */

#endif
