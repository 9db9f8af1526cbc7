/* SPDX-License-Identifier: MIT */
/* stubs.h -- just enough of other kernels' types for Linux's event headers to compile against our macros. */
/* clang-format off */
#ifndef TEST_INTEROP_STUBS_H
#define TEST_INTEROP_STUBS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef _Bool bool; /* a type, not a macro: format files show its name */
#define true 1
#define false 0
typedef uint8_t u8, __u8;		typedef int8_t s8, __s8;
typedef uint16_t u16, __u16, __be16, __le16, __sum16;	typedef int16_t s16, __s16;
typedef uint32_t u32, __u32, __be32, __le32;	typedef int32_t s32, __s32;
typedef unsigned long long u64, __u64, __be64, __le64;	typedef long long s64, __s64;
typedef int pid_t, clockid_t;
typedef unsigned int gfp_t, fmode_t, uint, dev_t, uid_t, gid_t, tcflag_t, blk_opf_t, vm_fault_t;
typedef unsigned short umode_t, ushort;
typedef unsigned long ulong, pgoff_t, ino_t;
typedef u64 sector_t, blkcnt_t, dma_addr_t, phys_addr_t, resource_size_t, hwaddr_t, async_cookie_t;
typedef s64 ktime_t, time64_t, loff_t;
#ifndef __off_t_defined
typedef long off_t;
#define __off_t_defined
#endif
typedef struct { unsigned long val; } pgd_t, pud_t, pmd_t, pte_t;
typedef struct { int counter; } atomic_t, refcount_t;
typedef struct { u64 val; } kuid_t, kgid_t;
typedef struct { unsigned long bits[4]; } cpumask_t, nodemask_t;
typedef struct { u8 b[16]; } guid_t, uuid_t;
typedef int irqreturn_t;

#define __user
#define __iomem
#define __rcu
#define __force
#define __bitwise
#define BIT(n)			(1ul << (n))
#define BIT_ULL(n)		(1ull << (n))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define trace_seq		fathom_text
#define __percpu
#define __mode(x) __attribute__((mode(x)))
#define __always_unused
#define nr_cpumask_bits		64
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define IS_ENABLED(x)		0
#define unlikely(x)		(x)
#define likely(x)		(x)
#define __stringify_1(x...)	#x
#define __stringify(x...)	__stringify_1(x)
#define READ_ONCE(x)		(x)
#define rcu_dereference(x)	(x)
#define EXPORT_SYMBOL_GPL(x)
#define PTR_ERR(p)		((long)(p))
#define IS_ERR(p)		((unsigned long)(p) > -4096ul)
#define lower_32_bits(n)	((u32)(n))
#define upper_32_bits(n)	((u32)((n) >> 32))
#define be16_to_cpu(x)		__builtin_bswap16(x)
#define be32_to_cpu(x)		__builtin_bswap32(x)
#define be64_to_cpu(x)		__builtin_bswap64(x)
#define le16_to_cpu(x)		(x)
#define le32_to_cpu(x)		(x)
#define le64_to_cpu(x)		(x)
#define ntohs(x)		__builtin_bswap16(x)
#define ntohl(x)		__builtin_bswap32(x)
#define MAJOR(d)		((d) >> 20)
#define MINOR(d)		((d) & 0xfffff)
#define MKDEV(a, b)		((a) << 20 | (b))
#define PAGE_SHIFT		12
#define PAGE_SIZE		4096ul
#define HZ			250
#define IFNAMSIZ		16
#define ETH_ALEN		6
#define ktime_to_ns(t)		(t)
#define ktime_to_us(t)		((t) / 1000)
#define ktime_add(a, b)		((a) + (b))
#define ktime_set(s, n)		((s) * 1000000000ll + (n))
#define pr_debug(x...)

/* ---- tasks ---- */
#define TASK_COMM_LEN		16
#define TASK_RUNNING		0x00000000
#define TASK_INTERRUPTIBLE	0x00000001
#define TASK_UNINTERRUPTIBLE	0x00000002
#define __TASK_STOPPED		0x00000004
#define __TASK_TRACED		0x00000008
#define EXIT_DEAD		0x00000010
#define EXIT_ZOMBIE		0x00000020
#define TASK_PARKED		0x00000040
#define TASK_DEAD		0x00000080
#define TASK_REPORT		(TASK_RUNNING | TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE | __TASK_STOPPED | \
				 __TASK_TRACED | EXIT_DEAD | EXIT_ZOMBIE | TASK_PARKED)
#define TASK_REPORT_IDLE	(TASK_REPORT + 1)
#define TASK_REPORT_MAX		(TASK_REPORT_IDLE << 1)

