//! Tests of transport sessions, whose templates end with them.

use srlg_input::flow::{DecoderOptions, Reason, Session};

use super::build::{PLAIN, RECEIVED_NS, ipfix, plain, set, template9, template10, v9};
use super::*;

fn decode_in(decoder: &mut Decoder, session: Session, message: &[u8]) -> usize {
    let mut contacts = 0;
    decoder.decode_message(session, exporter(), RECEIVED_NS, message, |_| contacts += 1);
    contacts
}

fn data(number: u32) -> Vec<u8> {
    ipfix(number, 0, &[set(256, &plain("192.0.2.1", "192.0.2.2", 60, 1))])
}

#[test]
fn templates_of_a_session_apply_only_to_it() {
    let mut decoder = decoder();
    let [a, b] = [(); 2].map(|()| decoder.start_session());
    let template = ipfix(0, 0, &[template10(256, &PLAIN)]);
    assert_eq!(decode_in(&mut decoder, a, &template), 0);
    assert_eq!(decode_in(&mut decoder, a, &data(0)), 1);
    assert_eq!(decode_in(&mut decoder, b, &data(0)), 0);
    assert_eq!(contacts(&mut decoder, RECEIVED_NS, &data(0)).len(), 0);
    assert_eq!(decoder.templates()[&"192.0.2.1:0".parse().unwrap()], 1);
    // A restarted program receives the templates of the new sessions.
    let mut restarted = self::decoder();
    restarted.load(&decoder.save()).unwrap();
    assert!(restarted.templates().is_empty());
    decoder.end_session(a, exporter());
    assert!(decoder.templates().is_empty());
    assert_eq!(decode_in(&mut decoder, a, &data(1)), 0);
    assert_eq!(counted(&decoder, [Reason::Held, Reason::Dropped]), [3, 0]);
    decoder.end_session(a, exporter());
    decoder.end_session(b, exporter());
    assert_eq!(counted(&decoder, [Reason::Held, Reason::Dropped]), [3, 2]);
}

#[test]
fn only_ipfix_is_decoded_in_a_session() {
    let mut decoder = decoder();
    let session = decoder.start_session();
    let messages = [
        v9(0, 0, &[template9(256, &PLAIN)]),
        build::v5(0, 0, &[build::record5(["192.0.2.1", "192.0.2.2"], [1, 60], [0, 0])]),
    ];
    for message in messages {
        assert_eq!(decode_in(&mut decoder, session, &message), 0);
    }
    assert_eq!(counted(&decoder, [Reason::Version]), [2]);
    assert!(decoder.templates().is_empty());
}

#[test]
fn sessions_have_the_limits_of_their_exporter() {
    let options = DecoderOptions { sources: 64, ..DecoderOptions::default() };
    let mut decoder = Decoder::new(options).unwrap();
    for round in 1..=3 {
        let sessions: Vec<_> = (0..4).map(|_| decoder.start_session()).collect();
        for domain in 0..100 {
            let template = ipfix(0, domain, &[template10(256, &PLAIN)]);
            for session in &sessions {
                decode_in(&mut decoder, *session, &template);
            }
        }
        // An exporter may use a quarter of the sources. The memory of ended sessions is free for the next ones.
        assert_eq!(decoder.templates()[&"192.0.2.1:0".parse().unwrap()], 16);
        assert_eq!(counted(&decoder, [Reason::SourceGone]), [round * (400 - 16)]);
        sessions.into_iter().for_each(|session| decoder.end_session(session, exporter()));
        assert!(decoder.templates().is_empty());
    }
}
