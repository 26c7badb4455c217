//! Measurements of the time per row of logs.

use std::time::Instant;

use srlg_input::capture::Reader;

const ROWS: u64 = 200_000;
const ROUNDS: u32 = 9;

/// Prints the minimum time per row over all rounds, in nanoseconds. Each row has two directions with packets.
fn measure(name: &str, head: &str, row: impl Fn(u64, [u8; 4]) -> String) {
    let mut log = head.to_owned();
    for number in 0..ROWS {
        // Multiplication by an odd number scatters the host numbers.
        let host = (number as u32).wrapping_mul(0x9e37_79b1).to_be_bytes();
        log += &row(number, host);
        log.push('\n');
    }
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut reader = Reader::new(std::io::Cursor::new(log.clone())).unwrap();
        let start = Instant::now();
        while reader.next_contacts().unwrap().is_some() {}
        least = least.min(start.elapsed().as_nanos() as f64 / ROWS as f64);
        assert_eq!(reader.counts().contacts, 2 * ROWS);
    }
    println!("{name}: {least:.0} ns a row");
}

#[test]
#[ignore = "a measurement"]
fn rows_of_logs() {
    let fields = "ts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tservice\tduration\torig_bytes\tresp_bytes\tconn_state\tlocal_orig\tlocal_resp\tmissed_bytes\thistory\torig_pkts\torig_ip_bytes\tresp_pkts\tresp_ip_bytes\ttunnel_parents";
    measure("Zeek", &format!("#separator \\x09\n#fields\t{fields}\n"), |number, [a, b, c, d]| {
        format!(
            "{}.096535\tCHhAvVGS1DHFjwGM9\t{a}.{b}.{c}.{d}\t40000\t10.0.{c}.{d}\t443\ttcp\tssl\t0.500412\t300\t900\tSF\tT\tF\t0\tShADadFf\t5\t300\t4\t900\t-",
            1_742_324_767 + number / 1_000
        )
    });
    measure("Zeek, JSON", "", |number, [a, b, c, d]| {
        format!(
            r#"{{"ts":{}.096535,"uid":"CHhAvVGS1DHFjwGM9","id.orig_h":"{a}.{b}.{c}.{d}","id.orig_p":40000,"id.resp_h":"10.0.{c}.{d}","id.resp_p":443,"proto":"tcp","service":"ssl","duration":0.500412,"orig_bytes":300,"resp_bytes":900,"conn_state":"SF","local_orig":true,"local_resp":false,"missed_bytes":0,"history":"ShADadFf","orig_pkts":5,"orig_ip_bytes":300,"resp_pkts":4,"resp_ip_bytes":900}}"#,
            1_742_324_767 + number / 1_000
        )
    });
    measure("EVE", "", |number, [a, b, c, d]| {
        let [minute, second] = [number / 60_000 % 60, number / 1_000 % 60];
        format!(
            r#"{{"timestamp":"2025-06-14T09:{minute:02}:{second:02}.251547+0000","flow_id":{number},"in_iface":"eth0","event_type":"flow","src_ip":"{a}.{b}.{c}.{d}","src_port":40000,"dest_ip":"10.0.{c}.{d}","dest_port":443,"proto":"TCP","app_proto":"tls","flow":{{"pkts_toserver":7,"pkts_toclient":6,"bytes_toserver":518,"bytes_toclient":4096,"start":"2025-06-14T09:{minute:02}:{second:02}.000000+0000","end":"2025-06-14T09:{minute:02}:{second:02}.500000+0000","age":0,"state":"closed","reason":"timeout","alerted":false}},"tcp":{{"tcp_flags":"1b","tcp_flags_ts":"1b","tcp_flags_tc":"1b","syn":true,"fin":true,"psh":true,"ack":true,"state":"closed"}}}}"#
        )
    });
}
