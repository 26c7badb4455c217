use super::line::TouchLayout;
use super::tag::Tagger;
use super::touch::Contact;
use super::*;
use crate::counter::Look;
use crate::ids::HostId;
use crate::pair::Address;
use crate::recorder::{ReadRecorder, Recorder};
use crate::{ArrayParams, Config, HashFamily, IpPair, Ipv4Pair, Scheme};
extern crate std;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

fn untouched(params: &TaggedParams) -> Vec<Recorder16> {
    (0..params.recorders()).map(|_| Recorder16::new(Recorder16::UNTOUCHED)).collect()
}

fn small(seed: u64) -> TaggedParams {
    let config = Config {
        scheme: Scheme::Tagged { cell_bits: 12, lines: 8, tags: 64 },
        threshold: 8,
        window: 5,
        linear_width: 96,
        seed,
        ..Config::default()
    };
    *config.validate().unwrap().counter().tagged().unwrap()
}

/// Returns the histograms of an estimator as docs/tagged-recorders.md defines them, computed position by position.
fn visible(params: &TaggedParams, recorders: &[Recorder16], inside: Address) -> Histograms {
    let (tags, delay) = (params.tags(), params.echo_delay());
    let mut histograms = Histograms::EMPTY;
    let places = TouchLayout::new(params, inside.into());
    for position in 0..params.width() {
        let word = |place: u32| u32::from(recorders[place as usize].word());
        let [touch, echo] = places.of(params, position).map(word);
        // A touch of the host at this position cannot be more recent than these words.
        let by_echo = (echo / tags).checked_sub(delay);
        let age = (touch / tags).max(by_echo.unwrap_or(0));
        let own_tags = Tagger::new(params, inside.into()).tags(position as u16);
        let (own, own_echo) = (
            age * tags + u32::from(own_tags.touch),
            (age + delay) * tags + u32::from(own_tags.echo),
        );
        let can_be = touch <= own && echo <= own_echo;
        let is_own = can_be && (touch == own || echo == own_echo);
        let age = age as usize;
        if age >= 5 {
            continue;
        }
        histograms.all[age] += 1;
        histograms.own[age] += u32::from(is_own);
        histograms.hidden[age] += u32::from(can_be && !is_own);
        let is_tie = touch / tags == age as u32 && by_echo == Some(age as u32);
        histograms.hidden_twice[age] += u32::from(can_be && !is_own && is_tie);
        let excluded_twice = touch > own && echo > own_echo;
        histograms.excluded_twice[age] += u32::from(excluded_twice && is_tie);
    }
    histograms
}

proptest! {
    // With few lines, ages and hosts, touches and echoes often collide.
    #[test]
    fn histograms_match_their_definition(
        seed: u64,
        touches in prop::collection::vec((0u32..4, any::<u32>(), 0u32..12), 0..400),
    ) {
        let params = small(seed);
        let recorders = untouched(&params);
        for (inside, peer, age) in touches {
            Lines::new(&params, &recorders).touch(&[Ipv4Pair { inside, peer }], age);
        }
        for inside in 0..5 {
            let span = Span::whole(5, 1);
            let mut bins = Bins::new(span);
            let host = HostId::from(inside);
            let look = Look { host, positions: 0..96, next: (host, 96) };
            Lines::new(&params, &recorders).count(&look, |_| {}, pick, &mut bins);
            prop_assert_eq!(bins.histograms(), visible(&params, &recorders, inside));
        }
    }

    #[test]
    fn order_and_batches_of_touches_do_not_matter(
        seed: u64,
        mut touches in prop::collection::vec((0u32..40, any::<u32>()), 1..300),
        batch in 1usize..200,
    ) {
        let params = small(seed);
        let words = |touches: &[(u32, u32)], batch: usize| {
            let recorders = untouched(&params);
            let pairs: Vec<Ipv4Pair> = touches.iter().map(|&(inside, peer)| Ipv4Pair { inside, peer }).collect();
            pairs.chunks(batch).for_each(|pairs| Lines::new(&params, &recorders).touch(pairs, 0));
            recorders.iter().map(ReadRecorder::word).collect::<Vec<_>>()
        };
        let expected = words(&touches, 1);
        touches.reverse();
        touches.extend_from_within(..touches.len() / 2);
        prop_assert_eq!(words(&touches, batch), expected);
    }
}

#[test]
fn touches_with_and_without_a_look_leave_the_same_words() {
    let params = small(3);
    let touch = |number: u32| {
        let pair = Ipv4Pair { inside: number % 7, peer: number.wrapping_mul(0x9e37_79b9) };
        Contact::new(&params, &pair).fine(&params, params.step(number % 3))
    };
    let touches: Vec<Touch> = (0..500).map(touch).collect();
    let words =
        |recorders: &[Recorder16]| recorders.iter().map(Recorder16::word).collect::<Vec<_>>();
    for applied in [0, 250, 500] {
        let [exclusive, looking] = [(); 2].map(|()| untouched(&params));
        let [blind, seen] = [&exclusive, &looking].map(|recorders| Lines::new(&params, recorders));
        [blind, seen].iter().for_each(|lines| lines.apply_exclusive(&touches[..applied]));
        assert_eq!(seen.apply_changes(&touches[..applied]), 0);
        let before = words(&looking);
        let mut expected = 0;
        for touch in &touches {
            let former = words(&exclusive);
            blind.apply_exclusive(std::slice::from_ref(touch));
            expected += usize::from(words(&exclusive) != former);
        }
        assert_eq!(seen.apply_changes(&touches), expected, "{applied}");
        assert_eq!(words(&looking), words(&exclusive));
        assert_eq!(words(&looking) == before, applied == 500);
    }
}

