use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use srlg_input::Input;

use super::{Args, check, memory_limit, shortage};
use crate::config::Config;
use crate::config::source::SourceOptions;
use crate::mmdb::as_database;
use srlg_notify::sinks::Sinks;
use srlg_notify::store::Store;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A mistake in a value of the file, which `run` and `collect` also reject.
    Values,
    /// A problem on the local machine, such as a missing file.
    Machine,
}
use Kind::{Machine, Values};

struct Wrong {
    kind: Kind,
    text: &'static str,
    /// Lines with mistakes.
    lines: &'static [usize],
}

const fn wrong(kind: Kind, text: &'static str, lines: &'static [usize]) -> Wrong {
    Wrong { kind, text, lines }
}

const INPUT: &str = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n";

#[rustfmt::skip]
const FILES: &[Wrong] = &[
    // Unknown keys in each table.
    wrong(Values, "thresold = 7\n[[view]]\nname = 'a'\npears = 5\n[[rule]]\nname = 'r'\nthresholds = { 60s = 1000 }\nuntil = 3\n\
        [[allow]]\nwhy = 'w'\nhosts = ['192.0.2.1']\npeer = []\n[[label]]\nname = 'l'\nnetworks = ['192.0.2.1']\ncolor = 1\n\
        [[sink]]\ntype = 'webhook'\nurl = 'http://localhost'\ntimout = '5s'\nretries = 3\n[input]\nexporter = 1\nlistn = 2\n",
        &[1, 4, 8, 12, 16, 20, 21, 23, 24]),
    // Keys of the top level in a table, and tables at the top level.
    wrong(Values, "insides = []\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\nslice = '1s'\n[[views]]\nname = 'a'\n[inputs]\nlive = true\n\
        [[sink]]\ntype = 'mail'\nserver = 'smtp://localhost:25'\nfrom = 'a@example.net'\nto = ['a@example.net']\nurl = 'http://localhost'\n",
        &[1, 5, 6, 8, 15]),
    // Values of an invalid type.
    wrong(Values, "slice = 1\ninside = '10.0.0.0/8'\nhttp = 80\n[[view]]\nname = 'a'\npairs = 'many'\n[[rule]]\nname = 'r'\nfor = 'ever'\n\
        thresholds = { 60s = 1000, 1h = 'x' }\n[[allow]]\nwhy = 'w'\nhosts = ['192.0.2.1']\nports = ['http', 80]\n\
        [[sink]]\ntype = 'file'\npath = '-'\nqueue = -1\nkeep = 'all'\n",
        &[1, 2, 3, 6, 9, 10, 14, 18, 19]),
    // Unknown words as values.
    wrong(Values, "device = 'gpu'\n[[view]]\nname = 'a'\nrole = 'receiver'\nmeasure = 'both'\nonly = 'tcp'\n[[sink]]\ntype = 'pager'\n[input]\nnat = 'yes'\n\
        timestamps = 'now'\n", &[1, 4, 5, 6, 8, 10, 11]),
    // Hosts and peers that are unknown or cannot be combined.
    wrong(Values, "[[view]]\nname = 'a'\nhost = 'port'\n[[view]]\nname = 'b'\npeer = 'ports'\n", &[3, 6]),
    wrong(Values, "[[view]]\nname = 'a'\nhost = 'address+port'\n[[view]]\nname = 'b'\npeer = 'address+port'\npeer-prefix6 = 128\n[[view]]\nname = 'c'\n\
        role = 'source'\nhost = 'address+port'\n[[view]]\nname = 'd'\nhost = 'address+port'\npeer = 'port'\nrole = 'source'\n", &[2, 5, 9, 13]),
    // A list without its closing bracket.
    wrong(Values, "slice = 1\ninside = ['192.0.2.0/24'\nhttp = '127.0.0.1:0'\n[input]\nlisten = ['127.0.0.1:0']\n", &[3]),
    // Text that is not TOML.
    wrong(Values, "slice = \n[[view]]\nname = 'a\n[[rule]\nname = 'r'\n", &[1, 3, 4]),
    // Keys and tables that occur twice.
    wrong(Values, "slice = '1s'\nslice = '2s'\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n[input]\nlive = true\n", &[2, 6]),
    // Names of exporters.
    wrong(Values, "[[exporter]]\n[[exporter]]\nname = 'a'\nnetworks = ['router', '192.0.2.1']\ninterfaces = { 7 = '', eth0 = 'x', 4294967296 = 'y' }\n",
        &[1, 1, 4, 5, 5, 5]),
    // Tables of an invalid form.
    wrong(Values, "view = 'x'\nrule = 7\n[sink]\ntype = 'file'\n[label]\n", &[1, 2, 3, 5]),
    // Values of 0.
    wrong(Values, "slice = '0s'\ncheckpoint = '0s'\nkeep = '0s'\n[[view]]\nname = 'a'\npairs = 0\n[[rule]]\nname = 'r'\nthresholds = { 60s = 0 }\n\
        [[sink]]\ntype = 'file'\npath = '-'\nqueue = 0\nmost-per-minute = 0\nrotate-bytes = 0\n\
        [[sink]]\ntype = 'alertmanager'\nurl = 'http://localhost'\ntimeout = '0s'\nresend = '0s'\n",
        &[1, 2, 3, 6, 9, 13, 14, 15, 19, 20]),
    // Memory that is too small.
    wrong(Values, "[[view]]\nname = 'a'\nmemory = 10\n[[view]]\nname = 'b'\npairs = 1000000\nmemory = 10\n[[view]]\nname = 'c'\npairs = 100000000000\n",
        &[3, 7, 10]),
    // Empty lists.
    wrong(Values, "inside = []\n[[view]]\nname = 'a'\ninside = []\n[[rule]]\nname = 'r'\nviews = []\nnetworks = []\nthresholds = {}\n\
        [[allow]]\nwhy = 'w'\nviews = []\nhosts = []\npeers = ['192.0.2.1']\nports = []\n[[label]]\nname = 'l'\nnetworks = []\n\
        [[sink]]\ntype = 'exec'\ncommand = []\n[input]\nlisten = []\nexporters = []\n",
        &[1, 4, 7, 8, 9, 12, 13, 15, 18, 21, 23, 24]),
    // Empty strings.
    wrong(Values, "state = ''\n[[view]]\nname = ''\n[[rule]]\nname = ''\nthresholds = { 60s = 1000 }\n[[allow]]\nwhy = ''\nhosts = ['192.0.2.1']\n\
        [[label]]\nname = ''\nnetworks = ['192.0.2.1']\n[[sink]]\nname = ''\ntype = 'file'\npath = ''\n",
        &[1, 3, 5, 8, 11, 14, 16]),
    // Missing keys.
    wrong(Values, "[[view]]\n[[rule]]\n[[allow]]\n[[label]]\n[[sink]]\nqueue = 3\n", &[1, 2, 2, 3, 3, 4, 4, 5]),
    // Names of missing views, and a view without a rule.
    wrong(Values, "[[view]]\nname = 'a'\n[[view]]\nname = 'b'\n[[rule]]\nname = 'r'\nviews = ['a', 'c']\nthresholds = { 60s = 1000 }\n\
        [[allow]]\nwhy = 'w'\nviews = ['d']\nhosts = ['192.0.2.1']\n", &[4, 7, 11]),
    // Names and networks that occur twice.
    wrong(Values, "[[view]]\nname = 'a'\n[[view]]\nname = 'a'\n[[rule]]\nname = 'r'\nthresholds = { 60s = 1000, 1m = 2000 }\n\
        [[rule]]\nname = 's'\nthresholds = { 60s = 1000 }\n[[sink]]\nname = 'x'\ntype = 'file'\npath = '-'\n\
        [[sink]]\nname = 'x'\ntype = 'file'\npath = '-'\n", &[4, 7, 9, 16]),
    // Terms of rules that are out of range.
    wrong(Values, "[[rule]]\nname = 'r'\nthresholds = { 60s = 3 }\n[[rule]]\nname = 's'\nnetworks = ['192.0.2.1']\nthresholds = { 60s = nan }\n\
        [[rule]]\nname = 't'\nnetworks = ['192.0.2.2']\nthresholds = { 60s = 1000 }\ndown = 2\n\
        [[rule]]\nname = 'u'\nnetworks = ['192.0.2.3']\nthresholds = { 60s = 1000 }\nfor = 6\n\
        [[rule]]\nname = 'v'\nnetworks = ['192.0.2.4']\nthresholds = { 60s = 1000, 1h = 2000 }\nof = 33\n",
        &[3, 7, 12, 17, 22]),
    // Times.
    wrong(Values, "slice = '1 parsec'\ngrace = 'long'\n[[rule]]\nname = 'r'\nthresholds = { 1500us = 1000 }\nhold = 60\nrepeat = 'often'\n\
        [[rule]]\nname = 's'\nnetworks = ['192.0.2.1']\nthresholds = { day = 1000 }\n", &[1, 2, 5, 6, 7, 11, 11]),
    // Networks and addresses.
    wrong(Values, "inside = ['10.0.0.0/33']\nhttp = 'here'\n[[rule]]\nname = 'r'\nnetworks = ['all']\nthresholds = { 60s = 1000 }\n\
        [[label]]\nname = 'l'\nnetworks = ['::ffff:0:0/90', '192.0.2.1']\n[input]\nlisten = ['2055', '127.0.0.1:0']\nexporters = ['router']\n",
        &[1, 2, 5, 9, 11, 12]),
    // Addresses of sinks.
    wrong(Values, "http = '0.0.0.0:80'\n[[sink]]\ntype = 'webhook'\nurl = 'localhost'\n[[sink]]\ntype = 'alertmanager'\nurl = 'ftp://localhost'\n\
        [[sink]]\ntype = 'syslog'\naddress = 'localhost:514'\n", &[1, 4, 7, 10]),
    // Emails.
    wrong(Values, "[[sink]]\ntype = 'mail'\nserver = 'mail.example'\nfrom = 'noc'\nto = ['a@example.net, b@example.net']\nplain = true\n\
        credentials.basic-file = 'DIR/pair'\ntimeout = '0s'\n[[sink]]\nname = 'b'\ntype = 'mail'\nserver = 'smtps://localhost:465'\nfrom = 'a@example.net'\n\
        to = []\nplain = true\ntls.ca = 'DIR/good/ca.pem'\n", &[3, 4, 5, 7, 8, 14, 15, 16]),
    wrong(Values, "[[sink]]\ntype = 'mail'\nserver = 'smtp://localhost:25'\nfrom = 'a@example.net'\nto = ['a@example.net']\n\
        credentials.bearer-file = 'DIR/pair'\n", &[6]),
    wrong(Machine, "[[sink]]\nname = 'a'\ntype = 'mail'\nserver = 'smtp://localhost:25'\nfrom = 'a@example.net'\nto = ['a@example.net']\n\
        credentials.basic-file = 'DIR/secret'\n[[sink]]\nname = 'b'\ntype = 'mail'\nserver = 'smtp://localhost:25'\nfrom = 'a@example.net'\n\
        to = ['a@example.net']\ntls.ca = 'DIR/none'\n", &[7, 14]),
    // Options of an input that are out of range or need another option.
    wrong(Values, "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\nreceivers = 0\n", &[4]),
    wrong(Values, "[input]\nlisten = ['127.0.0.1:0']\n", &[2]),
    wrong(Values, "[input]\nlisten-tcp = ['127.0.0.1:0']\n", &[2]),
    wrong(Values, "[input]\nlisten-tcp = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\nreceivers = 2\n", &[1]),
    // An input and a network.
    wrong(Values, "state = 'DIR/state'\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n[network]\nprobes = ['a']\nfolder = 'DIR/good'\n", &[5]),
    // The table of a network.
    wrong(Values, "state = 'DIR/state'\n[network]\nfolder = 'DIR/good'\nprobes = ['a', 'a', 'b c']\nbroker = 'tls://host'\ndeadline = '2d'\n\
        max-skew = 0\npending-mb = 0\nstream-mb = 0\nstream-age = '1s'\nmost-pairs = 5000000\n", &[4, 4, 5, 6, 7, 8, 9, 10, 11]),
    // The table of a probe, and settings that only a collector has.
    wrong(Values, "state = 'DIR/state'\nslice = '1s'\nkeep = '1d'\n[probe]\nfolder = 'DIR/good'\nbroker = 'tls://host'\nkeep = 1\n\
        [[rule]]\nname = 'r'\nthresholds = { 60s = 1000 }\n[[sink]]\ntype = 'file'\npath = '-'\n", &[2, 3, 4, 6, 7, 8, 11]),
    wrong(Values, "state = 'DIR/state'\n[probe]\nname = 'a'\nfolder = 'DIR/good'\npace = 'fast'\n", &[5]),
    wrong(Values, "state = 'DIR/state'\n[probe]\nname = 'a'\nfolder = 'DIR/good'\n[network]\nprobes = ['a']\nfolder = 'DIR/good'\n", &[5]),
    wrong(Machine, "[probe]\nname = 'b'\nfolder = 'DIR/good'\n", &[1, 3]),
    // No input.
    wrong(Machine, "slice = '1s'\n[input]\n", &[2]),
    // Files.
    wrong(Machine, "[input]\ninput = ['DIR/none', 'DIR']\n[[sink]]\nname = 'a'\ntype = 'webhook'\nurl = 'http://localhost'\ncredentials.headers-file = 'DIR/none'\n\
        [[sink]]\nname = 'b'\ntype = 'webhook'\nurl = 'http://localhost'\ncredentials.headers-file = 'DIR/open'\n\
        [[sink]]\nname = 'c'\ntype = 'webhook'\nurl = 'http://localhost'\ncredentials.headers-file = 'DIR/secret'\n", &[2, 2, 7, 12, 17]),
    // Folders.
    wrong(Machine, "state = 'DIR/open/state'\n[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\ntemplates = 'DIR/none/templates'\n\
        [[sink]]\nname = 'a'\ntype = 'file'\npath = 'DIR/none/alerts'\n[[sink]]\nname = 'b'\ntype = 'file'\npath = 'DIR'\n", &[1, 5, 9, 13]),
    // A state of another program.
    wrong(Machine, "state = 'DIR/foreign'\n", &[1]),
    // Files of another program.
    wrong(Machine, "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\ntemplates = 'DIR/open'\n[[sink]]\ntype = 'file'\npath = 'DIR/open'\n",
        &[4, 7]),
    // Programs.
    wrong(Machine, "[[sink]]\nname = 'a'\ntype = 'exec'\ncommand = ['/none']\n[[sink]]\nname = 'b'\ntype = 'exec'\ncommand = ['DIR/open', '-v']\n\
        [[sink]]\nname = 'c'\ntype = 'exec'\ncommand = ['no-such-program']\n", &[4, 8, 12]),
    // Addresses of other machines.
    wrong(Machine, "http = '192.0.2.1:8080'\nhttp-public = true\n[input]\nlisten = ['192.0.2.1:2055', '127.0.0.1:0']\nlisten-tcp = ['192.0.2.1:4739']\nexporters = ['127.0.0.1']\n", &[1, 4, 5]),
    // Tokens of users.
    wrong(Machine, "http-tokens = 'DIR/none'\n", &[1]),
    wrong(Machine, "http-tokens = 'DIR/open'\n", &[1]),
    wrong(Machine, "http-tokens = 'DIR/secret'\n", &[1]),
    // Databases of ASes and countries.
    wrong(Machine, "as-file = 'DIR/none'\ncountry-file = 'DIR/open'\n", &[1, 2]),
    wrong(Machine, "as-file = 'DIR/as.mmdb'\ncountry-file = 'DIR/as.mmdb'\n", &[2]),
    // Credentials of a network.
    wrong(Machine, "[network]\nprobes = ['a']\nfolder = 'DIR/none'\n", &[1, 3]),
    wrong(Machine, "state = 'DIR/state'\n[network]\nprobes = ['a']\nfolder = 'DIR/bad'\n", &[4, 4]),
    wrong(Machine, "state = 'DIR/state'\n[network]\nprobes = ['a']\nfolder = 'DIR/open-key'\n", &[4]),
    // Problems of values together with problems of the machine.
    wrong(Values, "slice = '0s'\nstate = 'DIR/open'\n[[sink]]\ntype = 'exec'\ncommand = ['/none']\nqueue = 0\n", &[1, 2, 5, 6]),
];