struct mm_struct { unsigned long total_vm; struct { unsigned long id; } context; };
struct task_struct {
	char comm[TASK_COMM_LEN];
	int pid, tgid, prio, normal_prio, exit_state, flags;
	unsigned int __state;
	struct mm_struct *mm;
	struct { unsigned short oom_score_adj; } *signal;
};
extern struct task_struct *current;
struct pid;
struct pid_namespace;
struct rq;
struct cfs_rq;
struct sched_entity;
struct root_domain;
static inline unsigned int task_cpu(const struct task_struct *p) { return (unsigned int)p->flags; }
static inline int pid_nr(struct pid *p) { return p != NULL; }
static inline int task_pid_nr(struct task_struct *t) { return t->pid; }
static inline int task_tgid_nr(struct task_struct *t) { return t->tgid; }
static inline int task_numa_group_id(struct task_struct *t) { return t->flags; }
static inline int cpu_to_node(int cpu) { return cpu / 8; }
static inline unsigned int __task_state_index(unsigned int state, unsigned int exit_state)
{
	unsigned int all = (state | exit_state) & TASK_REPORT;

	return all ? 32u - (unsigned int)__builtin_clz(all) : 0;
}

/* ---- threads and work ---- */
struct kthread_work;
struct kthread_worker;
typedef void (*kthread_work_func_t)(struct kthread_work *work);
struct kthread_work { kthread_work_func_t func; struct kthread_worker *worker; };
struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);
struct work_struct { work_func_t func; };
struct worker_pool { int cpu; };
struct workqueue_struct { char name[24]; };
struct pool_workqueue { struct worker_pool *pool; struct workqueue_struct *wq; };
struct linux_binprm { const char *filename, *interp; };

/* ---- interrupts ---- */
struct irqaction { const char *name; };
enum { HI_SOFTIRQ, TIMER_SOFTIRQ, NET_TX_SOFTIRQ, NET_RX_SOFTIRQ, BLOCK_SOFTIRQ, IRQ_POLL_SOFTIRQ,
       TASKLET_SOFTIRQ, SCHED_SOFTIRQ, HRTIMER_SOFTIRQ, RCU_SOFTIRQ, NR_SOFTIRQS };
struct tasklet_struct { void (*func)(unsigned long data); bool use_callback; };

/* ---- signals ---- */
struct kernel_siginfo { int si_errno, si_code; };
#define SEND_SIG_NOINFO		((struct kernel_siginfo *)0)
#define SEND_SIG_PRIV		((struct kernel_siginfo *)1)
#define SI_USER			0
#define SI_KERNEL		0x80
struct k_sigaction { struct { void *sa_handler; unsigned long sa_flags; } sa; };

/* ---- timers ---- */
struct timer_list { unsigned long expires; void (*function)(struct timer_list *timer); u32 flags; };
#define TIMER_CPUMASK		0x0003FFFF
#define TIMER_MIGRATING		0x00040000
#define TIMER_DEFERRABLE	0x00080000
#define TIMER_PINNED		0x00100000
#define TIMER_IRQSAFE		0x00200000
#define TIMER_TRACE_FLAGMASK	(TIMER_MIGRATING | TIMER_DEFERRABLE | TIMER_PINNED | TIMER_IRQSAFE)
#define TIMER_ARRAYSHIFT	22
enum hrtimer_mode { HRTIMER_MODE_ABS, HRTIMER_MODE_REL, HRTIMER_MODE_PINNED,
	HRTIMER_MODE_ABS_PINNED = 2, HRTIMER_MODE_REL_PINNED = 3, HRTIMER_MODE_SOFT = 4,
	HRTIMER_MODE_ABS_SOFT = 4, HRTIMER_MODE_REL_SOFT = 5, HRTIMER_MODE_ABS_PINNED_SOFT = 6,
	HRTIMER_MODE_REL_PINNED_SOFT = 7, HRTIMER_MODE_HARD = 8, HRTIMER_MODE_ABS_HARD = 8,
	HRTIMER_MODE_REL_HARD = 9, HRTIMER_MODE_ABS_PINNED_HARD = 10, HRTIMER_MODE_REL_PINNED_HARD = 11 };
struct hrtimer { int (*function)(struct hrtimer *timer); s64 expires, soft; };
#define hrtimer_get_expires(t)		((t)->expires)
#define hrtimer_get_softexpires(t)	((t)->soft)
#define CLOCK_REALTIME		0
#define CLOCK_MONOTONIC		1
#define CLOCK_BOOTTIME		7
#define CLOCK_TAI		11
struct timespec64 { s64 tv_sec; long tv_nsec; };
struct itimerspec64 { struct timespec64 it_interval, it_value; };
extern unsigned long jiffies;
#define NSEC_PER_USEC		1000L

/* ---- what many others name ---- */
struct device { const char *init_name; void *driver; };
static inline const char *dev_name(const struct device *d) { return d->init_name; }
static inline const char *dev_driver_string(const struct device *d) { return d->init_name; }
struct kobject;
struct page { unsigned long flags, index; void *mapping; atomic_t _mapcount; };
struct folio;
struct module { char name[56]; unsigned int taints; };
struct super_block { dev_t s_dev; char s_id[32]; };
struct inode { unsigned long i_ino; struct super_block *i_sb; loff_t i_size; u64 i_blocks; umode_t i_mode;
	kuid_t i_uid; kgid_t i_gid; unsigned int i_nlink; void *i_flctx; u64 i_version; };
struct file;
struct dentry;
struct file_lock;
struct cpumask { unsigned long bits[4]; };
struct net_device { char name[IFNAMSIZ]; int ifindex; };
struct sk_buff;
struct sock;
struct bio;
struct request;
struct request_queue;
struct clk_core { const char *name; };
struct regulator;

#endif
