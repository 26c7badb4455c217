use super::*;

fn read(text: &str) -> Result<InputOptions, serde_json::Error> {
    serde_json::from_str(text)
}

#[test]
fn keys_are_the_names_of_a_command() {
    let text = r#"{"listen": ["[::]:2055"], "exporters": ["192.0.2.7/28", "::1"], "receive-buffer": 4096,
        "nat": "post", "timestamps": "received", "sampling": 100, "snap-length": 256}"#;
    let options = read(text).unwrap();
    let sockets = SocketOptions {
        listen: vec!["[::]:2055".parse().unwrap()],
        exporters: vec!["192.0.2.0/28".parse().unwrap(), "::1/128".parse().unwrap()],
        receive_buffer: 4096,
        ..SocketOptions::default()
    };
    let (nat, timestamps) = (Nat::Post, Timestamps::Received);
    let decoding = ExportOptions { nat, timestamps, sampling: NonZeroU32::new(100) };
    assert_eq!(options, InputOptions { sockets, decoding, ..InputOptions::default() });
    assert_eq!(options.check(), Ok(()));
    assert_eq!(read("{}").unwrap(), InputOptions::default());
    for text in [
        r#"{"listn": []}"#,
        r#"{"listen": ["nowhere"]}"#,
        r#"{"exporters": ["10.0.0.0/33"]}"#,
        r#"{"nat": "both"}"#,
        r#"{"sampling": 0}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn options_that_a_command_would_reject_are_named() {
    let listen = r#""listen": ["[::]:2055"]"#;
    for (text, option) in [
        ("", None),
        (listen, Some("listen")),
        (&format!(r#"{listen}, "exporters": ["::1"]"#), None),
        (&format!(r#"{listen}, "exporters": ["::1"], "interface": "eth0""#), Some("interface")),
        (&format!(r#"{listen}, "exporters": ["::1"], "receivers": 0"#), Some("receivers")),
        (&format!(r#"{listen}, "exporters": ["::1"], "input": ["a"]"#), Some("listen")),
        (r#""exporters": ["::1"]"#, Some("listen")),
        (r#""templates": "a""#, Some("listen")),
        (r#""interface": "eth0", "filter": "tcp""#, None),
        (r#""filter": "tcp""#, Some("interface")),
        (r#""interface": "eth0", "snap-length": 61"#, Some("snap-length")),
        (r#""input": ["a"], "live": true"#, None),
        (r#""live": true"#, Some("input")),
        (r#""input": ["a"], "nat": "post""#, Some("listen")),
        (r#""input": ["a"], "exports": true, "nat": "post""#, None),
        (r#""input": ["a"], "exports": true, "tunnels": "inner""#, None),
        (&format!(r#"{listen}, "exporters": ["::1"], "tunnels": "both""#), None),
        (r#""url": "nats://127.0.0.1/flows", "tunnels": "inner""#, Some("tunnels")),
    ] {
        let bad = read(&format!("{{{text}}}")).unwrap().check().err();
        assert_eq!(bad.map(|bad| bad.option), option, "{text}");
    }
}
