//! Plays a script to whoever connects: one thread that reads and one that writes for each connection.
//!
//! While a script is armed, every connection gets it, so that a client which tries again meets it again. Later ones are treated well.

use super::{After, Script, Step, When, wire};
use std::{
    collections::VecDeque,
    io::{self, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// No step takes longer: whoever does not read or write for so long is left alone.
const PATIENCE: Duration = Duration::from_secs(8);
/// Octets that are written at once where many small ones are.
const BATCH: usize = 16 << 10;

/// A listener on a port of its own.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Mutex<Case>>,
}

#[derive(Default)]
struct Case {
    script: Option<Arc<Script>>,
    connections: Vec<Connection>,
    /// Whether the latest good answer went over a connection that had been treated badly.
    reused: Option<bool>,
}

struct Connection {
    stream: Weak<TcpStream>,
    hostile: bool,
    closed: bool,
}

fn lock(shared: &Mutex<Case>) -> MutexGuard<'_, Case> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Listens on loopback.
    ///
    /// # Errors
    /// There is no port left.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Mutex::new(Case::default()));
        let case = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                accept(stream, &case);
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections get this script from now on, and older ones are closed.
    pub fn arm(&self, script: Script) {
        let mut case = lock(&self.shared);
        for stream in case.connections.drain(..).filter_map(|connection| connection.stream.upgrade()) {
            // It may be closed already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        *case = Case { script: Some(Arc::new(script)), ..Case::default() };
    }

    /// Connections are treated well from now on.
    pub fn disarm(&self) {
        lock(&self.shared).script = None;
    }

    /// Whether the client closes every connection that was treated badly, within a time.
    pub fn is_left(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            if lock(&self.shared).connections.iter().all(|connection| connection.closed || !connection.hostile) {
                return true;
            }
            if Instant::now() > until {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether the latest good answer went over a connection that had been treated badly.
    pub fn was_reused(&self) -> Option<bool> {
        lock(&self.shared).reused
    }
}

fn accept(stream: TcpStream, shared: &Arc<Mutex<Case>>) {
    // Small steps must arrive as such.
    let _ = stream.set_nodelay(true);
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let stream = Arc::new(stream);
    let mut case = lock(shared);
    let number = case.connections.len();
    let script = case.script.clone();
    case.connections.push(Connection { stream: Arc::downgrade(&stream), hostile: script.is_some(), closed: false });
    drop(case);
    let (events, seen) = mpsc::channel();
    let reader = {
        let (stream, shared, script) = (Arc::clone(&stream), Arc::clone(shared), script.clone());
        thread::spawn(move || {
            // However it ends, it has ended.
            let _ = read(&stream, &events);
            drop(stream);
            let mut case = lock(&shared);
            // Of an older case there is nothing left.
            let same = match (&case.script, &script) {
                (Some(now), Some(then)) => Arc::ptr_eq(now, then),
                _ => true,
            };
            if let Some(connection) = case.connections.get_mut(number).filter(|_| same) {
                connection.closed = true;
            }
        })
    };
    let player = Player {
        stream,
        seen,
        reader: Some(reader),
        shared: Arc::clone(shared),
        polite: true,
        streams: Vec::new(),
        ended: VecDeque::new(),
    };
    thread::spawn(move || player.play(script.as_deref()));
}

/// What the client did.
enum Seen {
    Settings,
    Ping([u8; 8]),
    /// So many octets that count for flow control.
    Data(u32),
    Head(u32),
    End(u32),
}

fn read(stream: &TcpStream, events: &Sender<Seen>) -> io::Result<()> {
    let mut input = BufReader::new(stream);
    input.read_exact(&mut [0; 24])?;
    let mut payload = Vec::new();
    loop {
        let mut head = [0; 9];
        input.read_exact(&mut head)?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let stream = u32::from_be_bytes(id);
        payload.resize(u32::from_be_bytes([0, a, b, c]) as usize, 0);
        input.read_exact(&mut payload)?;
        let ack = flags & wire::flag::ACK != 0;
        let tell = |seen| events.send(seen).map_err(|_| io::ErrorKind::BrokenPipe);
        match kind {
            wire::kind::SETTINGS if !ack => tell(Seen::Settings)?,
            wire::kind::PING if !ack => tell(Seen::Ping(payload[..].try_into().unwrap_or_default()))?,
            wire::kind::HEADERS => tell(Seen::Head(stream))?,
            wire::kind::DATA if !payload.is_empty() => tell(Seen::Data(payload.len() as u32))?,
            _ => {}
        }
        if matches!(kind, wire::kind::HEADERS | wire::kind::DATA) && flags & wire::flag::END_STREAM != 0 {
            tell(Seen::End(stream))?;
        }
    }
}

struct Player {
    stream: Arc<TcpStream>,
    seen: Receiver<Seen>,
    reader: Option<JoinHandle<()>>,
    shared: Arc<Mutex<Case>>,
    polite: bool,
    /// Streams whose head came.
    streams: Vec<u32>,
    /// Streams whose end came, and nothing was made of it yet.
    ended: VecDeque<u32>,
}

impl Player {
    /// The script, if there is one, and then good answers.
    fn play(mut self, script: Option<&Script>) {
        self.polite = script.is_none_or(|script| script.polite);
        if self.polite && self.write(&wire::settings(&[(3, 100)])).is_err() {
            return;
        }
        for step in script.map_or(&[][..], |script| &script.steps) {
            if self.step(step).is_none() {
                break;
            }
        }
        let first = script.map(|_| self.streams.first().copied());
        let silent = script.is_some_and(|script| script.after == After::Stuck);
        loop {
            while let Some(stream) = self.ended.pop_front() {
                if !silent {
                    self.serve(stream, first);
                }
            }
            let Ok(seen) = self.seen.recv() else { return };
            self.note(&seen);
        }
    }

    /// A good answer, unless it is the stream that the script was about.
    fn serve(&mut self, stream: u32, first: Option<Option<u32>>) {
        let hostile = first.is_some();
        // Where no step waited for the call, its stream is the first to come.
        if hostile && first.flatten().or(self.streams.first().copied()) == Some(stream) {
            return;
        }
        // Noted first: the client may be quicker than this thread.
        lock(&self.shared).reused = Some(hostile);
        // A client that is gone needs no answer.
        let _ = self.write(&wire::good(stream));
    }

    /// `None`: nothing more can be done.
    fn step(&mut self, step: &Step) -> Option<()> {
        match step {
            Step::Send(octets) => self.write(octets).ok(),
            Step::Flood(octets, times) => self.flood(octets, *times),
            Step::Drip(octets, millis) => octets.iter().try_for_each(|octet| {
                thread::sleep(Duration::from_millis(*millis));
                self.write(&[*octet]).ok()
            }),
            Step::Await(when) => self.wait_for(*when),
            Step::Pause(millis) => {
                thread::sleep(Duration::from_millis(*millis));
                Some(())
            }
            Step::HalfClose => self.stream.shutdown(Shutdown::Write).ok(),
            Step::Close => self.stream.shutdown(Shutdown::Both).ok(),
            Step::Abort => self.abort(),
        }
    }

    fn flood(&mut self, octets: &[u8], times: usize) -> Option<()> {
        let per_batch = (BATCH / octets.len()).clamp(1, times);
        let batch = octets.repeat(per_batch);
        for _ in 0..times / per_batch {
            self.write(&batch).ok()?;
            while let Ok(seen) = self.seen.try_recv() {
                self.note(&seen);
            }
        }
        self.write(&octets.repeat(times % per_batch)).ok()
    }

    fn wait_for(&mut self, when: When) -> Option<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            // It may have come while something else was done.
            if when == When::End && self.ended.pop_front().is_some() || when == When::Head && !self.streams.is_empty() {
                return Some(());
            }
            let seen = self.seen.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?;
            self.note(&seen);
            if when == When::Preface && matches!(seen, Seen::Settings) {
                return Some(());
            }
        }
    }

    /// Keeps in mind what came, and answers what wants an answer.
    fn note(&mut self, seen: &Seen) {
        let answer = match seen {
            Seen::Settings => wire::settings_ack(),
            Seen::Ping(data) => wire::frame(wire::kind::PING, wire::flag::ACK, 0, data),
            // The connection must not dry up by a call that nobody reads.
            Seen::Data(octets) => wire::window(0, *octets),
            Seen::Head(stream) => return self.streams.push(*stream),
            Seen::End(stream) => return self.ended.push_back(*stream),
        };
        if self.polite {
            // If it cannot be written, the next step will find out.
            let _ = self.write(&answer);
        }
    }

    fn write(&self, octets: &[u8]) -> io::Result<()> {
        (&*self.stream).write_all(octets)
    }

    /// The kernel sends a reset when the last handle is closed with nothing to linger for.
    fn abort(&mut self) -> Option<()> {
        socket2::SockRef::from(&*self.stream).set_linger(Some(Duration::ZERO)).ok()?;
        self.stream.shutdown(Shutdown::Read).ok()?;
        // The reader lets go of its handle; this thread of its own as it has nothing more to do (`seen` has ended then).
        self.reader.take()?.join().ok()
    }
}
