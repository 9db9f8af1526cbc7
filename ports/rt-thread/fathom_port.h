/* SPDX-License-Identifier: MIT */
/* fathom_port.h -- RT-Thread on aarch64, one core or several: the hot half. */
#ifndef FATHOM_PORT_H
#define FATHOM_PORT_H

#include <stdint.h>
#include <rtconfig.h>

#ifdef RT_USING_SMP
#define FATHOM_CPUS_MAX RT_CPUS_NR
#else
#define FATHOM_CPUS_MAX 1
#endif
#define FATHOM_STACK_BYTES 16384 /* of the largest thread */
#define FATHOM_PATCH	   1	 /* text can be written */

#ifndef ARCH_USING_HW_THREAD_SELF
#error "rtconfig.h: ARCH_USING_HW_THREAD_SELF: the thread's register changes with the stack, which function_graph needs"
#endif

#define FATHOM_RTT_REGISTER(name)                                       \
	({                                                              \
		uint64_t fathom_value;                                  \
		__asm__ volatile("mrs %0, " name : "=r"(fathom_value)); \
		fathom_value;                                           \
	})

/* rt_hw_cpu_id(), rt_thread_self() and the tick's counter, without a call of something that is traced. */
#define fathom_port_cpu()   ((uint32_t)FATHOM_RTT_REGISTER("tpidrro_el0"))
#define fathom_port_clock() FATHOM_RTT_REGISTER("cntvct_el0")

#define fathom_port_pin	  fathom_port_pin
#define fathom_port_unpin fathom_port_unpin
static inline uintptr_t fathom_port_pin(void)
{
	uintptr_t daif = FATHOM_RTT_REGISTER("daif");

	__asm__ volatile("msr daifset, #3" : : : "memory");
	return daif;
}
static inline void fathom_port_unpin(uintptr_t daif)
{
	__asm__ volatile("msr daif, %0" : : "r"(daif) : "memory");
}

/* How deep in interrupts a CPU is, and how many it took: counted by the hooks. */
struct fathom_rtt_cpu {
	uint32_t depth, taken;
};
extern struct fathom_rtt_cpu fathom_rtt_cpus[FATHOM_CPUS_MAX];
#define fathom_port_context(pin) \
	(((pin)&0x80 ? 0x01u : 0) | (fathom_rtt_cpus[fathom_port_cpu()].depth ? 0x08u : 0))

/* What is kept of a thread; 0 before the scheduler starts. */
struct fathom_task;
int32_t fathom_rtt_pid(uintptr_t thread);
struct fathom_task *fathom_rtt_state(uintptr_t thread);
void fathom_rtt_stack(uintptr_t at, uintptr_t *lo, uintptr_t *hi);
#define fathom_port_task()	 fathom_rtt_pid(FATHOM_RTT_REGISTER("tpidr_el1"))
#define fathom_port_task_state() fathom_rtt_state(FATHOM_RTT_REGISTER("tpidr_el1"))
#define fathom_port_stack	 fathom_rtt_stack

#endif
