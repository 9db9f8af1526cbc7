// SPDX-License-Identifier: MIT
//! veridian.rs -- VeridianOS's ten events, on Fathom: a program without std, so that the file could be a kernel's. Here it is a process
//! with Fathom's user port (FATHOM_TRACE=1), and does what a kernel would: system calls, switches, messages, frames.
#![no_std]
#![no_main]

use fathom::trace;

fathom::events! {
    veridian {
        syscall_entry(nr: u64, arg1: u64) = "nr=%llu arg1=0x%llx";
        syscall_exit(nr: u64, ret: i64) = "nr=%llu ret=%lld";
        sched_switch_out(pid: u64, tid: u64) = "pid=%llu tid=%llu";
        sched_switch_in(pid: u64, tid: u64) = "pid=%llu tid=%llu";
        ipc_fast_send(target: u64, cap: u64) = "target=%llu cap=0x%llx";
        ipc_fast_recv(endpoint: u64, cap: u64) = "endpoint=%llu cap=0x%llx";
        frame_alloc(frame: u64, cpu: u8) = "frame=0x%llx cpu=%u";
        frame_free(frame: u64, cpu: u8) = "frame=0x%llx cpu=%u";
        page_fault(addr: u64, error: u32) = "addr=0x%llx error=%u";
        ipc_slow_path(target: u64, cap: u64) = "target=%llu cap=0x%llx";
    }
}

/// Not one of the ten: text, and what is not aligned.
mod own {
    fathom::events! {
        shell {
            command(line: str, status: i8, user: str) = "line=%s status=%d user=%s";
        }
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    fathom::dump(20);
    loop {}
}

/// How often an argument was evaluated.
static mut ASKED: u64 = 0;
fn asked(value: u64) -> u64 {
    unsafe { ASKED += 1 };
    value
}

fn round(i: u64) {
    trace!(syscall_entry, i % 40, 0x1000 + i);
    trace!(frame_alloc, 0x80000 + i, (i % 4) as u8);
    trace!(ipc_fast_send, 7, i << 32);
    trace!(sched_switch_out, 1, i);
    trace!(sched_switch_in, 7, i + 1);
    trace!(ipc_fast_recv, 3, i << 32);
    if i % 10 == 0 {
        trace!(ipc_slow_path, 7, 5);
        trace!(page_fault, asked(u64::MAX - i), 6);
        trace!(own::command, "ls -l", -1, "root");
    }
    trace!(frame_free, 0x80000 + i, (i % 4) as u8);
    trace!(syscall_exit, i % 40, -(i as i64));
}

#[no_mangle]
pub extern "C" fn main() -> i32 {
    for i in 0..1000 {
        round(i);
    }
    fathom::enable("veridian:page_fault", false);
    round(1000); // asks nobody for page_fault's arguments
    unsafe { (ASKED != 100 && ASKED != 0) as i32 }
}
