// SPDX-License-Identifier: MIT
//! Events of a Rust kernel in Fathom's rings: `events!` defines them, `trace!` records one. The library itself stays C; a kernel
//! links it with a `fathom_port.h` of its own (docs/PORTING.md).
//!
//! ```ignore
//! fathom::events! {
//!     mykernel {
//!         frame_alloc(frame: u64, cpu: u32) = "frame=0x%llx cpu=%u";
//!         exec(path: str, pid: i32) = "path=%s pid=%d";
//!     }
//! }
//!
//! trace!(frame_alloc, frame.number(), cpu.id()); // off: a load and a branch; nothing else is evaluated
//! ```
#![no_std]

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};

#[allow(non_camel_case_types)]
type c_int = i32;
/// Rust 1.63 has no core::ffi::c_char yet.
#[allow(non_camel_case_types)]
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
type c_char = i8;
#[allow(non_camel_case_types)]
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
type c_char = u8;

/// The size of what every record begins with (`struct wire_common`).
const COMMON: usize = 8;

/// `struct fathom_field` of the library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Field {
    kind: *const u8,
    name: *const u8,
    offset: u16,
    size: u16,
    is_signed: u8,
    hint: u8,
}

/// `struct fathom_event` of the library. `events!` makes them; the library writes their id and state.
#[repr(C)]
pub struct Event {
    system: *const u8,
    name: *const u8,
    print_fmt: *const u8,
    fields: *const Field,
    nr_fields: u16,
    id: u16,
    state: AtomicU32,
    setup: Option<extern "C" fn(*mut Event)>,
    print: Option<extern "C" fn(*mut c_void)>,
    reg: Option<extern "C" fn() -> c_int>,
    unreg: Option<extern "C" fn()>,
    hooks: *mut c_void,
    control: *mut c_void,
}

// Both are read by any CPU; what changes is written by the library under its lock, or is atomic.
unsafe impl Sync for Field {}
unsafe impl Sync for Event {}

/// Room for `struct fathom_emit` (test/port/rust.py compares the sizes).
#[repr(C)]
struct Emit([MaybeUninit<u64>; 16]);

extern "C" {
    fn fathom_emit_cold(event: *const Event, bytes: u32, emit: *mut Emit) -> *mut u8;
    fn fathom_emit_cold_end(event: *const Event, emit: *mut Emit);
    fn fathom_event_enable(pattern: *const c_char, on: c_int) -> c_int;
    fn fathom_tracing_on();
    fn fathom_tracing_off();
    fn fathom_dump(count: u32);
}

/// What a field may be: `u8` to `u64`, `i8` to `i64`, and `str`, which is copied.
pub trait Value: Copy {
    #[doc(hidden)]
    const KIND: &'static str;
    #[doc(hidden)]
    const SIZE: usize;
    #[doc(hidden)]
    const SIGNED: bool;
    #[doc(hidden)]
    const IS_TEXT: bool = false;
    /// Bytes of text that follow the fields.
    #[doc(hidden)]
    fn text(&self) -> &[u8] {
        &[]
    }
    /// # Safety
    /// `to` has room for SIZE bytes.
    #[doc(hidden)]
    unsafe fn put(self, to: *mut u8, text_at: usize);
}

macro_rules! number {
    ($($type:ty, $kind:literal, $signed:literal;)*) => {$(
        impl Value for $type {
            const KIND: &'static str = $kind;
            const SIZE: usize = core::mem::size_of::<$type>();
            const SIGNED: bool = $signed;
            #[inline(always)]
            unsafe fn put(self, to: *mut u8, _: usize) {
                ptr::write_unaligned(to as *mut $type, self)
            }
        }
    )*};
}
number! {
    u8, "u8\0", false; u16, "u16\0", false; u32, "u32\0", false; u64, "u64\0", false;
    i8, "s8\0", true; i16, "s16\0", true; i32, "s32\0", true; i64, "s64\0", true;
}

impl Value for &str {
    const KIND: &'static str = "__data_loc char[]\0";
    const SIZE: usize = 4;
    const SIGNED: bool = c_char::MIN != 0;
    const IS_TEXT: bool = true;
    #[inline(always)]
    fn text(&self) -> &[u8] {
        self.as_bytes()
    }
    #[inline(always)]
    unsafe fn put(self, to: *mut u8, text_at: usize) {
        ptr::write_unaligned(to as *mut u32, text_at as u32 | ((self.len() + 1) as u32) << 16)
    }
}

/// Where a field of this size begins if the one before it ends at `end`.
#[doc(hidden)]
pub const fn place(end: usize, size: usize) -> usize {
    (end + size - 1) / size * size
}

/// The table of fields, each behind the one before it.
#[doc(hidden)]
pub const fn fields<const N: usize>(list: [(&'static str, &'static str, usize, bool); N]) -> [Field; N] {
    let none = Field { kind: ptr::null(), name: ptr::null(), offset: 0, size: 0, is_signed: 0, hint: 0 };
    let mut table = [none; N];
    let mut end = COMMON;
    let mut i = 0;
    while i < N {
        let (kind, name, size, signed) = list[i];
        let at = place(end, size);
        end = at + size;
        table[i] = Field {
            kind: kind.as_ptr(),
            name: name.as_ptr(),
            offset: at as u16,
            size: size as u16,
            is_signed: signed as u8,
            hint: 0,
        };
        i += 1;
    }
    table
}

const _: () = assert!(core::mem::size_of::<usize>() != 8 || core::mem::size_of::<Event>() == 88 && core::mem::size_of::<Field>() == 24);

