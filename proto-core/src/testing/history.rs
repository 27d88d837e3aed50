//! A history: random operations on both ends of a pair, to the end of all calls, judged all the way. One that
//! fails is made smaller and written down as a test.

use super::{
    ops::{Jump, Op, Setting},
    places::Places,
    referee::{CLIENT, HeaderBlock},
    rng::Rng,
    world::World,
};
use crate::{Code, Shape};
use alloc::{format, string::String, vec::Vec};

/// Kinds of operations that a history draws from.
const KINDS: usize = 25;
/// How often each is drawn where a history likes all of them alike: steps and sends most, what ends connections seldom.
const WEIGHTS: [u64; KINDS] = [400, 240, 400, 240, 240, 80, 80, 30, 30, 80, 60, 20, 80, 50, 20, 3, 2, 2, 2, 60, 60, 2, 2, 1, 60];
/// These end the connection; half of the histories have none of them.
const ENDS: [usize; 7] = [15, 16, 17, 18, 21, 22, 23];

/// A seed for links, configurations and cuts, and what both applications do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    /// Decides the world: [`World::random`].
    pub seed: u64,
    /// In order.
    pub ops: Vec<Op>,
}

/// How a history went.
#[derive(Debug, Clone)]
pub struct Run {
    /// What was found wrong, in words.
    pub faults: Vec<String>,
    /// The hard places it came to.
    pub places: Places,
    /// Calls started.
    pub calls: usize,
    /// What the service said of each call, by the call's number; `None`: nothing, or too late.
    pub told: Vec<Option<Code>>,
    /// Every header block that went over the wire, where they were asked for.
    pub blocks: Vec<HeaderBlock>,
}

impl History {
    /// The history that belongs to a seed.
    ///
    /// Each likes some kinds of operations and leaves out others: a mixture of everything would seldom do one thing often.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x5e0d_9a11);
        let mut weights = WEIGHTS;
        for weight in &mut weights[2..] {
            *weight *= rng.pick(&[0, 1, 1, 1, 4]);
        }
        if rng.chance(500) {
            ENDS.into_iter().for_each(|kind| weights[kind] = 0);
        }
        let all = weights.iter().sum::<u64>();
        let length = rng.pick(&[10, 30, 60, 100, 100, 200]);
        let mut ops = Vec::with_capacity(length);
        if rng.chance(600) {
            // Both ends know each other's settings.
            ops.push(Op::Advance { ms: 100 });
        }
        for _ in 0..length {
            let mut at = rng.below(all);
            let kind = weights
                .iter()
                .position(|&weight| {
                    at < weight || {
                        at -= weight;
                        false
                    }
                })
                .unwrap_or(0);
            ops.push(draw(kind, &mut rng));
        }
        Self { seed, ops }
    }

    /// Carries it out. `blocks`: header blocks are kept.
    #[must_use]
    pub fn run(&self, blocks: bool) -> Run {
        let mut world = World::random(self.seed);
        world.pair.referee.blocks = blocks.then(Vec::new);
        for &op in &self.ops {
            world.apply(op);
        }
        let (steps, ended) = world.wind_down();
        let mut faults = Vec::new();
        if ended {
            world.check_end();
        } else {
            faults.push(format!("calls had not ended after {steps} steps: {}", world.summary()));
        }
        faults.extend(world.faults());
        let blocks = world.pair.referee.blocks.take().unwrap_or_default();
        let told = world.model.calls.iter().map(|call| call.finished()).collect();
        Run { faults, places: world.places(), calls: world.calls(), told, blocks }
    }

    /// Panics with what went wrong, if anything did.
    ///
    /// # Panics
    /// See above.
    pub fn demand(&self) {
        let faults = self.run(false).faults;
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    /// The smallest history found that still `fails`; tries at most `most` others.
    #[must_use]
    pub fn shrink(&self, most: usize, mut fails: impl FnMut(&Self) -> bool) -> Self {
        let (mut best, mut left) = (self.clone(), most);
        let mut still_fails = |candidate: &Self| {
            left = left.saturating_sub(1);
            left > 0 && fails(candidate)
        };
        loop {
            let before = best.clone();
            // Without long runs first, then without shorter ones.
            let mut size = best.ops.len();
            while size > 0 {
                let mut at = 0;
                while at < best.ops.len() {
                    let mut candidate = best.clone();
                    candidate.ops.drain(at..(at + size).min(best.ops.len()));
                    if still_fails(&candidate) {
                        best = candidate;
                    } else {
                        at += size;
                    }
                }
                size /= 2;
            }
            for at in 0..best.ops.len() {
                let mut less = |best: &Self| {
                    let with = |op| {
                        let mut candidate = best.clone();
                        candidate.ops[at] = op;
                        candidate
                    };
                    simpler(best.ops[at]).into_iter().map(with).find(|candidate| candidate != best && still_fails(candidate))
                };
                while let Some(smaller) = less(&best) {
                    best = smaller;
                }
            }
            if best == before {
                return best;
            }
        }
    }

    /// It as a test in Rust, to paste into `tests/props_found.rs`.
    #[must_use]
    pub fn source(&self) -> String {
        let ops = self.ops.iter().fold(String::new(), |text, op| text + &format!("        {},\n", op.source()));
        format!(
            "#[test]\nfn history_{seed:016x}() {{\n    #[allow(unused_imports)]\n    use pintle_core::{{Code, Shape, testing::{{History, Jump, Op, Setting}}}};\n    \
             let ops = Vec::from([\n{ops}    ]);\n    History {{ seed: 0x{seed:016x}, ops }}.demand();\n}}\n",
            seed = self.seed,
        )
    }
}

