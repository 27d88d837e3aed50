//! A device and a host in memory: the line is two queues, time stands still until nothing else can happen.
#![allow(dead_code, reason = "each test program uses its part")]

use pintle_core::{
    CallId, CallOptions, Config, Connection, Endpoint, Outcome, Recv, RequestHead, Timestamp,
    bytes::Bytes,
    codec::{Codec, Prost},
};
use prost::Message;
use std::{collections::VecDeque, time::Duration};
use superloop::{
    Pipe, Superloop, Wait,
    line::{self, Item, Piece},
    tour::{Letter, Receipt, Subscription, TourMethod},
};

/// The device's UART: so many octets at a time, and so many wait at most.
pub(crate) struct Uart {
    pub(crate) at_once: usize,
    pub(crate) holds: usize,
    pub(crate) to_device: VecDeque<u8>,
    pub(crate) to_host: VecDeque<u8>,
}

impl Pipe for Uart {
    fn read(&mut self, into: &mut [u8]) -> usize {
        let n = self.to_device.len().min(into.len()).min(self.at_once);
        into[..n].iter_mut().zip(self.to_device.drain(..n)).for_each(|(place, octet)| *place = octet);
        n
    }

    fn write(&mut self, octets: &[u8]) -> usize {
        let n = octets.len().min(self.at_once).min(self.holds.saturating_sub(self.to_host.len()));
        self.to_host.extend(&octets[..n]);
        n
    }
}

pub(crate) struct World {
    pub(crate) now: Timestamp,
    pub(crate) device: Superloop,
    pub(crate) wait: Wait,
    pub(crate) uart: Uart,
    number: u8,
    reader: line::Reader,
    /// What comes is for the present client.
    pub(crate) live: bool,
    /// The device said that the present client's connection is over.
    pub(crate) closed: bool,
    pub(crate) client: Connection,
}

impl World {
    pub(crate) fn new(at_once: usize) -> Self {
        let now = Timestamp::from_micros(0);
        let uart = Uart { at_once, holds: at_once.max(16), to_device: VecDeque::new(), to_host: VecDeque::new() };
        let wait = Wait { read: true, write: true, until: None };
        let (device, client, reader) = (Superloop::new(), Connection::client(&Config::default(), now), line::Reader::default());
        Self { now, device, wait, uart, number: 0, reader, live: false, closed: false, client }
    }

    /// The next client begins, whatever became of the last one.
    pub(crate) fn connect(&mut self) {
        self.number = (self.number + 1) % line::NUMBERS;
        self.uart.to_device.extend(line::open(self.number));
        (self.live, self.closed) = (false, false);
        self.client = Connection::client(&Config::default(), self.now);
    }

    /// Octets for the device as the bridge writes them.
    pub(crate) fn say(&mut self, mut octets: &[u8]) {
        while let Some(piece) = line::next_piece(octets) {
            let taken = match piece {
                Piece::Run(run) => {
                    self.uart.to_device.extend(run);
                    run.len()
                }
                Piece::Mark(mark) => {
                    self.uart.to_device.extend(mark);
                    1
                }
            };
            octets = &octets[taken..];
        }
    }

    /// Steps the device if what it waits for is there.
    pub(crate) fn step_device(&mut self) -> bool {
        let Wait { read, write, until } = self.wait;
        let reads = read && !self.uart.to_device.is_empty();
        let writes = write && self.uart.to_host.len() < self.uart.holds;
        let due = until.is_some_and(|until| until <= self.now);
        if reads || writes || due {
            self.wait = self.device.step(self.now, &mut self.uart);
        }
        reads || writes || due
    }

    /// What the host has got of the present client's octets goes to that client.
    pub(crate) fn step_host(&mut self) -> bool {
        let octets: Vec<u8> = self.uart.to_host.drain(..).collect();
        let mut input = &octets[..];
        while let Some(item) = self.reader.next(&mut input) {
            match item {
                Item::Open(number) => self.live = number == self.number,
                Item::Octets(octets) if self.live => self.client.recv_slice(self.now, octets),
                Item::Octets(_) => {}
                Item::Close => {
                    self.closed |= self.live;
                    self.live = false;
                }
            }
        }
        let mut wrote = false;
        while self.client.wants().write {
            let mut octets = [0; 1_000];
            let n = self.client.transmit(self.now, octets.len()).copy_to(&mut octets);
            self.say(&octets[..n]);
            wrote = true;
        }
        while self.client.poll_event().is_some() {}
        wrote || !octets.is_empty()
    }

    /// Goes on until `done`, or until nothing more can happen by itself.
    pub(crate) fn run(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        for _ in 0..2_000_000 {
            if done(self) {
                return true;
            }
            if !(self.step_device() | self.step_host()) {
                return done(self);
            }
        }
        panic!("it goes on for ever");
    }

