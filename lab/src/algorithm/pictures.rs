//! The three pictures of the algorithm: all cells, the lines of one host, and the survival curve of this host.

use std::fmt::Write as _;

use super::state::{CELL_BITS, Content, Place, State, THRESHOLD, Verdict, WIDTH, WINDOW};
use super::svg::{OTHER, OWN, Svg, TEXT, filled, stroked};

/// Number of cells in each row and column of the square that shows all cells.
const SIDE: u32 = 1 << (CELL_BITS / 2);
/// Distance between the upper left corners of adjacent cells, in pixels.
const STEP: f64 = 6.0;
/// Left edge of the square that shows all cells, in pixels.
const LEFT: f64 = 8.0;
/// Top edge of the square that shows all cells, in pixels.
const TOP: f64 = 24.0;

pub(super) fn all(state: &State) -> [(&'static str, String); 3] {
    [("cells.svg", cells(state)), ("line.svg", lines(state)), ("survival.svg", survival(state))]
}

fn cells(state: &State) -> String {
    let square = STEP * f64::from(SIDE);
    let mut svg = Svg::new(440);
    svg.text(
        LEFT,
        14.0,
        format_args!(
            "{} of {} cells have a touch in the window",
            state.cells.len(),
            1 << CELL_BITS
        ),
    );
    svg.rect([LEFT - 1.0, TOP - 1.0, square + 2.0, square + 2.0], &stroked(TEXT, 0.5));
    let squares = |places: &mut dyn Iterator<Item = u32>| {
        places.fold(String::new(), |mut path, place| {
            let [x, y] = corner(place);
            let _ = write!(path, "M{x} {y}h5v5h-5z");
            path
        })
    };
    for age in 0..WINDOW {
        let of_age = |is_subject: bool| {
            let cells = state.cells.iter();
            let mut places = cells
                .filter(|cell| cell.age == age && cell.is_subject == is_subject)
                .map(|cell| cell.place);
            squares(&mut places)
        };
        svg.path(&of_age(false), &filled(OTHER, shade(age)));
        svg.path(&of_age(true), &filled(OWN, 1.0));
    }
    for &place in &state.lost {
        let [x, y] = corner(place);
        svg.rect([x - 0.5, y - 0.5, 6.0, 6.0], &stroked(OWN, 1.5));
    }
    legend_of_cells(&mut svg, state, TOP + square + 18.0);
    table_of_hosts(&mut svg, state);
    svg.finish()
}

/// Returns the upper left corner of a cell, in pixels.
fn corner(place: u32) -> [f64; 2] {
    let [x, y] = [place % SIDE, place / SIDE].map(|it| STEP * f64::from(it));
    [LEFT + x, TOP + y]
}

/// Returns the opacity of cells of this `age` that hosts other than the subject hold. Older cells are fainter.
fn shade(age: u32) -> f64 {
    0.85 - 0.65 * f64::from(age) / f64::from(WINDOW - 1)
}

fn legend_of_cells(svg: &mut Svg, state: &State, y: f64) {
    let subject = state.subject();
    svg.rect([LEFT, y - 9.0, 10.0, 10.0], &filled(OWN, 1.0));
    svg.text(LEFT + 15.0, y, format_args!("{} ({})", subject.address, subject.cells));
    svg.rect([LEFT + 102.0, y - 8.5, 9.0, 9.0], &stroked(OWN, 1.5));
    svg.text(LEFT + 117.0, y, format_args!("lost to other hosts ({})", state.lost.len()));
    for age in 0..WINDOW {
        let x = LEFT + 270.0 + 9.0 * f64::from(age);
        svg.rect([x, y - 9.0, 9.0, 10.0], &filled(OTHER, shade(age)));
    }
    svg.text(LEFT + 347.0, y, "age 0–7");
}

fn table_of_hosts(svg: &mut Svg, state: &State) {
    const COLUMNS: [f64; 6] = [496.0, 544.0, 622.0, 724.0, 782.0, 850.0];
    let row = |svg: &mut Svg, y: f64, style: &str, texts: [String; 6]| {
        let columns: Vec<_> = COLUMNS.into_iter().zip(texts).collect();
        svg.row(y, style, &columns);
    };
    let head = ["host", "cells", "candidate", "estimate", "truth", "reported"];
    row(svg, 40.0, "font-weight=\"bold\"", head.map(str::to_owned));
    svg.path("M420 48H850", &stroked(TEXT, 0.5));
    let yes = |is: bool| if is { "yes" } else { "–" }.to_owned();
    let mut y = 66.0;
    let mut is_above = true;
    for host in &state.hosts {
        let is_candidate = host.cells >= state.c_min;
        if is_above && !is_candidate {
            let line = y - 14.0;
            svg.path(
                &format!("M420 {line}H850"),
                &format!("{} stroke-dasharray=\"4 3\"", stroked(TEXT, 1.0)),
            );
            is_above = false;
        }
        let estimate = match is_candidate {
            true => format!("{:.1} ± {:.1}", host.estimate.cardinality, host.estimate.std_error),
            false => "–".to_owned(),
        };
        let texts = [
            host.address.to_string(),
            host.cells.to_string(),
            yes(is_candidate),
            estimate,
            host.truth.to_string(),
            yes(host.is_reported),
        ];
        let is_subject = host.address == state.subject().address;
        let style = if is_subject { format!("fill=\"{OWN}\"") } else { String::new() };
        row(svg, y, &style, texts);
        y += 19.0;
    }
    let (others, most) = (state.other_hosts, state.most_of_others);
    svg.text(424.0, y + 4.0, format_args!("{others} other hosts hold at most {most} cells each"));
    svg.text(
        424.0,
        y + 22.0,
        format_args!("candidates hold at least c_min = {} cells; θ = {THRESHOLD}", state.c_min),
    );
    let contact = &state.contact;
    let y = y + 56.0;
    let [left, top] = corner(contact.place);
    let leader = format!("M{} {}L420 {}", left + 5.0, top + 5.0, y - 4.0);
    svg.path(&leader, &stroked(TEXT, 1.0));
    svg.styled(
        424.0,
        y,
        "font-weight=\"bold\"",
        format_args!("Cell {} holds {:016x}:", contact.place, contact.word),
    );
    svg.text(
        424.0,
        y + 18.0,
        format_args!(
            "age {}, host {}, slot {},",
            contact.age,
            state.subject().address,
            contact.slot
        ),
    );
    svg.text(424.0, y + 36.0, format_args!("peer {}", contact.peer));
}

fn lines(state: &State) -> String {
    const HEIGHT: f64 = 108.0;
    let mut svg = Svg::new(74 + HEIGHT as u32 * state.lines.len() as u32);
    for (number, line) in state.lines.iter().enumerate() {
        let y = 18.0 + HEIGHT * number as f64;
        svg.text(2.0, y, format_args!("line {number}"));
        svg.text(2.0, y + 25.0, "recorder");
        svg.text(2.0, y + 52.0, "position");
        for (at, place) in line.iter().enumerate() {
            let x = column(at);
            svg.styled(x + 11.0, y, "text-anchor=\"middle\" font-size=\"9\"", at);
            recorder(&mut svg, place.content, x, y + 8.0);
            position(&mut svg, place.verdict, x, y + 39.0);
        }
        // A bracket connects each of the host's own echoes with the place of its touch. Wider brackets are drawn lower.
        let mut brackets: Vec<_> = (line.iter().enumerate())
            .filter(|(_, place)| is_own_echo(place))
            .map(|(at, place)| [at.min(place.echo), at.max(place.echo)])
            .collect();
        brackets.sort_by_key(|[low, high]| high - low);
        for (rank, bracket) in brackets.into_iter().enumerate() {
            let [from, to] = bracket.map(|at| column(at) + 11.5);
            // With more brackets, the lowest ones coincide rather than reach the next line's label.
            let depth = y + 62.0 + 4.0 * rank.min(7) as f64;
            svg.path(
                &format!("M{from:.1} {:.1}V{depth:.1}H{to:.1}V{:.1}", y + 57.0, y + 57.0),
                &stroked(OWN, 1.0),
            );
        }
    }
    legend_of_lines(&mut svg, 18.0 + HEIGHT * state.lines.len() as f64);
    svg.finish()
}

fn column(at: usize) -> f64 {
    62.0 + 24.8 * at as f64
}

fn is_own_echo(place: &Place) -> bool {
    matches!(place.content, Content::Echo { is_own: true, .. })
}

fn recorder(svg: &mut Svg, content: Content, x: f64, y: f64) {
    let (style, text, letters) = match content {
        Content::Untouched => (stroked(TEXT, 0.5), String::new(), TEXT),
        Content::Touch { age, is_own } => {
            let colour = if is_own { OWN } else { OTHER };
            (filled(colour, 0.95), age.to_string(), "#ffffff")
        }
        Content::Echo { age, is_own } => {
            let colour = if is_own { OWN } else { OTHER };
            let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"");
            (format!("{style} stroke-dasharray=\"3 2\""), format!("e{age}"), colour)
        }
    };
    svg.rect([x + 0.5, y, 22.5, 24.0], &style);
    let letters = format!("text-anchor=\"middle\" fill=\"{letters}\"");
    svg.styled(x + 11.5, y + 16.0, &letters, text);
}

