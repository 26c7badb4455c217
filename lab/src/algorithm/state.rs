//! The arrays of a small detector after synthetic traffic, and the values that can be read from them for one host.
//!
//! To find the cell, the recorders and the tags of a pair, this module ingests only this pair into an empty array and
//! reads the recorders that the pair touched.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use anyhow::{Context, Result, ensure};
use srlg_core::counter::tagged::{Grouping, Histograms, LINE};
use srlg_core::counter::{Counter, Estimate, Lines, TaggedCounter, TaggedParams};
use srlg_core::finder::CellsParams;
use srlg_core::finder::cells::CellArray;
use srlg_core::finder::cells::chance::AgeHistogram;
use srlg_core::{
    Config, Ipv4Pair, Params, ReadRecorder, Recorder, Recorder16, Recorder64, Scheme, Span, Tally,
    age_all,
};
use srlg_host::{Device, SlidingDetector};
use srlg_traffic::synthetic::mix;

/// The host whose cells and lines are drawn.
const SUBJECT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);

/// Number of the subject's new peers in each slice of the last window, starting with the oldest slice.
const NEW_PEERS: [u32; WINDOW as usize] = [6, 6, 8, 10, 14, 16, 12, 8];

pub(super) const WINDOW: u32 = 8;
pub(super) const THRESHOLD: u32 = 64;
pub(super) const CELL_BITS: u32 = 12;
pub(super) const WIDTH: u32 = 96;
const LINES: u32 = 256;

/// Number of hosts in the table of the picture `cells.svg`.
const LISTED: usize = 12;

const SLICES: u32 = 3 * WINDOW;

/// Large hosts besides the subject: the last byte of the address, and the number of new peers per window.
const LARGE: [(u8, u32); 10] = [
    (23, 176),
    (41, 120),
    (60, 72),
    (77, 56),
    (98, 48),
    (120, 40),
    (133, 32),
    (150, 32),
    (171, 24),
    (200, 24),
];
const SMALL_HOSTS: u32 = 240;
/// Exclusive upper bound on a small host's mean number of new peers per window.
const SMALL: u64 = 24;

pub(super) struct Host {
    pub(super) address: Ipv4Addr,
    /// Number of the host's cells whose touch is in the window.
    pub(super) cells: u32,
    pub(super) estimate: Estimate,
    pub(super) truth: usize,
    pub(super) is_reported: bool,
}

/// A cell whose touch is in the window.
pub(super) struct Cell {
    pub(super) place: u32,
    pub(super) age: u32,
    pub(super) is_subject: bool,
}

/// A cell of the subject, and the contact that was decoded from it.
pub(super) struct Contact {
    pub(super) place: u32,
    pub(super) word: u64,
    pub(super) slot: usize,
    pub(super) peer: Ipv4Addr,
    pub(super) age: u32,
}

/// Content of a recorder in one of the subject's lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Untouched,
    /// A touch within the window.
    Touch {
        age: u32,
        is_own: bool,
    },
    /// The echo of a touch of this age. If `is_own` is false, the recorder may instead contain a touch that has left
    /// the window.
    Echo {
        age: u32,
        is_own: bool,
    },
}

/// The class of a position in the survival analysis. Every class except `Open` has an age in slices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Open,
    Own(u32),
    Hidden(u32),
    Excluded(u32),
}

/// A recorder of a line, and the position whose touches are written to it.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) content: Content,
    /// Index, within the line, of the recorder that stores the echoes of this position.
    pub(super) echo: usize,
    pub(super) verdict: Verdict,
    /// True age of the position's most recent touch, or `None` if no touch is in the window.
    pub(super) truth: Option<u32>,
}

/// One age of the survival analysis.
pub(super) struct Step {
    /// Number of positions that reach this age.
    pub(super) reach: u32,
    pub(super) own: u32,
    pub(super) hidden: u32,
    pub(super) excluded: u32,
    /// Number of positions at risk (R), corrected for expected false matches.
    pub(super) risk: f64,
    /// Number of touched positions (d), corrected for expected false matches.
    pub(super) touched: f64,
    /// True share of the positions that have no touch of this age or younger.
    pub(super) truth: f64,
}

