/* Keeps the software events that railscope counts counting, from boot on.
 *
 * The kernel switches such an event on and off by writing into its own code (static keys, text_poke_bp), all CPUs
 * held. Under emulation by several threads a CPU may go on executing the breakpoint that stood there for a moment,
 * for ever: the guest hangs in asm_exc_int3 under __schedule. With one user that never leaves nothing is rewritten. */
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  static const int events[] = {PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS};
  for (unsigned i = 0; i < sizeof events / sizeof *events; i++) {
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attr, .config = events[i]};
    if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0)
      return 1;
  }
  for (;;)
    pause();
}