fn position(svg: &mut Svg, verdict: Verdict, x: f64, y: f64) {
    let (text, colour, weight) = match verdict {
        Verdict::Open => ("·".to_owned(), TEXT, "normal"),
        Verdict::Own(age) => (age.to_string(), OWN, "bold"),
        Verdict::Hidden(age) => (format!("h{age}"), TEXT, "normal"),
        Verdict::Excluded(age) => (format!("x{age}"), TEXT, "normal"),
    };
    let style = format!("text-anchor=\"middle\" fill=\"{colour}\" font-weight=\"{weight}\"");
    svg.styled(x + 11.5, y + 13.0, &style, text);
}

fn legend_of_lines(svg: &mut Svg, y: f64) {
    let entries = [
        (Content::Touch { age: 3, is_own: true }, "own touch of age 3", 62.0),
        (Content::Echo { age: 3, is_own: true }, "own echo of age 3", 232.0),
        (Content::Touch { age: 3, is_own: false }, "touch by another host", 398.0),
        (Content::Echo { age: 3, is_own: false }, "other host’s echo, or an expired touch", 582.0),
    ];
    for (content, name, x) in entries {
        recorder(svg, content, x, y);
        svg.text(x + 30.0, y + 16.0, name);
    }
    let meaning = "Empty: untouched, or older than two windows. Position: 3 = own touch of age 3; h3 = hidden from age 3 on; \
                   x3 = excluded at age 3; · = open";
    svg.text(62.0, y + 44.0, meaning);
}

