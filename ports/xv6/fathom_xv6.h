/* SPDX-License-Identifier: MIT */
/* fathom_xv6.h -- what the lines of `hooks` call. At the end of kernel/defs.h, so every file of the kernel has it. */
struct trapframe;

void fathom_xv6_time(void); /* machine mode, each hart: supervisor and user may read the time */
void fathom_xv6_map(pagetable_t);
void fathom_xv6_init(void);
void fathom_xv6_hart(void);
void fathom_xv6_start(void);
void fathom_xv6_new(struct proc *);
void fathom_xv6_fork(struct proc *, struct proc *);
void fathom_xv6_exec(struct proc *, char *);
void fathom_xv6_exit(struct proc *);
void fathom_xv6_switch(struct proc *, struct proc *); /* 0: the scheduler */
void fathom_xv6_idle(void);
void fathom_xv6_wakeup(struct proc *);
void fathom_xv6_sys_enter(int, struct trapframe *);
void fathom_xv6_sys_exit(int, uint64);
void fathom_xv6_fault(uint64, uint64, uint64);
void fathom_xv6_irq_entry(int);
void fathom_xv6_irq_exit(int);
void fathom_xv6_timer(void);
void fathom_xv6_left(void);
void fathom_xv6_alloc(void *);
void fathom_xv6_free(void *);
void fathom_xv6_input(int);
void fathom_xv6_panic(void);

int kthread(char *, void (*)(void), void *);