/// Creates files for the configurations in [`FILES`].
fn make(folder: &Path) {
    let write = |name: &str, text: &str, mode| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    crate::network::setup::make(
        &folder.join("good"),
        &["a".to_owned()],
        &["localhost".to_owned()],
        4222,
    )
    .unwrap();
    let authority = fs::read_to_string(folder.join("good/ca.pem")).unwrap();
    write("open", "Authorization: Bearer 1", 0o644);
    write("secret", "no header\n", 0o600);
    let of_as = as_database(&[("192.0.2.0/24", 64_500, "Example Transit")]);
    fs::write(folder.join("as.mmdb"), of_as).unwrap();
    write("pair", "a:b\n", 0o600);
    write(
        "foreign/srlg.sqlite",
        "a text, and no database, of a length at which that is known",
        0o644,
    );
    write("bad/ca.pem", "no certificate", 0o644);
    write("bad/collector.nk", "no key", 0o600);
    write("open-key/ca.pem", &authority, 0o644);
    write("open-key/collector.nk", "no key", 0o644);
}

/// Writes `text` to a file in `folder`. Adds an input if the text has neither an input nor a network.
fn write(folder: &Path, text: &str) -> PathBuf {
    let input = if text.contains("[input]") || text.contains("[network]") { "" } else { INPUT };
    let path = folder.join("srlg.toml");
    let text = format!("{text}{input}").replace("DIR", folder.to_str().unwrap());
    fs::write(&path, text).unwrap();
    path
}