impl Event {
    #[doc(hidden)]
    pub const fn new(system: &'static str, name: &'static str, print_fmt: &'static str, fields: &'static [Field]) -> Event {
        Event {
            system: system.as_ptr(),
            name: name.as_ptr(),
            print_fmt: print_fmt.as_ptr(),
            fields: fields.as_ptr(),
            nr_fields: fields.len() as u16,
            id: 0,
            state: AtomicU32::new(0),
            setup: None,
            print: None,
            reg: None,
            unreg: None,
            hooks: ptr::null_mut(),
            control: ptr::null_mut(),
        }
    }

    /// Is anybody interested? One relaxed load.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.state.load(Ordering::Relaxed) != 0
    }
}

/// A record that is being filled in; it is published when this is dropped.
#[doc(hidden)]
pub struct Record {
    event: &'static Event,
    emit: Emit,
    data: NonNull<u8>,
    at: usize,
    text: usize,
}

impl Record {
    /// Room for fields that end at `end`, and `text` bytes; None if it was refused, which is counted.
    #[inline(always)]
    pub fn begin(event: &'static Event, end: usize, text: usize) -> Option<Record> {
        let mut r = Record { event, emit: Emit([MaybeUninit::uninit(); 16]), data: NonNull::dangling(), at: COMMON, text: end };
        r.data = NonNull::new(unsafe { fathom_emit_cold(event, (end + text) as u32, &mut r.emit) })?;
        Some(r)
    }

    #[inline(always)]
    pub fn put<V: Value>(&mut self, value: V) {
        let text = value.text();
        self.at = place(self.at, V::SIZE);
        unsafe {
            value.put(self.data.as_ptr().add(self.at), self.text);
            if V::IS_TEXT {
                ptr::copy_nonoverlapping(text.as_ptr(), self.data.as_ptr().add(self.text), text.len());
                self.data.as_ptr().add(self.text + text.len()).write(0);
                self.text += text.len() + 1;
            }
        }
        self.at += V::SIZE;
    }

    #[inline(always)]
    pub fn end(mut self) {
        unsafe { fathom_emit_cold_end(self.event, &mut self.emit) }
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __type {
    (str) => { &str };
    ($type:ident) => { $type };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __arg {
    (str, $field:ident) => { concat!(", __get_str(", stringify!($field), ")") };
    ($type:ident, $field:ident) => { concat!(", REC->", stringify!($field)) };
}
#[doc(hidden)]
#[macro_export]
macro_rules! __text {
    (str, $field:ident) => { $field.len() + 1 };
    ($type:ident, $field:ident) => { 0 };
}

/// Defines events: `system { name(field: type, ...) = "format"; ... }`. A format is C's, of the kernel's `printk`. Each becomes a
/// module with its EVENT; the file that has them says `use fathom::trace;`.
#[macro_export]
macro_rules! events {
    ($system:ident { $($name:ident($($field:ident: $type:ident),*) = $fmt:literal;)* }) => {$(
        pub mod $name {
            #[allow(unused_imports)]
            use $crate::{Event, Field, Record, Value};

            const NR: usize = <[&str]>::len(&[$(stringify!($field)),*]);
            static FIELDS: [Field; NR] = $crate::fields([$((
                <$crate::__type!($type) as Value>::KIND,
                concat!(stringify!($field), "\0"),
                <$crate::__type!($type) as Value>::SIZE,
                <$crate::__type!($type) as Value>::SIGNED,
            )),*]);
            pub static EVENT: Event = Event::new(
                concat!(stringify!($system), "\0"),
                concat!(stringify!($name), "\0"),
                concat!("\"", $fmt, "\"", $($crate::__arg!($type, $field),)* "\0"),
                &FIELDS,
            );
            #[used]
            #[link_section = "fathom_events"]
            static ENTRY: &Event = &EVENT;

            #[allow(unused_mut, unused_assignments)]
            const END: usize = {
                let mut end = 8;
                $(end = $crate::place(end, <$crate::__type!($type) as Value>::SIZE) + <$crate::__type!($type) as Value>::SIZE;)*
                end
            };

            #[inline(never)]
            #[cold]
            pub fn record($($field: $crate::__type!($type)),*) {
                let text = 0 $(+ $crate::__text!($type, $field))*;
                #[allow(unused_mut)]
                if let Some(mut r) = Record::begin(&EVENT, END, text) {
                    $(r.put($field);)*
                    r.end();
                }
            }
        }
    )*};
}

/// Records an event: `trace!(frame_alloc, frame, cpu)`. The arguments are evaluated only while it is on.
#[macro_export]
macro_rules! trace {
    ($($name:ident)::+ $(, $arg:expr)* $(,)?) => {
        if $($name)::+::EVENT.is_on() {
            $($name)::+::record($($arg),*);
        }
    };
}

/// Switch events on or off: "system:event", with `*` and `?`. How many there were, or a negative errno.
pub fn enable(pattern: &str, on: bool) -> i32 {
    let mut text = [0u8; 64];
    if pattern.len() >= text.len() {
        return -22;
    }
    text[..pattern.len()].copy_from_slice(pattern.as_bytes());
    unsafe { fathom_event_enable(text.as_ptr() as *const c_char, on as c_int) }
}

/// Recording as a whole: any context.
pub fn tracing(on: bool) {
    unsafe {
        if on {
            fathom_tracing_on()
        } else {
            fathom_tracing_off()
        }
    }
}

/// The most recent events of every CPU on the console; for a panic handler.
pub fn dump(count: u32) {
    unsafe { fathom_dump(count) }
}