/// Left, right, top and bottom edges of the survival curve, in pixels.
const ENDS: [f64; 4] = [44.0, 410.0, 20.0, 300.0];

fn survival(state: &State) -> String {
    let mut svg = Svg::new(344);
    axes(&mut svg);
    let visible = |age: usize| {
        let own: u32 = state.steps[..age].iter().map(|step| step.own).sum();
        1.0 - f64::from(own) / f64::from(WIDTH)
    };
    let truth = |age: usize| age.checked_sub(1).map_or(1.0, |age| state.steps[age].truth);
    let dashed = |colour: &str| format!("{} stroke-dasharray=\"5 4\"", stroked(colour, 1.5));
    let survivors = survivors(state);
    let estimate = |age: usize| survivors[age];
    let thick = stroked(TEXT, 5.0) + " stroke-opacity=\"0.5\"";
    let curves = [
        (stairs(&truth), thick, "truth, from the traffic"),
        (stairs(&visible), dashed(OTHER), "counting visible own touches only"),
        (stairs(&estimate), stroked(OWN, 2.0), "S, the estimate"),
    ];
    for (number, (curve, style, name)) in curves.into_iter().enumerate() {
        svg.path(&curve, &style);
        let y = 40.0 + 18.0 * number as f64;
        svg.path(&format!("M172 {}H196", y - 4.0), &style);
        svg.text(202.0, y, name);
    }
    table_of_steps(&mut svg, state);
    svg.finish()
}

