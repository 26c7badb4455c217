use super::*;

fn chart(scale: Scale, points: &[(f64, f64)]) -> Chart {
    let point = |&(x, y): &(f64, f64)| Point { x, y, error: 0.0 };
    Chart {
        title: "a <title>".into(),
        x: Axis { label: "the x", scale: Scale::Linear },
        y: Axis { label: "the y", scale },
        series: vec![
            Series { name: "first".into(), points: points.iter().map(point).collect() },
            Series { name: "second".into(), points: Vec::new() },
        ],
    }
}

/// Number of marks of points.
fn marks(svg: &str) -> usize {
    svg.matches("<circle").count()
}

#[test]
fn names_and_labels_are_texts_of_a_whole_document() {
    let svg = chart(Scale::Linear, &[(1.0, 2.0), (2.0, 3.0)]).svg().unwrap();
    for text in ["first", "second", "the x", "the y", "a &lt;title&gt;"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn equal_charts_are_equal_bytes() {
    let svg = || chart(Scale::Logarithmic, &[(1.0, 2.0), (2.0, 0.3)]).svg().unwrap();
    assert_eq!(svg(), svg());
    assert_ne!(svg(), chart(Scale::Linear, &[(1.0, 2.0), (2.0, 0.3)]).svg().unwrap());
}

#[test]
fn values_without_a_place_are_left_out() {
    let points = [(1.0, 2.0), (2.0, 0.0), (3.0, f64::NAN), (f64::INFINITY, 1.0), (4.0, 1.0)];
    assert_eq!(marks(&chart(Scale::Linear, &points).svg().unwrap()), 3);
    assert_eq!(marks(&chart(Scale::Logarithmic, &points).svg().unwrap()), 2);
    for scale in [Scale::Linear, Scale::Logarithmic] {
        assert_eq!(marks(&chart(scale, &[]).svg().unwrap()), 0);
    }
}

#[test]
fn a_long_series_is_a_line_without_marks() {
    let points: Vec<_> = (0..=MOST_MARKS).map(|x| (x as f64, 1.0)).collect();
    assert_eq!(marks(&chart(Scale::Linear, &points).svg().unwrap()), 0);
    assert_eq!(marks(&chart(Scale::Linear, &points[1..]).svg().unwrap()), MOST_MARKS);
}

#[test]
fn errors_are_bars_that_the_axis_has_room_for() {
    let bare = chart(Scale::Linear, &[(1.0, 2.0), (2.0, 3.0)]);
    let mut barred = chart(Scale::Linear, &[(1.0, 2.0), (2.0, 3.0)]);
    barred.series[0].points[0].error = 7.0;
    let lines = |chart: &Chart| chart.svg().unwrap().matches("<polyline").count();
    assert!(lines(&barred) > lines(&bare));
    let range = barred.vertical().range();
    assert!(range.start <= -5.0 && range.end >= 9.0, "{range:?}");
    barred.y.scale = Scale::Logarithmic;
    assert!(barred.vertical().range().start > 1.0, "a bar below 0 does not stretch the axis");
}
