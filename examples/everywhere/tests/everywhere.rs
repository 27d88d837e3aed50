//! The same answers everywhere.

use everywhere::{
    SERVERS,
    tour::Receipt,
    visit::{Seen, visit},
};

#[test]
fn every_runtime_serves_the_same() {
    for (name, _, start) in SERVERS {
        let seen = visit(&start().expect("it starts")).expect("every call succeeds");
        let expected = Seen {
            post: Receipt { letters: 1, octets: 5, last_to: "Ada".into() },
            post_all: Receipt { letters: 3, octets: 15, last_to: "Ada".into() },
            subscribe: vec![10, 10, 10],
            correspond: vec!["re: Ada".to_owned(); 3],
            nameless: "INVALID_ARGUMENT: a letter needs a name on it (from the peer)".into(),
        };
        assert_eq!(seen, expected, "{name}");
    }
}