pub(super) struct State {
    pub(super) c_min: u32,
    /// Shares of the hosts with θ peers that are missed if `c_min` cells are required, and if one more is.
    missed: [f64; 2],
    pub(super) pairs_in_window: usize,
    pub(super) cells: Vec<Cell>,
    /// Indices of the cells that the subject touched in the window and that other hosts have overwritten.
    pub(super) lost: Vec<u32>,
    pub(super) contact: Contact,
    /// The hosts with the most cells, in descending order of `cells`.
    pub(super) hosts: Vec<Host>,
    /// Number of hosts that hold cells but are not in `hosts`.
    pub(super) other_hosts: usize,
    /// Maximum number of cells of a host that is not in `hosts`.
    pub(super) most_of_others: u32,
    pub(super) lines: Vec<Vec<Place>>,
    pub(super) steps: Vec<Step>,
}

impl State {
    pub(super) fn new(seed: u64) -> Result<Self> {
        let config = Config {
            scheme: Scheme::Tagged { cell_bits: CELL_BITS, lines: LINES, tags: 64 },
            threshold: THRESHOLD,
            window: WINDOW,
            linear_width: WIDTH,
            seed,
            ..Config::default()
        };
        let params = config.validate()?;
        let mut arrays = Arrays::new(&params)?;
        let mut detector = SlidingDetector::new(config, Device::Cpu)?;
        let mut seen = BTreeMap::new();
        for slice in 0..SLICES {
            let pairs = traffic(seed, slice);
            seen.extend(pairs.iter().map(|pair| ((pair.inside, pair.peer), slice)));
            arrays.touch(&pairs);
            detector.ingest(&pairs)?;
            if slice + 1 < SLICES {
                arrays.age();
                detector.close_slice()?;
            }
        }
        // Pairs that have left the window have no age.
        let ages: BTreeMap<(u32, u32), u32> = seen
            .into_iter()
            .map(|(pair, slice)| (pair, SLICES - 1 - slice))
            .filter(|&(_, age)| age < WINDOW)
            .collect();
        Self::read(&params, &arrays, detector, &ages)
    }

    fn read(
        params: &Params,
        arrays: &Arrays<'_>,
        mut detector: SlidingDetector,
        ages: &BTreeMap<(u32, u32), u32>,
    ) -> Result<Self> {
        let span = params.span(u64::from(SLICES) - 1, WINDOW);
        let cells = arrays.cells.in_window();
        let mut counts = vec![0; WINDOW as usize];
        cells.iter().for_each(|cell| counts[cell.age as usize] += 1);
        let histogram = AgeHistogram::new(arrays.cells.params, &counts, span);
        let c_min = histogram.c_min();
        let missed = [c_min, c_min + 1].map(|cells| histogram.miss(histogram.threshold(), cells));

        let closing = detector.begin_close()?;
        let mut hosts: Vec<Host> = Vec::new();
        let held = arrays.cells.hosts();
        let mut by_cells: Vec<_> = held.iter().map(|(host, cells)| (*cells, *host)).collect();
        by_cells.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(cells, address) in by_cells.iter().take(LISTED) {
            let host = IpAddr::V4(address);
            let pairs = ages.keys().filter(|(inside, _)| *inside == address.to_bits());
            hosts.push(Host {
                address,
                cells,
                estimate: closing.cardinality_within(host, WINDOW)?,
                truth: pairs.count(),
                is_reported: closing.super_points().iter().any(|point| point.host == host),
            });
        }
        closing.end()?;

        let own_ages: Vec<(u32, u32)> = ages
            .iter()
            .filter(|((inside, _), _)| *inside == SUBJECT.to_bits())
            .map(|(&(_, peer), &age)| (peer, age))
            .collect();
        let tally =
            TaggedCounter::tally(arrays.lines.view(), SUBJECT.to_bits().into(), span, 0..WIDTH);
        let Tally::Visible(tally) = tally else { unreachable!("the scheme is tagged") };
        let lines = arrays.lines.of_subject(span, &own_ages);
        let (contact, lost) = arrays.cells.of_subject(&own_ages)?;
        ensure!(
            hosts.iter().any(|host| host.address == SUBJECT),
            "cannot list the subject: it holds too few cells; choose another seed"
        );
        Ok(Self {
            c_min,
            missed,
            pairs_in_window: ages.len(),
            cells,
            lost,
            contact,
            other_hosts: held.len() - hosts.len(),
            most_of_others: by_cells.get(LISTED).map_or(0, |&(cells, _)| cells),
            hosts,
            steps: steps(&tally, arrays.lines.params.tags(), &lines),
            lines,
        })
    }

