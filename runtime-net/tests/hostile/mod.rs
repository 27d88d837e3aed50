//! Peers that do what they must not, over real sockets: HTTP/2 by hand and nothing but std, so that the tests of every adapter can
//! include it. An adapter says how its server and its client run; what is done to them, and what must come of it, is here.
#![allow(dead_code, unreachable_pub, missing_docs, reason = "every test program uses its part")]

pub mod attacks;
pub mod client_cases;
pub mod server_cases;
pub mod wire;

use std::{
    collections::HashMap,
    fs,
    os::unix::{fs::MetadataExt, net::UnixListener},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// No wait is longer.
pub const LONG: Duration = Duration::from_secs(30);
/// Calls that the server under test runs at once for one connection (`Config::max_concurrent_streams`).
pub const MOST_CALLS: u32 = 20;
/// Its write timeout. Of a hasty one (see `siege`) the handshake and header block timeouts, too: those of others are the defaults.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// The first octet of a note that stops a chat.
pub const STOP: u8 = b'!';
/// Calls of a client that is served next to attacks: so many are not chance.
const FEW: u32 = 20;
/// As often at most are the attacks repeated until it has made them.
const SIEGES: u32 = 10;

/// The server under test: its service `/package.Greeter` has
/// - SayHello: a request "hang" is not answered before it is cancelled, another with "Hello NAME";
/// - LotsOfReplies: COUNT replies of NAME;
/// - LotsOfGreetings: answers "N" after N requests; a request "stop" ends the call with RESOURCE_EXHAUSTED at once, "panic" panics;
/// - Chat: echoes each note. Unless it takes a note only when that can be echoed, it takes no more after one that begins with `STOP`.
///
/// Requests have the fields `string name = 1; uint32 count = 2`, replies `string message = 1`.
#[derive(Debug, Clone)]
pub struct Target {
    /// `host:port` or `unix:/path`.
    pub address: String,
    /// `/package.Greeter`.
    pub service: &'static str,
}

/// What a service under test counts. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Gauge(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Handlers of each peer: at present, and at most.
    handlers: Mutex<HashMap<String, (u32, u32)>>,
    /// Octets of large messages that handlers have got rid of.
    sent: AtomicU64,
}

/// One running handler.
#[derive(Debug)]
pub struct Seat {
    gauge: Gauge,
    peer: String,
}

impl Gauge {
    /// A handler begins.
    pub fn enter(&self, peer: String) -> Seat {
        let mut handlers = self.0.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, most) = handlers.entry(peer.clone()).or_default();
        *now += 1;
        *most = (*most).max(*now);
        Seat { gauge: self.clone(), peer }
    }

    /// A handler got rid of a message; the small ones are the good client's.
    pub fn sent(&self, octets: usize) {
        if octets > 5_000 {
            self.0.sent.fetch_add(octets as u64, Ordering::Relaxed);
        }
    }

    pub fn octets(&self) -> u64 {
        self.0.sent.load(Ordering::Relaxed)
    }

    pub fn running(&self) -> u32 {
        self.0.handlers.lock().unwrap_or_else(PoisonError::into_inner).values().map(|(now, _)| now).sum()
    }

    /// Whether this peer has called.
    pub fn knows(&self, peer: &str) -> bool {
        self.0.handlers.lock().unwrap_or_else(PoisonError::into_inner).contains_key(peer)
    }

    /// The most handlers that one peer had at once.
    pub fn most(&self) -> u32 {
        self.0.handlers.lock().unwrap_or_else(PoisonError::into_inner).values().map(|(_, most)| *most).max().unwrap_or_default()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut handlers = self.gauge.0.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((now, _)) = handlers.get_mut(&self.peer) {
            *now -= 1;
        }
    }
}

/// A path for a Unix socket that nobody else uses.
pub fn socket_path() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{}/pintle-hostile-{}-{number}.sock", std::env::temp_dir().display(), std::process::id())
}

/// Open descriptors of this process.
pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Waits until it holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < LONG, "{what}: not within {LONG:?}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Runs every row of a table on a thread of its own, all at once, and then says all that is wrong.
pub fn all_at_once<T: Sync>(rows: &[T], name: impl Fn(&T) -> String, run: impl Fn(&T) -> Result<(), String> + Sync) {
    let run = &run;
    let wrong: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = rows.iter().map(|row| (row, scope.spawn(move || run(row)))).collect();
        let ends = threads.into_iter().map(|(row, thread)| (name(row), thread.join().unwrap_or_else(|_| Err("it panicked".to_owned()))));
        ends.filter_map(|(name, end)| end.err().map(|why| format!("{name}: {why}"))).collect()
    });
    assert!(wrong.is_empty(), "{} of {} rows\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// What a client that does nothing wrong makes its calls by.
#[derive(Debug, Default)]
pub struct Diary {
    over: AtomicBool,
    calls: AtomicU32,
}

impl Diary {
    /// `calls` more have succeeded; whether the siege goes on.
    pub fn goes_on(&self, calls: u32) -> bool {
        self.calls.fetch_add(calls, Ordering::SeqCst);
        !self.over.load(Ordering::SeqCst)
    }
}

/// However it ends: the good client shall not go on for ever.
struct Over<'a>(&'a Diary);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

