//! Counts the instructions of this process by single steps: after each, the processor traps, and a handler looks where it was. No tool, no
//! counter of the processor, no second process: the same figure on each machine, however busy it is.
//!
//! On Linux, x86-64. Elsewhere, and where traps do not arrive (under an emulator), nothing is counted.

/// Instructions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Steps {
    /// In the program itself: everything in Rust.
    pub(crate) own: u64,
    /// In libraries: memory that is allocated, freed, copied; the way into the kernel. What the kernel lends (the clock) is not counted.
    pub(crate) library: u64,
}

pub(crate) use here::{begin, counted, end, hundred, prepare};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod here {
    use super::Steps;
    use std::{
        arch::asm,
        env, fs, io,
        ops::Range,
        ptr,
        sync::{
            OnceLock,
            atomic::{AtomicU64, Ordering},
        },
    };

    /// Where code lies in memory.
    struct Code {
        program: Vec<Range<u64>>,
        kernel: Vec<Range<u64>>,
    }

    static CODE: OnceLock<Code> = OnceLock::new();
    static OWN: AtomicU64 = AtomicU64::new(0);
    static LIBRARY: AtomicU64 = AtomicU64::new(0);

    /// Before the first [`begin`].
    pub(crate) fn prepare() -> io::Result<()> {
        // proc_pid_maps(5).
        let maps = fs::read_to_string("/proc/self/maps")?;
        let program = env::current_exe()?;
        let ranges = |wanted: &dyn Fn(&str) -> bool| {
            let found = maps.lines().filter(|line| line.contains(" r-xp ") && wanted(line.rsplit(' ').next().unwrap_or_default()));
            let range = found.filter_map(|line| line.split(' ').next()?.split_once('-'));
            range.filter_map(|(from, to)| Some(u64::from_str_radix(from, 16).ok()?..u64::from_str_radix(to, 16).ok()?)).collect()
        };
        let code = Code { program: ranges(&|name| program.as_os_str() == name), kernel: ranges(&|name| name == "[vdso]") };
        CODE.get_or_init(|| code);
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = stepped;
        // SAFETY: a `sigaction` of zeros is a valid one, and the handler has the signature that SA_SIGINFO asks for.
        let installed = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut())
        };
        if installed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The kernel runs it without the trap flag, and sets the flag again behind it.
    extern "C" fn stepped(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel gives a handler with SA_SIGINFO the context of what it interrupted.
        let at = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs[libc::REG_RIP as usize] } as u64;
        let Some(code) = CODE.get() else { return };
        let lies = |ranges: &[Range<u64>]| ranges.iter().any(|range| range.contains(&at));
        if lies(&code.program) {
            OWN.fetch_add(1, Ordering::Relaxed);
        } else if !lies(&code.kernel) {
            LIBRARY.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// From here on, each instruction of this thread is counted.
    #[inline(always)]
    pub(crate) fn begin() {
        // SAFETY: it sets the trap flag, whose handler `prepare` has installed, and no other.
        unsafe { asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") }
    }

    /// No more.
    #[inline(always)]
    pub(crate) fn end() {
        // SAFETY: it clears the trap flag, and no other.
        unsafe { asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") }
    }

    /// A hundred instructions.
    #[inline(always)]
    pub(crate) fn hundred() {
        // SAFETY: they do nothing.
        unsafe { asm!(".rept 100", "nop", ".endr", options(nomem, nostack, preserves_flags)) }
    }

    /// All so far.
    pub(crate) fn counted() -> Steps {
        Steps { own: OWN.load(Ordering::Relaxed), library: LIBRARY.load(Ordering::Relaxed) }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod here {
    use super::Steps;

    pub(crate) fn prepare() -> std::io::Result<()> {
        Ok(())
    }

    pub(crate) fn begin() {}

    pub(crate) fn end() {}

    pub(crate) fn hundred() {}

    pub(crate) fn counted() -> Steps {
        Steps::default()
    }
}