    pub(super) fn subject(&self) -> &Host {
        self.hosts
            .iter()
            .find(|host| host.address == SUBJECT)
            .expect("the constructor checks that the subject is listed")
    }

    /// Returns the estimate and its standard error, computed from the steps of the survival analysis.
    pub(super) fn estimate_by_steps(&self) -> (f64, f64) {
        let width = f64::from(WIDTH);
        let n: f64 = self.steps.iter().map(|step| width * step.hazard()).sum();
        let greenwood: f64 = self.steps.iter().map(Step::greenwood).sum();
        (n, libm::sqrt(width * width * greenwood - n))
    }

    pub(super) fn summary(&self) -> String {
        let (subject, (n, std_error)) = (self.subject(), self.estimate_by_steps());
        format!(
            "{} pairs in the window, {} of {} cells, c_min {} (misses {:.3} %, the next {:.3} %)\n{}: {} cells, {} lost, {n:.1} ± {std_error:.1}, truth {}; {} positions shown only by their echo",
            self.pairs_in_window,
            self.cells.len(),
            1 << CELL_BITS,
            self.c_min,
            100.0 * self.missed[0],
            100.0 * self.missed[1],
            subject.address,
            subject.cells,
            self.lost.len(),
            subject.truth,
            self.lines.iter().flatten().filter(|place| place.is_shown_by_echo()).count(),
        )
    }
}

impl Place {
    /// Returns whether the touch of this position was overwritten, so that only its echo shows it.
    fn is_shown_by_echo(&self) -> bool {
        let Verdict::Own(age) = self.verdict else { return false };
        self.content != Content::Touch { age, is_own: true }
    }
}

impl Step {
    /// Returns the hazard -ln(1 - d/R).
    fn hazard(&self) -> f64 {
        libm::log(self.risk / (self.risk - self.touched))
    }

    /// Returns Greenwood's term d/(R(R - d)), in which the numerator is the uncorrected number of matches.
    pub(super) fn greenwood(&self) -> f64 {
        f64::from(self.own) / (self.risk * (self.risk - self.touched))
    }
}

fn steps(tally: &Histograms, tags: u32, lines: &[Vec<Place>]) -> Vec<Step> {
    let other_tags = f64::from(tags - 1);
    let mut reach = WIDTH;
    let step = |age: usize| {
        let [all, own, hidden] = [tally.all[age], tally.own[age], tally.hidden[age]];
        let (hidden_twice, excluded_twice) = (tally.hidden_twice[age], tally.excluded_twice[age]);
        let chances = f64::from(all - own + hidden_twice - excluded_twice);
        let unclear = f64::from(hidden + hidden_twice) / other_tags;
        let is_touched = |place: &&Place| place.truth.is_some_and(|it| it as usize <= age);
        let touched = lines.iter().flatten().filter(is_touched).count();
        let step = Step {
            reach,
            own,
            hidden,
            excluded: all - own - hidden,
            risk: f64::from(reach - hidden) - unclear,
            touched: f64::from(own) - chances / other_tags,
            truth: 1.0 - touched as f64 / f64::from(WIDTH),
        };
        reach -= all;
        step
    };
    (0..WINDOW as usize).map(step).collect()
}

