/* SPDX-License-Identifier: MIT */
/* text_noise.c -- the lines and heads that Linux prints of osnoise, timerlat and hwlat. */
#include "wire/cold.h"
#include "wire/noise.h"
#include "wire/format.h"

const char fathom_osnoise_head[] =
	"#                                _-----=> irqs-off\n"
	"#                               / _----=> need-resched\n"
	"#                              | / _---=> hardirq/softirq\n"
	"#                              || / _--=> preempt-depth\n"
	"#                              ||| / _-=> migrate-disable                         MAX\n"
	"#                              |||| /     delay                                   SINGLE  "
	"    "
	"Interference counters:\n"
	"#                              |||||               RUNTIME      NOISE  %% OF CPU  NOISE   "
	" "
	"+-----------------------------+\n"
	"#           TASK-PID      CPU# |||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US   "
	"  "
	"HW    NMI    IRQ   SIRQ THREAD\n"
	"#              | |         |   |||||      |           |             |    |            |   "
	"   "
	"|      |      |      |      |\n";

const char fathom_osnoise_head_rt[] =
	"#                                _-------=> irqs-off\n"
	"#                               / _------=> need-resched\n"
	"#                              | / _-----=> need-resched-lazy\n"
	"#                              || / _----=> hardirq/softirq\n"
	"#                              ||| / _---=> preempt-depth\n"
	"#                              |||| / _--=> preempt-lazy-depth\n"
	"#                              ||||| / _-=> migrate-disable\n"
	"#                              |||||| /                                               "
	"MAX\n"
	"#                              ||||| /                                             SINGLE "
	" "
	"    Interference counters:\n"
	"#                              |||||||               RUNTIME      NOISE  %% OF CPU  NOISE "
	" "
	"  +-----------------------------+\n"
	"#           TASK-PID      CPU# |||||||   TIMESTAMP    IN US       IN US  AVAILABLE  IN US "
	" "
	"   HW    NMI    IRQ   SIRQ THREAD\n"
	"#              | |         |   |||||||      |           |             |    |            | "
	" "
	"    |      |      |      |      |\n";

const char fathom_timerlat_head[] = "#                                _-----=> irqs-off\n"
				    "#                               / _----=> need-resched\n"
				    "#                              | / _---=> hardirq/softirq\n"
				    "#                              || / _--=> preempt-depth\n"
				    "#                              ||| / _-=> migrate-disable\n"
				    "#                              |||| /     delay\n"
				    "#                              |||||            ACTIVATION\n"
				    "#           TASK-PID      CPU# |||||   TIMESTAMP   ID         "
				    "   CONTEXT                 LATENCY\n"
				    "#              | |         |   |||||      |         |         "
				    "         |                       |\n";

/* By a number of more than 16 bits, without libgcc. */
static uint64_t noise_divide(uint64_t v, uint64_t d)
{
	uint64_t q = 0, r = 0;

	for (int i = 63; i >= 0; i--) {
		r = r << 1 | (v >> 63);
		v <<= 1;
		q <<= 1;
		if (r >= d) {
			r -= d;
			q |= 1;
		}
	}
	return q;
}

void fathom_text_osnoise(struct fathom_text *t, const struct fathom_text_osnoise *o)
{
	uint64_t ratio = 0, whole;
	const uint32_t counts[] = {o->hw, o->nmi, o->irq, o->softirq, o->thread};

	if (o->runtime)
		ratio = noise_divide((o->runtime - o->noise) * 10000000, o->runtime);
	whole = noise_divide(ratio, 100000);
	fathom_text_printf(t, "%llu %10llu %3llu.%05llu %7llu", (unsigned long long)o->runtime,
			   (unsigned long long)o->noise, (unsigned long long)whole,
			   (unsigned long long)(ratio - whole * 100000),
			   (unsigned long long)o->max_sample);
	for (uint32_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		fathom_text_printf(t, " %6u", counts[i]);
	fathom_text_char(t, '\n');
}

void fathom_text_timerlat(struct fathom_text *t, uint32_t seq, int context, uint64_t latency_ns)
{
	fathom_text_printf(t, "#%-5u context %6s timer_latency %9llu ns\n", seq,
			   context == FATHOM_TIMERLAT_IRQ      ? "irq"
			   : context == FATHOM_TIMERLAT_THREAD ? "thread"
							       : "user ret",
			   (unsigned long long)latency_ns);
}

void fathom_text_hwlat(struct fathom_text *t, const struct fathom_text_hwlat *h)
{
	fathom_text_printf(t, "#%-5u inner/outer(us): %4llu/%-5llu ts:%lld.%09d count:%d", h->seq,
			   (unsigned long long)h->inner, (unsigned long long)h->outer,
			   (long long)h->sec, h->nsec, (int)h->count);
	if (h->nmi_count)
		fathom_text_printf(t, " nmi-total:%llu nmi-count:%u",
				   (unsigned long long)h->nmi_total, h->nmi_count);
	fathom_text_char(t, '\n');
}