    /// Makes calls at once, answers what became of them.
    pub(crate) fn call(&mut self, mut calls: Vec<Call>) -> Vec<Call> {
        for call in &mut calls {
            call.start(self);
        }
        self.run(|world| {
            calls.iter_mut().for_each(|call| call.go_on(world));
            calls.iter().all(|call| call.outcome.is_some())
        });
        calls
    }

    /// One call of each shape, at once; panics where an answer is wrong.
    pub(crate) fn must_serve(&mut self) {
        let calls = self.call(vec![
            Call::new(TourMethod::Post, &[letter(0)]),
            Call::new(TourMethod::PostAll, &(0..20).map(letter).collect::<Vec<_>>()),
            Call::new(TourMethod::Subscribe, &[Subscription { to: "Ada".into(), letters: 30, octets: 200 }]),
            Call::new(TourMethod::Correspond, &(0..20).map(letter).collect::<Vec<_>>()),
        ]);
        let [post, post_all, subscribe, correspond] = &calls[..] else { panic!("four calls") };
        assert_eq!(post.answers::<Receipt>(), [Receipt { letters: 1, octets: 256, last_to: "reader 0".into() }]);
        assert_eq!(post_all.answers::<Receipt>(), [Receipt { letters: 20, octets: 20 * 256, last_to: "reader 19".into() }]);
        let letters: Vec<_> = (0..30).map(|number| Letter { to: "Ada".into(), content: vec![b'.'; 200].into(), number }).collect();
        assert_eq!(subscribe.answers::<Letter>(), letters);
        let answers: Vec<_> = (0..20).map(letter).map(|letter| Letter { to: format!("re: {}", letter.to), ..letter }).collect();
        assert_eq!(correspond.answers::<Letter>(), answers);
    }

    /// Time passes to the next moment at which something is due.
    pub(crate) fn sleep(&mut self) {
        let next = [self.wait.until, self.client.wants().deadline].into_iter().flatten().min().expect("something is due");
        self.now = next.max(self.now.saturating_add(Duration::from_millis(1)));
        self.client.handle_timeout(self.now);
    }
}

/// A letter with every octet that there is, the line's escape among them.
pub(crate) fn letter(number: u32) -> Letter {
    Letter { to: format!("reader {number}"), content: (0..=255).collect::<Vec<u8>>().into(), number }
}

/// One call of the client.
pub(crate) struct Call {
    method: TourMethod,
    out: VecDeque<Bytes>,
    pub(crate) deadline: Option<Timestamp>,
    /// The client does not say that it has no more.
    pub(crate) open_ended: bool,
    pub(crate) id: Option<CallId>,
    closed: bool,
    got: Vec<Bytes>,
    pub(crate) outcome: Option<Outcome>,
}

impl Call {
    pub(crate) fn new<T: Message + Default>(method: TourMethod, messages: &[T]) -> Self {
        let out = messages.iter().map(|message| message.encode_to_vec().into()).collect();
        Self { method, out, deadline: None, open_ended: false, id: None, closed: false, got: vec![], outcome: None }
    }

    pub(crate) fn start(&mut self, world: &mut World) {
        let head = RequestHead::new(self.method.path(), self.method.shape());
        let options = CallOptions::default().deadline(self.deadline);
        self.id = Some(world.client.start(world.now, head, options).expect("the client takes the call"));
    }

    pub(crate) fn go_on(&mut self, world: &mut World) {
        let Ok(mut call) = world.client.call(self.id.expect("it was started")) else { return };
        while let Some(message) = self.out.front() {
            if call.send(message.clone().into()).is_err() {
                break;
            }
            self.out.pop_front();
        }
        if self.out.is_empty() && !self.closed && !self.open_ended {
            self.closed = true;
            // A method that takes one message has closed by itself.
            let _ = call.close_send();
        }
        loop {
            match call.recv() {
                Recv::Message(message) => self.got.push(message.payload.into_bytes()),
                Recv::Pending => return,
                Recv::End => break,
            }
        }
        self.outcome = call.take_outcome();
    }

    /// Messages that came.
    pub(crate) fn received(&self) -> usize {
        self.got.len()
    }

    /// The answers of a call that ended well.
    pub(crate) fn answers<T: Message + Default>(&self) -> Vec<T> {
        let outcome = self.outcome.as_ref().expect("the call has ended");
        assert!(outcome.status.is_ok(), "{}: {}", self.method.name(), outcome.status);
        self.got.iter().map(|octets| Prost::<T>::decode(octets.clone().into()).expect("a message")).collect()
    }
}