/// Every attack at once, and next to them a client (`good`) that makes calls for as long as its diary says. All of these succeed, no
/// peer has more handlers than it may have, and at the end nothing is left: no handler, no descriptor. What only a timeout ends is
/// done to a `hasty` server.
pub fn siege(target: &Target, hasty: &Target, gauge: &Gauge, good: impl FnOnce(&str, &Diary) -> Result<(), String> + Send) {
    // What a runtime opens with its first connection stays.
    attacks::assert_serves(target);
    until("a call in time", || attacks::serves(hasty));
    until("the first connection's end", || gauge.running() == 0);
    thread::sleep(Duration::from_millis(50));
    let before = descriptors();
    let rows: Vec<_> =
        attacks::ATTACKS.iter().map(|attack| (attack, target)).chain(attacks::SLOW.iter().map(|attack| (attack, hasty))).collect();
    let diary = Diary::default();
    let calls = || diary.calls.load(Ordering::SeqCst);
    thread::scope(|scope| {
        let good = scope.spawn(|| good(&target.address, &diary));
        let over = Over(&diary);
        // How many calls fit beside them is the machine's affair.
        for _ in 0..SIEGES {
            all_at_once(&rows, |(attack, _)| attack.name.to_owned(), |(attack, target)| attack.run(target));
            if calls() > FEW || good.is_finished() {
                break;
            }
        }
        drop(over);
        good.join().expect("the good client does not panic").expect("every call succeeds");
        assert!(calls() > FEW, "only {} calls next to the attacks", calls());
        println!(
            "{}: {} attacks, {} good calls, at most {} handlers of a peer",
            target.address,
            attacks::ATTACKS.len(),
            calls(),
            gauge.most()
        );
    });
    attacks::assert_serves(target);
    until("a call in time", || attacks::serves(hasty));
    until("the end of all handlers", || gauge.running() == 0);
    until("the end of all connections", || descriptors() <= before);
    // Over a Unix socket all peers are this process.
    let peers = if target.address.starts_with("unix:") { attacks::ATTACKS.len() as u32 } else { 1 };
    assert!((MOST_CALLS / 2..=MOST_CALLS * peers).contains(&gauge.most()), "{} handlers of one peer", gauge.most());
    // What was sent to those who do not read: what the kernel holds, some megabytes, and ours.
    let sent = gauge.octets();
    assert!((100_000..64 << 20).contains(&sent), "{sent} octets");
}

/// Names a server to the process that is started to call it.
const CALLEE: &str = "PINTLE_CALLEE";

/// X33: who calls over a Unix socket is known by what the kernel says, also when it is gone by then, and over TCP not at all. `test` is
/// the full name of the test that calls this: it runs once more in another process, to call from there.
pub fn identities(test: &str, serve: impl Fn(&str) -> (Target, Gauge)) {
    let service = |address: String, service| Target { address, service };
    if let Ok(callee) = std::env::var(CALLEE) {
        static NAME: OnceLock<String> = OnceLock::new();
        let (address, name) = callee.split_once(' ').expect("address and service");
        attacks::assert_serves(&service(address.to_owned(), NAME.get_or_init(|| name.to_owned())));
        return;
    }
    let uid = fs::metadata("/proc/self").expect("Linux").uid();
    let (target, gauge) = serve(&format!("unix:{}", socket_path()));
    let mut child = Command::new(std::env::current_exe().expect("Linux"))
        .args(["--exact", test])
        .env(CALLEE, format!("{} {}", target.address, target.service))
        .stdout(Stdio::null())
        .spawn()
        .expect("it runs again");
    let pid = child.id();
    assert!(child.wait().expect("it ends").success());
    attacks::assert_serves(&target);
    for pid in [pid, std::process::id()] {
        let peer = format!("unix:uid={uid},pid={pid}");
        assert!(gauge.knows(&peer), "{peer}: {gauge:?}");
    }
    let (target, gauge) = serve("127.0.0.1:0");
    attacks::assert_serves(&target);
    assert!(gauge.0.handlers.lock().expect("no panic").keys().all(|peer| peer.starts_with("127.0.0.1:")), "{gauge:?}");
}

/// X33: a path where somebody serves is refused, and both the server and its file stay; what a server that was killed left is taken over.
pub fn paths(listen: impl Fn(&str) -> Result<(), String>, serve: impl Fn(&str) -> Target) {
    let path = socket_path();
    let address = format!("unix:{path}");
    drop(UnixListener::bind(&path).expect("a free path"));
    assert!(fs::exists(&path).expect("a path"), "std leaves the file");
    let target = serve(&address);
    attacks::assert_serves(&target);
    let refusal = listen(&address).expect_err("somebody serves there");
    assert!(refusal.contains(&path) && refusal.contains("in use"), "{refusal}");
    attacks::assert_serves(&target);
}
