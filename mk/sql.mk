# The tables of a trace for any program that uses SQLite: build/fathom_sqlite.so.
SQL_STAGES := base decode query store model sql
SQL_SRC    := $(sort $(foreach d,$(SQL_STAGES),$(wildcard tools/$(d)/*.c tools/$(d)/*/*.c))) $(WIRE_SRC)
SQL_LIBS   := -ldw -lelf -lzstd -lz -llz4 -lm -pthread

$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(TOOLS_CFLAGS) -fPIC -fvisibility=hidden -DFATHOM_SQLITE_EXTENSION $(DEPFLAGS) -c $< -o $@

$(B)/fathom_sqlite.so: $(SQL_SRC:%.c=$(B)/pic/%.o)
	$(CC) -shared $^ $(SQL_LIBS) -Wl,-z,defs -o $@

.PHONY: extension
extension: $(B)/fathom_sqlite.so ## the loadable extension for sqlite3: SELECT fathom_open('trace.dat')

CHECK_DEPS += $(B)/fathom_sqlite.so