fn args(config: &Path) -> Args {
    Args { config: config.to_owned(), source: SourceOptions::default() }
}

#[test]
fn every_mistake_is_found_in_one_run_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let masked = |text: &str| text.replace(folder.path().to_str().unwrap(), "DIR");
    let (mut texts, mut others) = (String::new(), String::new());
    for Wrong { kind, text, lines } in FILES {
        let config = write(folder.path(), text);
        let error = check(&args(&config)).expect_err(text).to_string();
        let prefix = format!("{}:", config.display());
        let number = |line: &str| line.strip_prefix(&prefix)?.split(':').next()?.parse().ok();
        let numbers: Vec<usize> = error.lines().filter_map(number).collect();
        let of_run = Config::read(&config).err().map(|error| error.to_string());
        let is_of_check = |line: &str| error.lines().any(|other| other == line);
        let is_in_check = of_run.iter().flat_map(|error| error.lines()).all(is_of_check);
        if numbers != *lines || of_run.is_some() != (*kind == Values) || !is_in_check {
            others += &format!("{text}{numbers:?}\n{error}\n{of_run:?}\n\n");
        }
        texts += &format!("{text}    {}\n\n", masked(&error).replace('\n', "\n    "));
    }
    assert!(others.is_empty(), "{others}");
    insta::assert_snapshot!(texts);
}