/// An operation of a kind.
fn draw(kind: usize, rng: &mut Rng) -> Op {
    let end = rng.below(2) as usize;
    // Taken modulo the calls there are: the first ones come up more often, so that much happens to some.
    let most = rng.pick(&[1, 4, 40, 256]);
    let call = rng.below(most) as u8;
    let error = rng.below(16) as u32;
    match kind {
        0 => Op::Step { n: rng.pick(&[1, 2, 5, 30]) },
        1 => Op::Start {
            shape: rng.pick(&[Shape::Unary, Shape::ClientStreaming, Shape::ServerStreaming, Shape::Bidi]),
            metadata: rng.pick(&[0, 0, 0, 1, 1, 2, 2, 3]),
            deadline_ms: rng.pick(&[0, 0, 0, 1, 40, 500, 5_000]),
        },
        2 => Op::Send { end, call, len: length(rng) },
        3 => Op::Recv { end, call, most: rng.pick(&[1, 2, 8, 255]) },
        4 => Op::Accept,
        5 => Op::CloseSend { call },
        6 => Op::Finish { call, code: if rng.chance(600) { Code::Ok } else { Code::from_u32(rng.below(17) as u32) } },
        7 => Op::Demand { end, call, n: rng.pick(&[0, 1, 3, 255]) },
        8 => Op::Headers { call, flush: rng.chance(500) },
        9 => Op::Cancel { end, call },
        10 => Op::Advance { ms: rng.pick(&[0, 1, 20, 300, 1_000]) },
        11 => Op::Stall { end, ms: rng.pick(&[1, 5, 50, 50, 50, 200, 900, 3_000]) },
        12 => slip(end, rng),
        13 => Op::Noise { end, kind: rng.below(256) as u8 },
        14 => Op::Stale { end },
        15 => Op::Drain { end, ms: rng.pick(&[0, 0, 1, 100, 20_000]) },
        16 => Op::Close { end },
        17 => Op::Cut,
        18 => Op::Fail { end, error },
        19 => Op::Reset { end, call, error },
        20 => Op::Jump { call, to: rng.pick(&[Jump::Before, Jump::Before, Jump::At, Jump::At, Jump::After, Jump::Timer]) },
        21 => Op::CutHalf { end },
        22 => Op::Lose,
        23 if rng.chance(500) => Op::Stall { end, ms: 40_000 },
        24 => Op::Burst { end, call, n: rng.pick(&[2, 40, 40, 100]), len: rng.pick(&[0, 1, 10, 100, 1_000]) },
        _ => Op::Jump { call, to: Jump::Far },
    }
}

fn length(rng: &mut Rng) -> u32 {
    let most = rng.pick(&[0, 1, 64, 64, 64, 300, 2_000, 2_000, 20_000, 20_000, 80_000, 300_000]);
    // Windows and frames are used up exactly, too.
    let exact = rng.pick(&[0, 0, 0, 0, 0, 0, 16_379, 16_384, 65_530, 65_535, 1_019, 131_067]);
    if exact > 0 { exact } else { rng.below(most + 1) as u32 }
}

