//! Runs that properties and fuzz targets once failed on, made small. Paste new ones here.

use pintle_core::{
    Code, Shape,
    testing::{CLIENT, History, LinkConfig, Op, Rng, SERVER, World},
};

/// As the properties do it: link, configurations and everything random from one seed; then the rest must be whole.
fn replay(seed: u64, ops: &[Op]) {
    let mut rng = Rng::new(seed);
    let link = LinkConfig::random(&mut rng);
    let mut world = World::new([World::config(&mut rng), World::config(&mut rng)], link, rng.next_u64());
    ops.iter().for_each(|&op| world.apply(op));
    let (steps, ended) = world.wind_down();
    assert!(ended, "calls did not end in {steps} steps: {}", world.summary());
    if ops.iter().all(Op::is_gentle) {
        world.check_rest();
    }
    assert_eq!(world.faults(), [""; 0]);
}

/// Over many seeds, because what failed once may need a certain link.
fn replay_all(ops: &[Op]) {
    (0..60).for_each(|seed| replay(seed, ops));
}

const fn start(shape: Shape) -> Op {
    Op::Start { shape, metadata: 0, deadline_ms: 0 }
}

#[test]
fn an_id_is_stale_once_the_call_is_finished_though_its_answer_is_not_on_the_wire() {
    let ops = [start(Shape::Bidi), Op::Step { n: 9 }, Op::Accept, Op::Finish { call: 0, code: Code::Ok }, Op::Stale { end: SERVER }];
    replay_all(&ops);
}

#[test]
fn no_event_comes_for_a_finished_call_whose_output_drains() {
    let ops = [
        start(Shape::Bidi),
        Op::Step { n: 9 },
        Op::Accept,
        Op::Send { end: SERVER, call: 0, len: 65_531 },
        Op::Send { end: SERVER, call: 0, len: 0 },
        Op::Finish { call: 0, code: Code::Ok },
    ];
    replay_all(&ops);
    replay(946_954_066_229_202_171, &ops);
}

#[test]
fn credit_for_a_stream_that_has_ended_is_nothing_to_write() {
    let ops = [
        start(Shape::Unary),
        start(Shape::Unary),
        Op::Step { n: 9 },
        Op::Cancel { end: CLIENT, call: 0 },
        start(Shape::Unary),
        Op::Send { end: CLIENT, call: 1, len: 32_801 },
        Op::Step { n: 9 },
    ];
    replay_all(&ops);
}

#[test]
fn a_second_drain_with_a_later_limit_does_not_spin() {
    let ops = [start(Shape::Unary), Op::Drain { end: CLIENT, ms: 8 }, Op::Drain { end: CLIENT, ms: 16 }, Op::Step { n: 9 }];
    replay_all(&ops);
}

#[test]
fn a_server_that_closes_or_cancels_leaves_no_call_behind() {
    replay_all(&[start(Shape::Unary), Op::Advance { ms: 0 }, Op::Close { end: SERVER }]);
    let cancel = [
        start(Shape::Unary),
        Op::Send { end: CLIENT, call: 0, len: 0 },
        Op::CloseSend { call: 0 },
        Op::Step { n: 9 },
        Op::Accept,
        Op::Cancel { end: SERVER, call: 0 },
    ];
    replay_all(&cancel);
}

#[test]
fn a_table_that_was_resized_between_calls_is_told_with_the_next_block() {
    use pintle_core::testing::Setting::HeaderTable;
    let slip = |value| Op::Slip { end: SERVER, setting: HeaderTable, value };
    replay_all(&[start(Shape::Bidi), Op::Step { n: 9 }, slip(40), Op::Step { n: 9 }, slip(4_096), Op::Step { n: 9 }]);
}

/// One above eight times `connection_send_buffer`, in a call that may send several: `send` refused it for ever.
#[test]
fn a_message_larger_than_all_buffers_goes_when_nothing_else_waits() {
    use pintle_core::testing::History;
    let ops = Vec::from([
        Op::Start { shape: Shape::ClientStreaming, metadata: 0, deadline_ms: 0 },
        Op::Send { end: CLIENT, call: 0, len: 258_162 },
    ]);
    History { seed: 0xbca, ops }.demand();
}

/// As `tests/histories` printed it: 32 messages wait, and what is behind them is refused when they are taken.
#[test]
fn a_message_too_large_behind_a_full_inbox_ends_the_call_when_it_is_reached() {
    #[allow(unused_imports)]
    use pintle_core::{
        Code, Shape,
        testing::{History, Jump, Op, Setting},
    };
    let ops = Vec::from([
        Op::Start { shape: Shape::ClientStreaming, metadata: 2, deadline_ms: 0 },
        Op::Burst { end: 0, call: 0, n: 32, len: 0 },
        Op::Advance { ms: 0 },
        Op::Send { end: 0, call: 0, len: 131067 },
    ]);
    History { seed: 0x00000000004c5041, ops }.demand();
}

/// Before our small window is known, a client may send more: the room granted to a message that was in the same frame as its prefix, and beyond
/// the window, was larger than the message, and the difference stayed with the peer.
#[test]
fn room_is_granted_for_no_more_than_the_message() {
    let ops = Vec::from([
        Op::Start { shape: Shape::ClientStreaming, metadata: 0, deadline_ms: 0 },
        Op::Step { n: 2 },
        Op::Step { n: 1 },
        Op::Accept,
        Op::Send { end: 0, call: 0, len: 1025 },
        Op::Recv { end: 1, call: 0, most: 2 },
        Op::Step { n: 3 },
        Op::Recv { end: 1, call: 0, most: 2 },
    ]);
    History { seed: 0x18eceb0db893a376, ops }.demand();
}