/// Returns the pairs of a slice. The peers are random, so almost all of them are new.
fn traffic(seed: u64, slice: u32) -> Vec<Ipv4Pair> {
    let mut pairs = Vec::new();
    let mut number = 0;
    let mut contact = |host: Ipv4Addr, count: u32| {
        for _ in 0..count {
            number += 1;
            let peer = mix(seed ^ mix(u64::from(slice) << 32 | number)) as u32;
            // Peers are in 198.18.0.0/15, the network for benchmarks.
            let peer = 0xc612_0000 | peer & 0x1_ffff;
            pairs.push(Ipv4Pair { inside: host.to_bits(), peer });
        }
    };
    let of_subject = match slice.checked_sub(SLICES - WINDOW) {
        Some(slice) => NEW_PEERS[slice as usize],
        None => 10,
    };
    contact(SUBJECT, of_subject);
    LARGE.iter().for_each(|&(host, peers)| contact(Ipv4Addr::new(10, 0, 0, host), peers / WINDOW));
    for host in 0..SMALL_HOSTS {
        let peers = mix(seed ^ u64::from(host)) % SMALL;
        let is_now = |peer: &u64| {
            mix(seed ^ mix(u64::from(slice) << 40 | u64::from(host) << 8 | peer))
                .is_multiple_of(WINDOW.into())
        };
        let now = (0..peers).filter(is_now).count() as u32;
        contact(Ipv4Addr::new(10, 0, 1, host as u8), now);
    }
    pairs
}

struct Arrays<'a> {
    cells: Cells<'a>,
    lines: TaggedLines<'a>,
}

impl<'a> Arrays<'a> {
    fn new(params: &'a Params) -> Result<Self> {
        let cells = params.finder().cells().context("the scheme has no cells")?;
        let lines = params.counter().tagged().context("the scheme is not tagged")?;
        Ok(Self { cells: Cells::new(cells), lines: TaggedLines::new(lines) })
    }

    fn touch(&self, pairs: &[Ipv4Pair]) {
        pairs.iter().for_each(|pair| self.cells.view().touch(pair, 0));
        self.lines.view().touch(pairs, 0);
    }

    fn age(&mut self) {
        age_all(&mut self.cells.recorders, self.cells.params.age_step(), 0);
        age_all(&mut self.lines.recorders, self.lines.params.step(1) as u16, 0);
    }
}

struct Cells<'a> {
    params: &'a CellsParams,
    recorders: Vec<Recorder64>,
}

impl<'a> Cells<'a> {
    fn new(params: &'a CellsParams) -> Self {
        let untouched = |_| Recorder64::new(Recorder64::UNTOUCHED);
        Self { params, recorders: (0..1 << CELL_BITS).map(untouched).collect() }
    }

    fn view(&self) -> CellArray<'_, Recorder64> {
        CellArray::new(self.params, &self.recorders)
    }

    /// Returns the index, word and age of each cell whose touch is in the window.
    fn touched(&self) -> impl Iterator<Item = (u32, u64, u32)> {
        let cells = (0..).zip(&self.recorders).map(|(place, cell)| (place, cell.word()));
        cells
            .map(|(place, word)| (place, word, self.params.age(word)))
            .filter(|&(_, _, age)| age < WINDOW)
    }

    fn in_window(&self) -> Vec<Cell> {
        let subject = self.params.owner_of(SUBJECT.to_bits());
        let cell = |(place, word, age)| {
            let is_subject = self.params.owner(place, word) == subject;
            Cell { place, age, is_subject }
        };
        self.touched().map(cell).collect()
    }

    /// Returns the number of cells that each host holds.
    fn hosts(&self) -> BTreeMap<Ipv4Addr, u32> {
        let mut hosts = BTreeMap::new();
        for (place, word, _) in self.touched() {
            let host = self.params.host(self.params.owner(place, word));
            let host = Ipv4Addr::from_bits(host.expect("all hosts are IPv4 hosts"));
            *hosts.entry(host).or_default() += 1;
        }
        hosts
    }

    /// Decodes a contact from a cell of the subject, and returns it with the indices of the subject's lost cells.
    fn of_subject(&self, of_subject: &[(u32, u32)]) -> Result<(Contact, Vec<u32>)> {
        let inside = SUBJECT.to_bits();
        let spots = self.params.spots(inside);
        let contact = spots.iter().enumerate().find_map(|(slot, &spot)| {
            let word = self.recorders[spot.place as usize].word();
            let peer = self.params.peer(inside, spot, word)?;
            let is_in_middle = (2..WINDOW).contains(&peer.age);
            is_in_middle.then_some(Contact {
                place: spot.place,
                word,
                slot,
                peer: Ipv4Addr::from_bits(peer.host),
                age: peer.age,
            })
        });
        let owner = self.params.owner_of(inside);
        let mut lost = BTreeSet::new();
        for &(peer, _) in of_subject {
            let empty = Self::new(self.params);
            empty.view().touch(&Ipv4Pair { inside, peer }, 0);
            let places = empty.touched().map(|(place, ..)| place);
            lost.extend(places.filter(|&place| {
                self.params.owner(place, self.recorders[place as usize].word()) != owner
            }));
        }
        Ok((
            contact
                .context("cannot decode a contact: all cells are too new; choose another seed")?,
            lost.into_iter().collect(),
        ))
    }
}

