#!/usr/bin/env bash
# no_tasks.sh -- a port without fathom_port_task_state(): a task per CPU of config.nr_cpus, and none where there is no such CPU.
cd "$(dirname "$0")/../.." || exit 1
out=build/port/no_tasks
mkdir -p $out
cat >$out/fathom_port.h <<-END
	#include <stdint.h>
	extern uint32_t running;
	#define fathom_port_cpu() running
	#define fathom_port_clock() ((uint64_t)0)
END
cat >$out/one.c <<-END
	#include "functions/tracers.h"
	uint32_t running;
	struct fathom_core fathom_core;
	struct fathom_task *fathom_cpu_task;
	static struct fathom_task tasks[2];
	int main(void)
	{
		if (fathom_port_task_state())
			return 1;
		fathom_cpu_task = tasks;
		fathom_core.nr_cpus = 2;
		for (running = 0; running < 2; running++)
			if (fathom_port_task_state() != &tasks[running])
				return 2;
		return fathom_port_task_state() ? 3 : 0;
	}
END
if said=$(gcc -std=gnu11 -O2 -Wall -Wextra -I. -Itrace -Itrace/include -I$out $out/one.c -o $out/one 2>&1 && $out/one); then
	echo "ok no_tasks_per_cpu"
else
	echo "not ok no_tasks_per_cpu: $? $said"
	exit 1
fi
