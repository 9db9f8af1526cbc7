# The tables of a trace for any program that uses SQLite: build/fathom_sqlite.so.
SQL_STAGES := base decode query store model sql
SQL_SRC    := $(sort $(foreach d,$(SQL_STAGES),$(wildcard tools/$(d)/*.c tools/$(d)/*/*.c))) $(WIRE_SRC)
# Asking and printing is the program's that loads it.
SQL_SRC    := $(filter-out tools/sql/ask.c tools/sql/sheet.c,$(SQL_SRC))
SQL_LIBS   := -ldw -lelf -lzstd -lz -llz4 -lm -pthread

# The host program's objects; those that call SQLite do it through the table that sqlite3 hands to an extension.
SQL_OWN    := $(filter tools/sql/%,$(SQL_SRC))
$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) -DFATHOM_SQLITE_EXTENSION $(DEPFLAGS) -c $< -o $@

$(B)/fathom_sqlite.so: $(SQL_OWN:%.c=$(B)/pic/%.o) $(patsubst %.c,$(B)/host/%.o,$(filter-out $(SQL_OWN),$(SQL_SRC)))
	$(CC) -shared $^ $(SQL_LIBS) -Wl,-z,defs -o $@

.PHONY: extension
extension: $(B)/fathom_sqlite.so ## the loadable extension for sqlite3: SELECT fathom_open('trace.dat')

CHECK_DEPS += $(B)/fathom_sqlite.so