fn slip(end: usize, rng: &mut Rng) -> Op {
    let (setting, values): (_, &[u32]) = match rng.below(9) {
        0..=2 => (Setting::InitialWindow, &[0, 0, 1, 100, 5_000, 40_000, 65_535, u32::MAX]),
        3..=4 if end != CLIENT => (Setting::MaxStreams, &[0, 0, 1, 2, 5, 100]),
        5 => (Setting::MaxFrame, &[16_384, 16_385, 20_000, 40_000]),
        6 => (Setting::WindowTwice, &[0, 1, 100, 5_000, 65_535]),
        _ => (Setting::HeaderTable, &[0, 40, 100, 500, 4_096]),
    };
    Op::Slip { end, setting, value: rng.pick(values) }
}

/// Operations that do less of the same.
fn simpler(op: Op) -> Vec<Op> {
    let lengths =
        |len: u32| [0, 1, 100, len / 2, len.saturating_sub(len / 8), len.saturating_sub(1)].into_iter().filter(move |&less| less < len);
    let mut less = Vec::new();
    match op {
        Op::Start { shape, metadata, deadline_ms } => {
            less.push(Op::Start { shape, metadata: 0, deadline_ms });
            less.push(Op::Start { shape, metadata, deadline_ms: 0 });
            less.push(Op::Start { shape: Shape::Unary, metadata, deadline_ms });
        }
        Op::Send { end, call, len } => {
            less.extend(lengths(len).map(|len| Op::Send { end, call, len }));
            less.push(Op::Send { end, call: 0, len });
        }
        Op::Burst { end, call, n, len } => {
            less.push(Op::Send { end, call, len });
            less.extend([n / 2, n.saturating_sub(1)].into_iter().filter(|&fewer| fewer < n).map(|n| Op::Burst { end, call, n, len }));
            less.extend(lengths(len).map(|len| Op::Burst { end, call, n, len }));
        }
        Op::Step { n } => less.extend((1..n.min(4)).chain([n / 2]).map(|n| Op::Step { n })),
        Op::Recv { end, most, .. } => less.push(Op::Recv { end, call: 0, most }),
        Op::Cancel { end, .. } => less.push(Op::Cancel { end, call: 0 }),
        Op::Reset { end, call, error } => less.extend([Op::Reset { end, call: 0, error }, Op::Reset { end, call, error: 8 }]),
        Op::Finish { call, .. } => less.extend([Op::Finish { call: 0, code: Code::Ok }, Op::Finish { call, code: Code::Ok }]),
        Op::Advance { ms } => less.extend([0, 1, ms / 2].into_iter().filter(|&fewer| fewer < ms).map(|ms| Op::Advance { ms })),
        _ => {}
    }
    less
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_history_becomes_small() {
        let long = History::random(11);
        let wanted = Op::Send { end: 1, call: 9, len: 77_000 };
        let mut history = long.clone();
        history.ops.insert(long.ops.len() / 2, wanted);
        // It "fails" where a message above 1,000 octets is sent.
        let fails = |history: &History| history.ops.iter().any(|op| matches!(op, Op::Send { len, .. } if *len > 1_000));
        let small = history.shrink(10_000, fails);
        assert!(matches!(small.ops[..], [Op::Send { call: 0, len: 1_001..=2_300, .. }]), "{small:?}");
        assert!(small.source().contains("        Op::Send { end: "), "{}", small.source());
    }

    #[test]
    fn operations_are_rust() {
        let ops = [
            Op::Start { shape: Shape::Unary, metadata: 0, deadline_ms: 0 },
            Op::Finish { call: 0, code: Code::Ok },
            Op::Slip { end: 0, setting: Setting::MaxFrame, value: 5 },
            Op::Jump { call: 1, to: Jump::Before },
        ];
        let text = ops.map(|op| op.source());
        assert_eq!(text[0], "Op::Start { shape: Shape::Unary, metadata: 0, deadline_ms: 0 }");
        assert_eq!(text[1], "Op::Finish { call: 0, code: Code::Ok }");
        assert_eq!(text[2], "Op::Slip { end: 0, setting: Setting::MaxFrame, value: 5 }");
        assert_eq!(text[3], "Op::Jump { call: 1, to: Jump::Before }");
    }

    #[test]
    fn the_same_seed_gives_the_same_history() {
        assert_eq!(History::random(3), History::random(3));
        assert_ne!(History::random(3).ops, History::random(4).ops);
    }
}