#[test]
fn own_touches_without_foreigners_are_all_visible() {
    let params = small(1);
    let recorders = untouched(&params);
    let pairs: Vec<Ipv4Pair> = (0..30).map(|peer| Ipv4Pair { inside: 7, peer }).collect();
    Lines::new(&params, &recorders).touch(&pairs, 3);
    let place = |pair: &Ipv4Pair| Contact::new(&params, pair).fine(&params, 0).place();
    let mut positions: Vec<u32> = pairs.iter().map(place).collect();
    positions.sort_unstable();
    positions.dedup();
    let histograms = visible(&params, &recorders, 7);
    assert_eq!(histograms.own[3] as usize, positions.len());
    assert_eq!(histograms.all[..5].iter().sum::<u32>() as usize, positions.len());
}

// The words of touches in the window must equal the words of a SLEA without echoes.
#[test]
fn echoes_never_hide_a_touch_in_the_window() {
    for seed in 0..50 {
        let params = small(seed);
        let recorders = untouched(&params);
        let mut alone = vec![u32::MAX; params.recorders()];
        for i in 0..200u32 {
            let (pair, age) = (Ipv4Pair { inside: i % 5, peer: i * 7919 }, i % 5);
            Lines::new(&params, &recorders).touch(&[pair], age);
            let touch = Contact::new(&params, &pair).fine(&params, params.step(age));
            let place = touch.place() as usize;
            alone[place] = alone[place].min(touch.words()[0].into());
        }
        for (word, alone) in recorders.iter().map(ReadRecorder::word).zip(alone) {
            let in_window = params.step(5);
            assert_eq!(u32::from(word).min(in_window), alone.min(in_window));
        }
    }
}

// The expected values come from an independent Python implementation (seed 0, 412,500 lines).
#[test]
fn places_equal_the_pinned_vectors() {
    let scheme = Scheme::Tagged { cell_bits: 12, lines: 412_500, tags: 64 };
    let config = Config { scheme, ..Config::default() };
    let params = *config.validate().unwrap().counter().tagged().unwrap();
    for (inside, position, found) in [
        (0x0a00_0001, 0, [10_479_072, 10_479_093]),
        (0x0a00_0001, 8064, [628_800, 628_821]),
        (0xc0a8_0101, 227, [2_108_067, 2_108_070]),
        (0xffff_ffff, 5041, [2_794_961, 2_794_949]),
    ] {
        let places = TouchLayout::new(&params, inside.into());
        assert_eq!(places.of(&params, position), found, "{inside:#x} {position}");
    }
}

// All hosts have the same peer. With 20,000 hosts, each place of a line receives 625 touches on average. This
// number is binomial with a standard deviation of 24.6. The tolerance is six deviations.
#[test]
fn a_popular_peer_is_spread_over_the_places_of_lines() {
    let params = *Config::default().validate().unwrap().counter().tagged().unwrap();
    let mut touches = [0u32; LINE as usize];
    for inside in 0..20_000 {
        let touch = Contact::new(&params, &Ipv4Pair { inside, peer: 1234 }).fine(&params, 0);
        touches[(touch.place() % LINE) as usize] += 1;
    }
    assert!(touches.iter().all(|n| n.abs_diff(625) < 6 * 25), "{touches:?}");
}

// The last peer of each hash family is in a coarse region of the host.
#[test]
fn touches_of_both_families_equal_the_pinned_vectors() {
    let [v6, other_v6] = [1, 2].map(|low| [0x2001_0db8, 0, 0, low]);
    let [v4, other_v4] = [0xc000_0201, 0x0a00_0001].map(|low| [0, 0, 0xffff, low]);
    let mut found = std::string::String::new();
    for hash in [HashFamily::Murmur, HashFamily::HalfSip13] {
        let scheme = Scheme::Tagged { cell_bits: 12, lines: 412_500, tags: 64 };
        let config = Config { scheme, hash, seed: 5, linear_width: 1 << 14, ..Config::default() };
        let params = *config.validate().unwrap().counter().tagged().unwrap();
        let contact =
            |[inside, peer]: [_; 2]| Contact::new(&params, &params.ids(IpPair { inside, peer }));
        let coarse = (0..).map(|low| [v6, [0x2001_0db8, 1, 0, low]]);
        let is_coarse = |&pair: &[_; 2]| contact(pair).coarse(&params, 0).is_some();
        let coarse = coarse.into_iter().find(is_coarse).unwrap();
        for pair in [[v6, other_v6], [v6, v4], [v4, v6], [v4, other_v4], coarse] {
            let aged = params.step(7);
            let touches =
                [Some(contact(pair).fine(&params, aged)), contact(pair).coarse(&params, aged)];
            let touches = touches.map(|touch| touch.map(|it| (it.places, it.words())));
            std::fmt::Write::write_fmt(
                &mut found,
                format_args!("{hash:?} {pair:x?}: {touches:?}\n"),
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(found);
}
