/* SPDX-License-Identifier: MIT */
/* save.c -- the tables of a trace as a database file. */
#include "model/model.h"
#include "sql/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One statement with a name in it, quoted. 0 or a negative errno. */
static int run(sqlite3 *db, const char *form, const char *name)
{
	char *text = sqlite3_mprintf(form, name, name);
	int rc = text ? sqlite3_exec(db, text, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(text);
	return rc == SQLITE_OK	       ? 0
	       : rc == SQLITE_FULL     ? -ENOSPC
	       : rc == SQLITE_NOMEM    ? -ENOMEM
	       : rc == SQLITE_IOERR    ? -EIO
	       : rc == SQLITE_CANTOPEN ? -EACCES
				       : -EINVAL;
}

static int save_table(sqlite3 *db, const char *name)
{
	return run(db, "CREATE TABLE saved.\"%w\" AS SELECT * FROM main.\"%w\"", name);
}

/* Under the name by which `fathom sql` knows it: alone, or with its system where two systems have it. */
static int save_type(struct sql *q, const struct schema *k)
{
	char *full = sqlite3_mprintf("%s_%s", k->system, k->name);
	bool alone = false;
	int err = full ? 0 : -ENOMEM;

	for (size_t i = 0; i < q->nr_names; i++)
		alone |= !strcmp(q->names[i], k->name);
	for (size_t i = 0; i < SQL_OWN_TABLES; i++)
		alone &= strcmp(sql_own_tables[i], k->name) != 0;
	if (!err)
		err = save_table(q->db, alone ? k->name : full);
	sqlite3_free(full);
	return err;
}

static int save_tables(struct sql *q)
{
	struct model_counts *n = model_count(q->source);
	int err = n ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < SQL_OWN_TABLES; i++)
		err = save_table(q->db, sql_own_tables[i]);
	for (size_t i = 0; !err && i < q->source->nr_schemas; i++) {
		const struct schema *k = &q->source->schemas[i];

		if (k->id >= SOURCE_ID_FAST || n->by_type[k->id])
			err = save_type(q, k);
	}
	free(n);
	return err;
}

static int save_as(struct source *s, const struct scan_choice *c, const char *path)
{
	sqlite3 *db = NULL;
	struct sql *q = sqlite3_open(":memory:", &db) ? NULL : sql_new(db, s, c);
	int err = q ? run(db, "ATTACH '%q' AS saved", path) : -ENOMEM;

	/* Who fails throws the file away: it needs no journal. */
	if (!err)
		err = run(db, "PRAGMA saved.journal_mode = OFF", "");
	if (!err)
		err = run(db, "PRAGMA saved.synchronous = OFF", "");
	if (!err)
		err = run(db, "BEGIN", "");
	if (!err)
		err = save_tables(q);
	if (!err)
		err = run(db, "COMMIT", "");
	sqlite3_close(db);
	sql_free(q);
	return err;
}

static int copy(FILE *from, FILE *out)
{
	char part[1 << 16];
	size_t n;

	while ((n = fread(part, 1, sizeof(part), from)))
		if (fwrite(part, 1, n, out) != n)
			return 0; /* who opened it finds out why */
	return ferror(from) ? -EIO : 0;
}

int sql_save(struct source *s, const struct scan_choice *c, FILE *out)
{
	const char *folder = getenv("TMPDIR");
	char *path = sqlite3_mprintf("%s/fathom-XXXXXX", folder && *folder ? folder : "/tmp");
	int fd = path ? mkstemp(path) : -1, err = fd < 0 ? -errno : save_as(s, c, path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!err)
		err = f ? copy(f, out) : -ENOMEM;
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	if (fd >= 0)
		unlink(path);
	sqlite3_free(path);
	return err;
}