#[test]
fn a_view_that_counts_ports_of_answers_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let input = "[input]\nlisten = ['127.0.0.1:0']\nexporters = ['127.0.0.1']\n";
    let views = "[[view]]\nname = 'a'\npeer = 'port'\n[[view]]\nname = 'b'\npeer = 'port'\nonly = 'initiated'\n\
        [[view]]\nname = 'c'\nrole = 'destination'\nhost = 'address+port'\nhost-prefix6 = 64\n";
    let config = write(folder.path(), &format!("{input}{views}"));
    let text = check(&args(&config)).unwrap();
    let warnings: Vec<_> = text.lines().filter(|line| line.contains("warning: view")).collect();
    let start = format!("{}:5: warning: view a: ports of replies", config.display());
    assert!(matches!(warnings[..], [line] if line.starts_with(&start)), "{text}");
}

#[test]
fn thresholds_beyond_the_inside_addresses_and_sampling_are_noted_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let rules = "[[rule]]\nname = 'all'\nviews = ['fan-in', 'fan-out']\nthresholds = { 60s = 1024 }\n\
        [[rule]]\nname = 'all'\nviews = ['outside']\nthresholds = { 60s = THRESHOLD }\n";
    let notes = |threshold: &str, sampling: u32, source: SourceOptions| {
        let rules = rules.replace("THRESHOLD", threshold);
        let sampling = format!("sampling = {sampling}\n");
        let config =
            write(folder.path(), &format!("inside = ['10.1.2.0/24']\n{INPUT}{sampling}{rules}"));
        let text =
            check(&Args { source, ..args(&config) }).unwrap().replace(config.to_str().unwrap(), "");
        let mut notes =
            text.lines().map(|line| line.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" "));
        let is_note =
            |line: &String| [":5: ", ":13: ", "note: "].iter().any(|of| line.starts_with(of));
        let notes = notes.by_ref().filter(is_note);
        let is_usual = |line: &String| ["note: a scan", "note: a flood"].contains(&line.as_str());
        notes.filter(|line| !is_usual(line)).collect::<Vec<_>>()
    };
    let none = SourceOptions::default;
    let expected = [":5: note: sampling", ":13: warning: view"];
    assert_eq!(notes("257", 100, none()), expected);
    assert_eq!(notes("256", 1, none()), Vec::<String>::new());
    let packets = SourceOptions { input: vec!["-".into()], ..none() };
    assert_eq!(notes("256", 100, packets.clone()), Vec::<String>::new());
    let exports = SourceOptions { exports: true, ..packets };
    assert_eq!(notes("256", 100, exports), ["note: sampling 1:100:"]);
}