struct TaggedLines<'a> {
    params: &'a TaggedParams,
    recorders: Vec<Recorder16>,
}

/// The indices and words of the two recorders that one contact writes in an empty array.
struct Own {
    touch: usize,
    echo: usize,
    words: [u32; 2],
}

impl<'a> TaggedLines<'a> {
    fn new(params: &'a TaggedParams) -> Self {
        let untouched = |_| Recorder16::new(Recorder16::UNTOUCHED);
        Self { params, recorders: (0..LINES * LINE).map(untouched).collect() }
    }

    fn view(&self) -> Lines<'_, Recorder16> {
        Lines::new(self.params, &self.recorders)
    }

    /// Returns the position of the subject that a contact with `peer` touches, and the recorders that this contact
    /// writes.
    fn own(&self, peer: u32) -> (usize, Own) {
        let empty = Self::new(self.params);
        let pair = Ipv4Pair { inside: SUBJECT.to_bits(), peer };
        empty.view().touch(&[pair], 0);
        let words = empty.recorders.iter().map(|recorder| u32::from(recorder.word()));
        let mut touched: Vec<_> =
            words.enumerate().filter(|&(_, word)| word < u16::MAX.into()).collect();
        touched.sort_by_key(|&(_, word)| word);
        let [(touch, word), (echo, echo_word)] = touched[..] else {
            unreachable!("a pair touches two recorders")
        };
        let position = self.params.position(&pair).expect("every pair is counted");
        (position as usize, Own { touch, echo, words: [word, echo_word] })
    }

    fn of_subject(&self, span: Span, of_subject: &[(u32, u32)]) -> Vec<Vec<Place>> {
        let mut own = BTreeMap::new();
        for peer in 0.. {
            own.extend([self.own(peer)]);
            if own.len() == WIDTH as usize {
                break;
            }
        }
        let mut truth = BTreeMap::new();
        for &(peer, age) in of_subject {
            let last = truth.entry(self.own(peer).0).or_insert(age);
            *last = age.min(*last);
        }
        let positions = self.view().positions(SUBJECT.to_bits().into(), Grouping::of_ages(span));
        let place = |number: usize| {
            let position = &own[&number];
            let echo = position.echo % LINE as usize;
            // The twin position stores its touches where this position stores its echoes, and the other way round.
            let twin = &own[&(number / LINE as usize * LINE as usize + echo)];
            Place {
                content: self.content(position, twin),
                echo,
                verdict: verdict(positions.bin(number as u32)),
                truth: truth.get(&number).copied(),
            }
        };
        let line = |line: u32| (line * LINE..(line + 1) * LINE).map(|it| place(it as usize));
        (0..WIDTH / LINE).map(|number| line(number).collect()).collect()
    }

    /// Classifies the word of the recorder that the touch of `own` and the echo of `twin` share.
    fn content(&self, own: &Own, twin: &Own) -> Content {
        let (word, tags) = (u32::from(self.recorders[own.touch].word()), self.params.tags());
        let age = word / tags;
        match age.checked_sub(WINDOW) {
            None => Content::Touch { age, is_own: word == own.words[0] + age * tags },
            Some(age) if age < WINDOW => {
                Content::Echo { age, is_own: word == twin.words[1] + age * tags }
            }
            Some(_) => Content::Untouched,
        }
    }
}

fn verdict(bin: Option<u32>) -> Verdict {
    let Some(bin) = bin else { return Verdict::Open };
    let age = bin % WINDOW;
    match bin / WINDOW {
        2 => Verdict::Own(age),
        1 | 4 => Verdict::Hidden(age),
        _ => Verdict::Excluded(age),
    }
}