/// Returns the survival function S: its value before each age, and its value after the last age.
fn survivors(state: &State) -> Vec<f64> {
    let mut shares = vec![1.0];
    for step in &state.steps {
        shares.push(shares[shares.len() - 1] * (1.0 - step.touched / step.risk));
    }
    shares
}

fn axes(svg: &mut Svg) {
    let [left, right, top, bottom] = ENDS;
    for tenth in [0, 2, 4, 6, 8, 10] {
        let y = bottom - (bottom - top) * f64::from(tenth) / 10.0;
        svg.path(&format!("M{left} {y}H{right}"), &stroked(TEXT, 0.3));
        svg.row(y + 4.0, "", &[(left - 6.0, format!("{:.1}", f64::from(tenth) / 10.0))]);
    }
    let step = (right - left) / f64::from(WINDOW);
    for age in 0..WINDOW {
        let x = left + step * (f64::from(age) + 0.5);
        svg.styled(x, bottom + 18.0, "text-anchor=\"middle\"", age);
    }
    svg.text(left, bottom + 38.0, "age in slices; the running slice is at the left");
    svg.text(left, 12.0, "share of positions without an own touch so far");
}

/// Returns the SVG path of a step function with one step per age.
fn stairs(share: &dyn Fn(usize) -> f64) -> String {
    let [left, right, top, bottom] = ENDS;
    let step = (right - left) / f64::from(WINDOW);
    let mut path = format!("M{left} {top}");
    for age in 0..WINDOW as usize {
        let y = bottom - (bottom - top) * share(age + 1);
        let _ = write!(path, "V{y:.1}H{:.1}", left + step * (age + 1) as f64);
    }
    path
}

fn table_of_steps(svg: &mut Svg, state: &State) {
    const COLUMNS: [f64; 8] = [458.0, 508.0, 566.0, 604.0, 638.0, 706.0, 758.0, 852.0];
    let row = |svg: &mut Svg, y: f64, style: &str, texts: [String; 8]| {
        let columns: Vec<_> = COLUMNS.into_iter().zip(texts).collect();
        svg.row(y, style, &columns);
    };
    let head = ["age", "reach", "hidden", "R", "d", "excluded", "S", "d / R(R − d)"];
    row(svg, 30.0, "font-weight=\"bold\"", head.map(str::to_owned));
    svg.path("M436 38H852", &stroked(TEXT, 0.5));
    let survivors = survivors(state);
    for (age, step) in state.steps.iter().enumerate() {
        let texts = [
            age.to_string(),
            step.reach.to_string(),
            step.hidden.to_string(),
            (step.reach - step.hidden).to_string(),
            step.own.to_string(),
            step.excluded.to_string(),
            format!("{:.3}", survivors[age + 1]),
            format!("{:.5}", step.greenwood()),
        ];
        row(svg, 56.0 + 19.0 * age as f64, "", texts);
    }
    let y = 56.0 + 19.0 * state.steps.len() as f64;
    svg.path(&format!("M436 {}H852", y - 12.0), &stroked(TEXT, 0.5));
    let greenwood: f64 = state.steps.iter().map(super::state::Step::greenwood).sum();
    svg.row(y + 4.0, "", &[(COLUMNS[7], format!("sum {greenwood:.5}"))]);
    let (n, std_error) = state.estimate_by_steps();
    let s = survivors[survivors.len() - 1];
    let width = f64::from(WIDTH);
    let variance = width * width * greenwood;
    for (number, text) in [
        format!("n = −{WIDTH} · ln {s:.3} = {n:.1}"),
        format!("std error = √({WIDTH}² · {greenwood:.5} − {n:.1}) = √({variance:.1} − {n:.1}) = {std_error:.1}"),
        format!("truth: {} distinct peers", state.subject().truth),
    ]
    .into_iter()
    .enumerate()
    {
        let style = if number == 2 { "" } else { "font-weight=\"bold\"" };
        svg.styled(436.0, y + 36.0 + 22.0 * number as f64, style, text);
    }
}