#[test]
fn names_of_exporters_and_the_memory_of_databases_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let exporter = "[[exporter]]\nname = 'edge-1'\nnetworks = ['192.0.2.1', '2001:db8::/64']\ninterfaces = { 7 = 'transit' }\n";
    let config = write(folder.path(), &format!("as-file = 'DIR/as.mmdb'\n{exporter}"));
    let text = check(&args(&config)).unwrap();
    let shown = text.lines().filter(|line| line.contains("exporter") || line.contains("as-file"));
    let shown = shown.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown.replace(config.to_str().unwrap(), "CONFIG"));
}

#[test]
fn what_can_be_used_is_right_and_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    fs::set_permissions(folder.path().join("open"), Permissions::from_mode(0o640)).unwrap();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let site = format!(
        "state = 'DIR/a/b/state'\n[input]\nlisten = ['{address}']\nexporters = ['127.0.0.1']\ntemplates = 'DIR/a/b/state/templates'\n\
         [[sink]]\ntype = 'file'\npath = 'DIR/alerts'\n[[sink]]\ntype = 'exec'\ncommand = ['true']\n\
         [[sink]]\ntype = 'webhook'\nurl = 'http://localhost:1'\ncredentials.headers-file = 'DIR/open'\n"
    );
    let network = "state = 'DIR/state'\n[network]\nprobes = ['a']\nfolder = 'DIR/good'\n";
    for (text, is_in_use) in [(site.as_str(), true), (network, false)] {
        let config = write(folder.path(), text);
        let text = check(&args(&config)).unwrap();
        let note = format!("{}:3: note: {address} is in use", config.display());
        assert_eq!(text.contains(&note), is_in_use, "{text}");
        assert!(Config::read(&config).is_ok());
    }
    assert!(["a", "alerts", "state"].iter().all(|name| !folder.path().join(name).exists()));
    let state = folder.path().join("state");
    let running = Store::open(Some(&state)).unwrap();
    let config = write(folder.path(), network);
    check(&args(&config)).expect("a state in use must pass the check");
    drop(running);
    let files = || {
        let files = fs::read_dir(&state).unwrap().map(|file| file.unwrap().file_name());
        files.collect::<BTreeSet<_>>()
    };
    let before = files();
    check(&args(&config)).expect("a state that is no longer in use must pass the check");
    assert_eq!(files(), before);
}

