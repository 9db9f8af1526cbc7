/* SPDX-License-Identifier: MIT */
/* flame_draw.c -- the stacks of a trace drawn into a file: what flame does, and convert when OUT is a flame graph. */
#include "cmd/flame_draw.h"
#include "base/diag.h"
#include "base/output.h"
#include "cmd/cmd.h"

#include <string.h>

/* Below the title: what is in the picture, and what is not. */
static void describe(const struct flame_drawing *d, const struct flame *f, const struct stacks *s,
		     char *text, size_t bytes)
{
	const struct {
		const char *what;
		uint64_t n;
	} missing[] = {{"skipped", f->left_out}, {"calls without an end", s->open}};
	size_t n = (size_t)snprintf(text, bytes, "%s stacks", thousands(f->stacks));

	if (account_lost(&s->account)) {
		n += (size_t)snprintf(text + n, bytes - n, ", lost ");
		account_text(&s->account, text + n, bytes - n);
		n = strlen(text);
	}
	for (size_t i = 0; i < 2; i++)
		if (missing[i].n && n < bytes)
			n += (size_t)snprintf(text + n, bytes - n, ", %s %s",
					      thousands(missing[i].n), missing[i].what);
	if (d->compared && n < bytes)
		snprintf(text + n, bytes - n, ", against %s", basename(d->compared));
}

static int draw(const struct flame_drawing *d, struct flame *f, const struct stacks *s, FILE *out)
{
	struct flame_style style = *d->style;
	char sub[512];

	flame_finish(f, d->form->flags & FORM_DRAWING ? flame_least(f, &style) : 0);
	if (!style.title)
		style.title = basename(d->file);
	if (!style.subtitle) {
		describe(d, f, s, sub, sizeof(sub));
		style.subtitle = sub;
	}
	style.unit = s->unit;
	return d->form->write(&(struct form_job){.flame = f, .style = &style}, out);
}

static int write_out(const struct flame_drawing *d, struct flame *f, const struct stacks *s)
{
	struct output out;
	int err = output_open(&out, d->output, false);

	if (!f->stacks)
		diag_warn("no stack matches; nothing to draw");
	if (!err)
		err = output_close(&out, draw(d, f, s, out.f));
	if (!err && strcmp(d->output, "-"))
		fprintf(stderr, "%s: %s stacks, %s frames\n", d->output, thousands(f->stacks),
			thousands(f->nr - 1));
	return output_error(d->output, err) ? EXIT_FAIL : EXIT_OK;
}

int flame_draw(const struct flame_drawing *d)
{
	struct stacks s = {0}, old = {0};
	struct stacks_options *k = &d->stacks->stacks;
	int rc = EXIT_FAIL;
	struct flame *f;

	if (output_is_input(d->output, d->file))
		return EXIT_FAIL;
	f = flame_new();
	if (f)
		f->seen_only = d->form->flags & FORM_DRAWING && !d->style->all;
	if (f && flame_choose(f, d->stacks->only, d->stacks->without) &&
	    !stacks_read(d->file, k, f, false, &s) &&
	    (!d->compared || !stacks_read(d->compared, k, f, true, &old)))
		rc = write_out(d, f, &s);
	flame_free(f);
	stacks_release(&s);
	stacks_release(&old);
	stack_options_close(d->stacks);
	return rc;
}
