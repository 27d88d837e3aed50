//! Every pair of state and input of the four tables (statuscodes.md).

use pintle_core::{
    Code, Misuse,
    shape::{
        Cardinality, Shape,
        recv::{self, ClientInput, RecvState, ServerInput, Verdict, Violation},
        send::{self, Action, ClientSend, SendState, ServerSend},
    },
};

const RECV: [RecvState; 4] = [RecvState::Empty, RecvState::Held, RecvState::Open, RecvState::Ended];
const SEND: [SendState; 4] = [SendState::Empty, SendState::Sent, SendState::Open, SendState::Ended];

#[test]
fn shapes_are_two_cardinalities() {
    use Cardinality::{Many, One};
    let expected =
        [("unary", One, One), ("client streaming", Many, One), ("server streaming", One, Many), ("bidirectional streaming", Many, Many)];
    for (shape, (name, request, response)) in Shape::ALL.into_iter().zip(expected) {
        assert_eq!((shape.to_string().as_str(), shape.request(), shape.response()), (name, request, response));
        assert_eq!(Shape::of(request, response), shape);
    }
    assert_eq!((RecvState::new(One), RecvState::new(Many)), (RecvState::Empty, RecvState::Open));
    assert_eq!((SendState::new(One), SendState::new(Many)), (SendState::Empty, SendState::Open));
}

#[test]
fn states_are_one_octet() {
    assert_eq!((size_of::<RecvState>(), size_of::<SendState>()), (1, 1));
}

#[test]
fn server_receives() {
    use {RecvState::*, ServerInput as I, Verdict as V};
    let table = [
        (Empty, I::Message, Held, V::Hold),
        (Empty, I::End, Ended, V::Violation(Violation::NoRequest)),
        (Empty, I::Reset, Ended, V::Abort),
        (Held, I::Message, Ended, V::Violation(Violation::SecondRequest)),
        (Held, I::End, Ended, V::DeliverEnd),
        (Held, I::Reset, Ended, V::Abort),
        (Open, I::Message, Open, V::Deliver),
        (Open, I::End, Ended, V::End),
        (Open, I::Reset, Ended, V::Abort),
        (Ended, I::Message, Ended, V::Ignore),
        (Ended, I::End, Ended, V::Ignore),
        (Ended, I::Reset, Ended, V::Ignore),
    ];
    assert_eq!(table.len(), RECV.len() * 3, "every pair");
    for (state, input, next, verdict) in table {
        assert_eq!(recv::server(state, input), (next, verdict), "{state:?} x {input:?}");
    }
}

#[test]
fn client_receives() {
    use {ClientInput as I, RecvState::*, Verdict as V};
    let table = [
        (Empty, I::Message, Held, V::Hold),
        (Empty, I::Ok, Ended, V::Violation(Violation::NoResponse)),
        (Empty, I::Error, Ended, V::End),
        (Held, I::Message, Ended, V::Violation(Violation::SecondResponse)),
        (Held, I::Ok, Ended, V::DeliverEnd),
        (Held, I::Error, Ended, V::DropEnd),
        (Open, I::Message, Open, V::Deliver),
        (Open, I::Ok, Ended, V::End),
        (Open, I::Error, Ended, V::End),
        (Ended, I::Message, Ended, V::Ignore),
        (Ended, I::Ok, Ended, V::Ignore),
        (Ended, I::Error, Ended, V::Ignore),
    ];
    assert_eq!(table.len(), RECV.len() * 3, "every pair");
    for (state, input, next, verdict) in table {
        assert_eq!(recv::client(state, input), (next, verdict), "{state:?} x {input:?}");
    }
}

/// What an action does, without the text of a misuse.
fn kind(action: Action) -> Result<Action, ()> {
    match action {
        Action::Misuse(Misuse(text)) => {
            assert!(!text.is_empty());
            Err(())
        }
        other => Ok(other),
    }
}

#[test]
fn client_sends() {
    use {Action as A, ClientSend as I, SendState::*};
    let table = [
        (Empty, I::Message, Sent, Ok(A::SendClose)),
        (Empty, I::Close, Empty, Err(())),
        (Sent, I::Message, Sent, Err(())),
        (Sent, I::Close, Sent, Ok(A::Nothing)),
        (Open, I::Message, Open, Ok(A::Send)),
        (Open, I::Close, Ended, Ok(A::Close)),
        (Ended, I::Message, Ended, Err(())),
        (Ended, I::Close, Ended, Err(())),
    ];
    assert_eq!(table.len(), SEND.len() * 2, "every pair");
    for (state, input, next, action) in table {
        let (got_next, got) = send::client(state, input);
        assert_eq!((got_next, kind(got)), (next, action), "{state:?} x {input:?}");
    }
}

#[test]
fn server_sends() {
    use {Action as A, SendState::*, ServerSend as I};
    let table = [
        (Empty, I::Message, Sent, Ok(A::Send)),
        (Empty, I::FinishOk, Ended, Ok(A::FinishWithout)),
        (Empty, I::FinishError, Ended, Ok(A::Finish)),
        (Sent, I::Message, Sent, Err(())),
        (Sent, I::FinishOk, Ended, Ok(A::Finish)),
        (Sent, I::FinishError, Ended, Ok(A::Finish)),
        (Open, I::Message, Open, Ok(A::Send)),
        (Open, I::FinishOk, Ended, Ok(A::Finish)),
        (Open, I::FinishError, Ended, Ok(A::Finish)),
        (Ended, I::Message, Ended, Err(())),
        (Ended, I::FinishOk, Ended, Err(())),
        (Ended, I::FinishError, Ended, Err(())),
    ];
    assert_eq!(table.len(), SEND.len() * 3, "every pair");
    for (state, input, next, action) in table {
        let (got_next, got) = send::server(state, input);
        assert_eq!((got_next, kind(got)), (next, action), "{state:?} x {input:?}");
    }
}

#[test]
fn violations_are_unimplemented_and_say_who_broke_what() {
    assert_eq!(Violation::CODE, Code::Unimplemented);
    let texts = [Violation::NoRequest, Violation::SecondRequest, Violation::NoResponse, Violation::SecondResponse].map(Violation::text);
    for (index, text) in texts.iter().enumerate() {
        assert!(text.contains("exactly one") && !texts[..index].contains(text), "{text}");
    }
    assert_eq!(send::MISSING_CODE, Code::Internal);
}

/// Both ends of every shape, put together: what one side may send the other side takes.
#[test]
fn senders_and_receivers_agree() {
    for shape in Shape::ALL {
        let (mut out, mut input) = (SendState::new(shape.request()), RecvState::new(shape.request()));
        let mut sent = 0;
        for step in [ClientSend::Message, ClientSend::Message, ClientSend::Message, ClientSend::Close] {
            let (next, action) = send::client(out, step);
            out = next;
            let inputs: &[ServerInput] = match action {
                Action::Send => &[ServerInput::Message],
                Action::SendClose => &[ServerInput::Message, ServerInput::End],
                Action::Close => &[ServerInput::End],
                _ => &[],
            };
            for one in inputs {
                sent += usize::from(*one == ServerInput::Message);
                let (next, verdict) = recv::server(input, *one);
                assert!(!matches!(verdict, Verdict::Violation(_) | Verdict::Ignore), "{shape}: {verdict:?}");
                input = next;
            }
        }
        assert_eq!((input, sent), (RecvState::Ended, if shape.request() == Cardinality::One { 1 } else { 3 }), "{shape}");
    }
}