#[test]
fn a_file_of_another_program_is_the_error_of_run_and_files_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (templates, alerts) = (folder.path().join("templates"), folder.path().join("alerts"));
    let sink = "[[sink]]\ntype = 'file'\npath = 'DIR/alerts'\n";
    let config = write(folder.path(), &format!("{INPUT}templates = 'DIR/templates'\n{sink}"));
    for (of_templates, of_alerts, is_right) in
        [("", "{\"number\":4,\"id\":\"8c\"}\n{\"nu", true), ("another", "another", false)]
    {
        fs::write(&templates, of_templates).unwrap();
        fs::write(&alerts, of_alerts).unwrap();
        let checked = check(&args(&config));
        assert_eq!(checked.is_ok(), is_right, "{checked:?}");
        let contents = [&templates, &alerts].map(|path| fs::read_to_string(path).unwrap());
        assert_eq!(contents, [of_templates, of_alerts]);
        if let Err(error) = checked {
            let Config { source, sinks, .. } = Config::read(&config).unwrap();
            let of_input = Input::open(&source).unwrap_err().to_string();
            let of_sink = Sinks::start(&sinks, &Store::open(None).unwrap()).unwrap_err();
            let of_sink = of_sink.chain().skip(1).map(ToString::to_string).collect::<Vec<_>>();
            let error = error.to_string();
            assert!(error.contains(&of_input), "{error}\n{of_input}");
            assert!(error.contains(&of_sink.join(": ")), "{error}\n{of_sink:?}");
        }
    }
}

