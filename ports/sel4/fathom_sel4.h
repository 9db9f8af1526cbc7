/* SPDX-License-Identifier: MIT */
/* fathom_sel4.h -- the lines that go into an seL4 kernel; README.md says where. */
#ifndef FATHOM_SEL4_H
#define FATHOM_SEL4_H

#include <config.h>
#include <model/statedata.h>

#ifdef CONFIG_FATHOM_STREAM

/* Once, on the boot core, when the cycle counter runs: the recorder gets its memory and starts. */
void fathom_sel4_boot(void);
/* ksKernelEntry has been filled in: log the entry, with the time in ksEnter. */
void fathom_sel4_entry(void);
/* On the way out, from c_exit_hook(). */
void fathom_sel4_exit(void);
/* switchToThread(): who runs now, and in which address space (the VMID, or an ASID cut to 8 bits). */
void fathom_sel4_switch(tcb_t *next, word_t vmid);
void fathom_sel4_vm_fault(word_t type, word_t addr);
void fathom_sel4_user_fault(word_t number, word_t code);
/* TRACE_POINT_STOP(): its id and duration. */
void fathom_sel4_tracepoint(word_t id, timestamp_t duration);
/* SysBenchmarkResetLog and SysBenchmarkFinalizeLog: start over; stop and dump on the console. */
void fathom_sel4_reset(void);
void fathom_sel4_finalize(void);

#else

static inline void fathom_sel4_boot(void)
{
}
#define fathom_sel4_entry()		  ((void)0)
#define fathom_sel4_exit()		  ((void)0)
#define fathom_sel4_switch(next, vmid)	  ((void)0)
#define fathom_sel4_vm_fault(type, addr)  ((void)0)
#define fathom_sel4_user_fault(nr, code)  ((void)0)
#define fathom_sel4_tracepoint(id, ticks) ((void)0)
#define fathom_sel4_reset()		  ((void)0)
#define fathom_sel4_finalize()		  ((void)0)

#endif
#endif