#[test]
fn an_input_of_the_options_takes_the_place_of_the_one_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let config = folder.path().join("srlg.toml");
    let errors = |text: &str, input: &str| {
        fs::write(&config, text.replace("DIR", folder.path().to_str().unwrap())).unwrap();
        let source =
            SourceOptions { input: vec![folder.path().join(input)], ..SourceOptions::default() };
        let checked = check(&Args { source, ..args(&config) });
        checked.err().map_or_else(Vec::new, |error| {
            error
                .to_string()
                .lines()
                .map(|line| line.replace(folder.path().to_str().unwrap(), "DIR"))
                .collect()
        })
    };
    assert_eq!(errors("slice = '1s'\n", "open"), [""; 0]);
    assert_eq!(errors("[input]\ninput = ['DIR/none']\n", "open"), [""; 0]);
    let none = "cannot read DIR/none: No such file or directory (os error 2)";
    assert_eq!(errors(INPUT, "none"), [none]);
    let network = "state = 'DIR/state'\n[network]\nprobes = ['a']\nfolder = 'DIR/good'\n";
    assert_eq!(errors(network, "open").len(), 1);
}

#[test]
fn a_command_may_have_empty_arguments_but_no_empty_program() {
    let folder = tempfile::tempdir().unwrap();
    for (command, is_right) in [("'true', ''", true), ("'', 'a'", false), ("''", false)] {
        let text = format!("[[sink]]\ntype = 'exec'\ncommand = [{command}]\n");
        let config = write(folder.path(), &text);
        let checked = check(&args(&config));
        assert_eq!(checked.is_ok(), is_right, "{command}");
        let lines = checked.err().map_or(0, |error| error.to_string().lines().count());
        assert_eq!(lines, usize::from(!is_right), "{command}");
    }
}

#[test]
fn the_memory_limit_has_room_for_the_checkpoint_of_the_largest_view() {
    assert_eq!(memory_limit(4_000_000_000, 3_000_000_000), 13_256_000_000);
}

#[test]
fn views_that_need_more_memory_than_there_is_are_a_warning() {
    assert_eq!(shortage(5_000_000, 5_000_000), None);
    insta::assert_snapshot!(shortage(5_000_000, 4_900_000).unwrap());
}

#[cfg(feature = "kafka")]
#[test]
fn files_and_options_of_brokers_are_tried() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(
        path("schema"),
        "syntax = 'proto3'; message M { bytes SrcAddr = 1; bytes DstAddr = 2; }",
    )
    .unwrap();
    fs::write(path("bad"), "message").unwrap();
    fs::write(path("secret"), "pass\n").unwrap();
    fs::set_permissions(path("secret"), Permissions::from_mode(0o600)).unwrap();
    fs::write(path("seed"), nkeys::KeyPair::new_user().seed().unwrap()).unwrap();
    fs::set_permissions(path("seed"), Permissions::from_mode(0o600)).unwrap();
    fs::write(path("open"), "pass\n").unwrap();
    fs::set_permissions(path("open"), Permissions::from_mode(0o644)).unwrap();
    let user = "user = 'u'\npassword";
    for (options, is_right) in [
        ("", true),
        ("schema = 'DIR/schema'", true),
        ("schema = 'http://127.0.0.1:1/schema.proto'", true),
        ("schema = 'DIR/none'", false),
        ("schema = 'DIR/bad'", false),
        ("ca = 'DIR/none'", false),
        ("ca = 'DIR/schema'", false),
        ("user = 'u'", false),
        ("key = 'DIR/seed'", false),
        (&format!("{user} = 'DIR/secret'"), true),
        (&format!("{user} = 'DIR/open'"), false),
        (&format!("{user} = 'DIR/secret'\nmechanism = 'plain'"), false),
        ("nat = 'post'", false),
        ("sampling = 100\ntimestamps = 'trusted'", true),
        ("listen = ['[::]:2055']\nexporters = ['::1']", false),
    ] {
        let text = format!("[input]\nurl = 'kafka://127.0.0.1/flows'\n{options}\n");
        let checked = check(&args(&write(folder.path(), &text)));
        assert_eq!(checked.is_ok(), is_right, "{options}: {checked:?}");
        let lines = checked.err().map_or(0, |error| error.to_string().lines().count());
        assert_eq!(lines, usize::from(!is_right), "{options}");
    }
    for (options, is_right) in [
        ("", true),
        ("message-format = 'json'\nearliest = true", true),
        ("schema = 'DIR/schema'\ntls = true", true),
        ("schema = 'DIR/bad'", false),
        ("schema = 'DIR/schema'\nmessage-format = 'json'", false),
        ("message-format = 'xml'", false),
        ("ca = 'DIR/none'", false),
        ("ca = 'DIR/schema'", false),
        ("user = 'u'\ntls = true", false),
        ("user = 'u'\npassword = 'DIR/secret'", false),
        ("user = 'u'\npassword = 'DIR/secret'\ntls = true", true),
        ("user = 'u'\npassword = 'DIR/open'\ntls = true", false),
        ("key = 'DIR/secret'", false),
        ("key = 'DIR/seed'", true),
        ("key = 'DIR/seed'\ncredentials = 'DIR/secret'", false),
        ("credentials = 'DIR/secret'", false),
        ("nat = 'post'", false),
        ("tls = true\nmechanism = 'plain'", false),
    ] {
        let text = format!("[input]\nurl = 'jetstream://127.0.0.1/FLOWS'\n{options}\n");
        let checked = check(&args(&write(folder.path(), &text)));
        assert_eq!(checked.is_ok(), is_right, "{options}: {checked:?}");
    }
    let config = write(folder.path(), "[input]\nurl = 'nats://127.0.0.1/a'\nearliest = true\n");
    assert!(check(&args(&config)).unwrap_err().to_string().contains("jetstream://"));
    let config = write(folder.path(), "[input]\nurl = 'nats://192.0.2.1/a'\n");
    let error = check(&args(&config)).unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(config.to_str().unwrap(), "CONFIG"));
    for url in ["flows", "nats://a", "jetstream://a/b.c"] {
        let config = write(folder.path(), &format!("[input]\nurl = '{url}'\n"));
        assert!(check(&args(&config)).unwrap_err().to_string().contains("jetstream://server"));
    }
    for topic in ["flows", "kafka://a", "kafka://[::1]/flows"] {
        let config = write(folder.path(), &format!("[input]\nurl = '{topic}'\n"));
        assert!(
            check(&args(&config)).unwrap_err().to_string().contains("kafka://broker:9092/topic")
        );
    }
}
